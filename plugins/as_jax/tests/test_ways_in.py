"""Ways in: ``import jax`` becomes plugjax, and says what it shadows."""

import json
import sys
import zipfile
from pathlib import Path

import pytest

import plugjax_as_jax
from plugjax_as_jax.table import TABLE

from .conftest import python

PROGRAM = "import sys, jax; print(jax.Array.__module__.split('.')[0], jax.__version__, sys.argv[1:], __name__)\n"
TOLD = "plugjax 0.10.2 ['a', '-b'] __main__\n"


@pytest.fixture
def program(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    return tmp_path


@pytest.mark.parametrize(
    "way",
    [
        ["-m", "plugjax_as_jax", "program.py"],
        ["-m", "plugjax_as_jax", "-m", "program"],
        ["-m", "plugjax", "run", "--as-jax", "program.py"],
        ["-m", "plugjax", "run", "--as-jax", "--", "-m", "program"],
    ],
    ids=" ".join,
)
def test_a_program_runs_unchanged(program, way):
    assert python(*way, "a", "-b", cwd=program) == TOLD


def test_the_variable_makes_every_process_use_it(program):
    assert python("program.py", "a", "-b", cwd=program, PLUGJAX_AS_JAX="1") == TOLD
    away = "import sys; print('plugjax_as_jax' in sys.modules, 'plugjax' in sys.modules)"
    assert python("-c", away, PLUGJAX_AS_JAX="0") == "False False\n"
    # Nothing heavy is imported before the program asks for jax.
    assert python("-c", away, PLUGJAX_AS_JAX="1") == "True False\n"


def test_plugjax_run_without_the_option_keeps_the_real_jax(program):
    (program / "program.py").write_text(
        "import plugjax, sys\nprint(plugjax.devices(), sys.argv[1:])"
    )
    out = python("-m", "plugjax", "run", "--backend", "numpy", "program.py", "--x", cwd=program)
    assert out == "[Device(numpy:0)] ['--x']\n"
    assert "no program 'absent.py'" in python("-m", "plugjax", "run", "absent.py", code=2)


def test_pytest_runs_with_it(tmp_path):
    (tmp_path / "conftest.py").write_text(
        "import jax\nassert jax.Array.__module__.startswith('plugjax')"
    )
    (tmp_path / "test_it.py").write_text(
        "def test_it():\n    import jax\n    assert not hasattr(jax.lax, 'no_such')\n"
    )
    out = python(
        *("-m", "pytest", "-p", "plugjax_as_jax", "-p", "no:cacheprovider", "--as-jax-report", "-q"), cwd=tmp_path
    )  # fmt: skip
    assert "jax.lax.no_such, looked up by test_it" in out
    assert "1 passed" in out


def test_a_notebook_loads_it_as_an_extension(run):
    # IPython calls this function of the module.
    assert (
        run("plugjax_as_jax.load_ipython_extension(None); import jax; tell(jax.__version__)")
        == "0.10.2"
    )


def test_it_says_what_it_shadows():
    out = python("-m", "plugjax_as_jax", "--shadowed")
    assert out.startswith("jax 0.10.2 (")
    assert Path(out.partition("(")[2].rstrip(")\n")).name == "jax"


def test_a_process_with_the_real_jax_is_told_what_to_do():
    import jax

    assert jax.__file__
    with pytest.raises(RuntimeError, match=r"install\(\) before the first import of jax"):
        plugjax_as_jax.install()
    assert not plugjax_as_jax.installed()
    assert "is not plugjax" in plugjax_as_jax.report().header


def test_the_wheel_has_the_switch(tmp_path, monkeypatch):
    monkeypatch.chdir(Path(__file__).parents[1])
    monkeypatch.syspath_prepend(str(Path.cwd()))
    import wheel_with_switch

    with zipfile.ZipFile(tmp_path / "w.whl", "w") as archive:
        archive.writestr("p-1.dist-info/RECORD", "p-1.dist-info/RECORD,,\n")
    wheel_with_switch.add_switch(str(tmp_path), "w.whl")
    with zipfile.ZipFile(tmp_path / "w.whl") as archive:
        line = archive.read("plugjax_as_jax.pth")
        record = archive.read("p-1.dist-info/RECORD").decode()
    assert line.startswith(b"import os;")
    assert line.count(b"\n") == 1
    assert "plugjax_as_jax.pth,sha256=" in record
    assert f",{len(line)}\n" in record


def test_every_row_of_the_table_can_be_imported(run):
    rows = run(
        """
        import importlib, warnings
        from plugjax_as_jax.table import TABLE
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*cloud_tpu_init")
        faults = {}
        for name in TABLE:
            try:
                module = importlib.import_module(name)
                assert module.__name__ == name and dir(module) is not None
            except Exception as error:
                faults[name] = repr(error)
        tell([len(TABLE), faults])
        """
    )
    assert rows == [len(TABLE), {}]
    assert len(TABLE) > 150
    assert json.loads(json.dumps(sorted(TABLE))) == list(TABLE)
    assert "jax" not in sys.modules or sys.modules["jax"].__file__


def test_the_doctor_imports_the_libraries_that_are_installed(monkeypatch):
    import io

    from rich.console import Console

    from plugjax_as_jax import commands

    out = Console(file=io.StringIO(), width=200)
    # Distributions that are installed, and modules that ask for a name in vain, or cannot be imported.
    monkeypatch.setattr(
        commands,
        "LIBRARIES",
        {"numpy": ("no_such_module",), "optree": ("optree", "jax.no_such"), "absent-one": ("x",)},
    )
    commands.doctor(out)
    text = out.file.getvalue()
    assert "real jax: jax 0.10.2" in text
    assert "ModuleNotFoundError: No module named 'no_such_module'" in text
    assert "jax.no_such" in text
    assert "absent-one" not in text
    monkeypatch.setattr(commands, "LIBRARIES", {"absent-one": ("x",)})
    commands.doctor(out)
    assert "None of the known libraries is installed: absent-one" in out.file.getvalue()
