"""Long work says that it goes on, where there is someone to see it."""

import os
import pty
import subprocess
import sys
import textwrap
import time
import types

import pytest

import plugjax
import plugjax.numpy as jnp
from plugjax.debug import progress


def in_terminal(script, **environment):
    """What a script writes to a terminal that is its standard error."""
    ours, theirs = pty.openpty()
    known = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "NO_COLOR"))}
    done = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)],
        stderr=theirs,
        stdout=subprocess.DEVNULL,
        env={**known, "TERM": "xterm", "PLUGJAX_BACKEND": "numpy", **environment},
    )
    os.close(theirs)
    written = b""
    while True:
        try:
            more = os.read(ours, 1 << 16)
        except OSError:  # The other end is closed.
            break
        if not more:
            break
        written += more
    os.close(ours)
    assert done.wait(timeout=60) == 0, written.decode()
    return written.decode()


COMPILES = """
import plugjax, plugjax.numpy as jnp
from plugjax.debug import progress
progress.LONG = 0.0
def a_function(x):
    return jnp.sin(x)
plugjax.jit(a_function)(1.0)
"""


def test_a_long_compilation_is_shown_in_a_terminal():
    assert "compiling a_function for numpy:0 ..." in in_terminal(COMPILES)
    assert "compiling" not in in_terminal(COMPILES, PLUGJAX_PROGRESS="0")


def test_short_compilations_show_nothing():
    assert in_terminal(COMPILES.replace("progress.LONG = 0.0", "progress.LONG = 60.0")) == ""


def test_nothing_is_shown_without_a_terminal():
    done = subprocess.run(
        [sys.executable, "-c", COMPILES], capture_output=True, text=True, check=True, timeout=60,
        env={**os.environ, "PLUGJAX_BACKEND": "numpy"},
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("", "")


def test_of_work_within_work_the_first_is_shown():
    script = """
    from plugjax.debug.progress import working
    with working("outer [bold]"):
        with working("inner"):
            pass
    with working("after"):
        pass
    """
    written = in_terminal(script)
    assert "outer [bold] ..." in written
    assert "inner" not in written
    assert "after ..." in written


class Display:
    """A notebook's display: what is in the cell's output."""

    def __init__(self):
        self.shown = []

    def HTML(self, text):  # noqa: N802  # IPython's name
        return text

    def display(self, text, display_id):
        assert display_id
        self.shown.append(text)
        return types.SimpleNamespace(update=self.shown.append)


@pytest.fixture
def notebook(monkeypatch):
    display = Display()
    shell = type("ZMQInteractiveShell", (), {})()
    kernel = types.SimpleNamespace(get_ipython=lambda: shell, display=display)
    monkeypatch.setitem(sys.modules, "IPython", kernel)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    monkeypatch.setitem(sys.modules, "ipykernel", types.ModuleType("ipykernel"))
    return display.shown


def test_notebooks_show_html_that_goes(notebook, monkeypatch):
    monkeypatch.setattr(progress, "LONG", 0.0)

    def quick_function(x):
        return jnp.cos(x) * 3

    with plugjax.default_device("numpy"):
        plugjax.jit(quick_function)(jnp.ones(3))
    assert "<em>compiling quick_function for numpy:0 ...</em>" in notebook
    assert notebook[-1] == ""


def test_exports_are_shown(notebook, monkeypatch, tmp_path):
    monkeypatch.setattr(progress, "LONG", 0.0)
    x = plugjax.ShapeDtypeStruct((3,), "float32")
    plugjax.export.export(plugjax.jit(jnp.sin))(x)
    plugjax.export.to_iree({"double": (lambda x: x * 2, (x,))}, tmp_path / "m.vmfb")
    lines = [text for text in notebook if text]
    assert lines == ["<em>exporting sin ...</em>", "<em>exporting m.vmfb ...</em>"]
    assert notebook[-1] == ""


def test_notebooks_show_what_takes_long(notebook):
    with progress.working("<b>long</b>", after=0.01):
        deadline = time.monotonic() + 20
        while not notebook and time.monotonic() < deadline:
            time.sleep(0.01)
    assert notebook == ["<em>&lt;b&gt;long&lt;/b&gt; ...</em>", ""]
    with progress.working("short", after=60):
        pass
    assert len(notebook) == 2


def test_work_that_fails_ends_its_line(notebook):
    with pytest.raises(ZeroDivisionError), progress.working("work"):
        1 / 0  # noqa: B018  # it raises
    with progress.working("more work"):
        pass
    assert notebook == ["<em>work ...</em>", "", "<em>more work ...</em>", ""]
