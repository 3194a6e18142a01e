"""The text of ``plugjax bug`` says what a report of a fault needs, and nothing that is not plugjax's."""

from typer.testing import CliRunner

import plugjax
from plugjax.cli import bug
from plugjax.cli.main import app


def test_the_command_prints_the_text():
    done = CliRunner().invoke(app, ["bug"])
    assert done.exit_code == 0
    for words in (
        "environment\n",
        f"  plugjax: {plugjax.__version__}\n",
        "  devices: iree:",
        ", numpy:0, xla:cpu:0",
        "  lax (plugjax ",
    ):
        assert words in done.output


def test_options_and_variables(monkeypatch):
    monkeypatch.setenv("PLUGJAX_EXAMPLE", "1")
    monkeypatch.setenv("ANOTHER_TOKEN", "secret")
    with plugjax.config.override("enable_x64", True):
        found = bug.text()
    assert "jax_enable_x64 = True" in found
    assert "PLUGJAX_EXAMPLE=1" in found
    assert "secret" not in found
