"""``plugjax run`` and ``plugjax profile``: a program with options from outside, its traceback, and its trace."""

import json

import pytest

from plugjax.cli import profile

PROGRAM = """
import sys
import plugjax, plugjax.numpy as jnp
x = plugjax.jit(lambda x: jnp.sin(x) * 2)(jnp.arange(3.0))
print(sys.argv[1:], x.dtype, x.device.backend.name)
if "fail" in sys.argv:
    raise ValueError("mine [is] here")
"""


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return str(path)


def test_options_before_the_program_are_the_commands(plugjax, program):
    assert plugjax("run", "--x64", "--backend", "numpy", program) == "[] float64 numpy\n"


def test_options_after_the_program_are_its_own(plugjax, program):
    out = plugjax("run", "--backend", "xla", program, "--backend", "numpy", "-h", "--x64")
    assert out == "['--backend', 'numpy', '-h', '--x64'] float32 xla\n"


def test_what_a_program_raises_is_shown_from_its_first_line(plugjax, program):
    out = plugjax("run", "--backend", "numpy", program, "fail", code=1)
    assert out.endswith("ValueError: mine [is] here\n")
    assert "Traceback" in out
    assert "runpy" not in out
    assert "programs.py" not in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere.py"], "there is no program 'nowhere.py'"),
        (["-m", "nowhere"], "there is no module 'nowhere'"),
        (["--backend", "abacus", "x.py"], "Unknown backend 'abacus'"),
        (["--profile", "nowhere"], "Missing argument"),
    ],
)
def test_refusals(plugjax, arguments, words):
    out = plugjax("run", *arguments, code=2)
    assert words in out
    assert "Traceback" not in out


def test_a_profile_is_written_and_summed_up(plugjax, program, tmp_path):
    folder = str(tmp_path / "out")
    plugjax("run", "--backend", "numpy", "--profile", folder, program, "fail", code=1)
    out = plugjax("profile", folder)
    for words in ("execution", "compiling", "<lambda>", "numpy:0", ".trace.json.gz"):
        assert words in out


def test_a_program_is_profiled(plugjax, program, tmp_path):
    folder = str(tmp_path / "out")
    out = plugjax("profile", "-o", folder, "--backend", "numpy", "--limit", "1", program, "x")
    assert "['x'] float32 numpy" in out
    assert "more rows: --limit" in out


def test_a_folder_without_a_trace_is_refused(plugjax, tmp_path):
    assert "holds no trace" in plugjax("profile", str(tmp_path), code=2)


def test_the_last_trace_is_taken_and_other_events_are_left_out(tmp_path):
    for run in ("2026_01_02", "2026_01_01"):
        folder = tmp_path / "plugins" / "profile" / run
        folder.mkdir(parents=True)
        (folder / "host.trace.json.gz").write_bytes(b"")
    assert profile.newest(tmp_path).parent.name == "2026_01_02"
    events = json.loads('[{"ph": "X", "cat": "xla", "name": "f"}, {"ph": "M", "name": "g"}]')
    assert profile.summary(events) == []
