"""Commands that plugins declare by entry points."""

import os
import subprocess
import sys

import pytest

HELLO = """
import typer
def hello(name: str, loud: bool = False):
    "Greet."
    if name == "nobody":
        raise ValueError("hello: nobody is here")
    typer.echo(name.upper() if loud else name)
app = typer.Typer(help="Several commands.")
@app.command()
def first():
    typer.echo("one")
@app.command()
def second():
    typer.echo("two")
"""


@pytest.fixture(autouse=True)
def package(tmp_path, monkeypatch):
    (tmp_path / "hello.py").write_text(HELLO)
    (tmp_path / "hello_plugin.py").touch()
    info = tmp_path / "hello-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: hello\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[plugjax]\nhello = hello_plugin\n"
        "[plugjax.commands]\nhello = hello:hello\nmany = hello:app\nbroken = nowhere:f\nrun = hello:hello\n"
    )
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    monkeypatch.setenv("PYTHONPATH", path)


def test_a_function_is_a_command(plugjax):
    assert plugjax("hello", "world", "--loud") == "WORLD\n"
    assert "Greet." in plugjax("hello", "-h")


def test_its_errors_are_one_line(plugjax):
    assert plugjax("hello", "nobody", code=2) == "plugjax: hello: nobody is here\n"


def test_an_application_is_a_group_of_commands(plugjax):
    assert plugjax("many", "second") == "two\n"
    assert "Several commands." in plugjax("-h")


def test_a_command_that_cannot_be_imported_says_so_and_spares_the_others(plugjax):
    why = "the command 'broken' of hello 1.0 cannot be loaded: ModuleNotFoundError"
    out = plugjax("broken", "--anything", code=2)
    assert why in out
    assert out.count("\n") == 1
    assert "Greet." in plugjax("-h")


def test_commands_of_plugjax_cannot_be_replaced(plugjax):
    assert "there is no program" in plugjax("run", "nowhere.py", code=2)
    (row,) = (line for line in plugjax("plugins").splitlines() if "plugjax run" in line)
    assert "left out: plugjax has a command of this name" in row


def test_commands_of_blocked_plugins_are_left_out(plugjax):
    environment = {"PLUGJAX_NO_PLUGINS": "hello"}
    assert "No such command 'hello'" in plugjax("hello", "world", code=2, **environment)
    assert "blocked by the environment" in plugjax("plugins", **environment)


def test_the_site_is_built_by_such_a_command(plugjax):
    assert "Build the site" in plugjax("docs", "--help")
    done = subprocess.run(
        [sys.executable, "-m", "plugjax.docs", "-h"], capture_output=True, text=True, check=True
    )
    assert "Build the site" in done.stdout
