"""``plugjax compile``, and ``plugjax check`` for hardware that is not there."""

import io
import re
from pathlib import Path

import pytest
from rich.console import Console

from plugjax.cli import check, compile
from plugjax.cli.hardware import Hardware, parse_hardware

PROGRAM = """
import numpy as np
import plugjax as jax, plugjax.numpy as jnp

weights = {"w": np.ones((4, 3), np.float32)}
table = np.arange(1000, dtype=np.float32)

def predict(w, x): return jnp.tanh(x @ w["w"])
def chooses(x): return jax.lax.platform_dependent(x, tpu=jnp.floor, cuda=jnp.ceil, default=jnp.abs)
def closes(x): return x * table
def calls(x): return jax.pure_callback(np.sin, jax.ShapeDtypeStruct(x.shape, x.dtype), x)
"""


def printed(run, *arguments, **options):
    """What a command gives, and what it prints."""
    screen = Console(file=io.StringIO(), width=200)
    given = run(screen, *arguments, **options)
    return given, screen.file.getvalue()


def compiled(target, entries, hardware, **options):
    return printed(compile.run, target, entries, hardware, **options)[1]


def checked(entries, hardware):
    return printed(check.run, "program.py", entries, hardware)


def without_libtpu(monkeypatch):
    from plugjax_xla import tpu_plugin
    from plugjax_xla.jaxlib_shim import jaxlib

    monkeypatch.setattr(tpu_plugin, "tpu_library", lambda: None)
    monkeypatch.setattr(jaxlib().xla_client, "pjrt_plugin_loaded", lambda name: False)


def needs_libtpu():
    from plugjax_xla.tpu_plugin import tpu_library

    if tpu_library() is None:
        pytest.skip("libtpu is not installed")


def needs_cuda_plugin():
    from plugjax_xla.cuda_plugin import find_cuda_plugin

    if find_cuda_plugin() is None:
        pytest.skip("XLA's plugin for CUDA is not installed")


@pytest.fixture
def program(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "program.py").write_text(PROGRAM)
    return tmp_path / "program.py"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("tpu:v5e:2x2", Hardware("tpu", "", "v5e:2x2")),
        ("tpu", Hardware("tpu", "", "v5e:2x2")),
        ("xla:tpu:v4:2x2x1", Hardware("tpu", "xla", "v4:2x2x1")),
        ("cuda:h100:1x1x4", Hardware("cuda", "", "h100:1x1x4")),
        ("iree:cuda:sm_80", Hardware("cuda", "iree", "sm_80")),
        ("iree:vulkan", Hardware("vulkan", "iree", "")),
    ],
)
def test_names_of_hardware(text, found):
    assert parse_hardware(text) == found
    assert parse_hardware(str(found)) == found


@pytest.mark.parametrize("text", ["", "iree", "iree:"])
def test_no_hardware(text):
    with pytest.raises(ValueError, match="names no hardware"):
        parse_hardware(text)


@pytest.mark.parametrize("target", ["iree:cuda:sm_80", "vulkan", "iree:cpu:generic"])
def test_an_executable_of_iree(program, target):
    arguments = {"parameters": "weights", "output": Path("m.vmfb")}
    out = compiled("program.py", ["predict:f32[2,4]"], target, **arguments)
    assert "│ flops              │ 48" in out
    assert "│ arguments, bytes   │ 80" in out
    written = program.with_name("m.vmfb").read_bytes()
    assert f"wrote m.vmfb ({len(written):,} bytes)" in out
    # A zip archive, whose files begin so.
    assert b"PK" in written


@pytest.mark.parametrize(("target", "word"), [("tpu:v5e:2x2", "TPU v5 lite"), ("cuda:a100", "A100")])  # fmt: skip
def test_executables_of_xla(program, target, word):
    needs_libtpu() if target.startswith("tpu") else needs_cuda_plugin()
    out = compiled("program.py", ["closes:f32[1000]"], target, output=Path("m.bin"))
    assert word in out
    # The table is in the executable, and no argument of it.
    assert re.search(r"flops +│ [12],[0-9]{3}", out)
    assert program.with_name("m.bin").stat().st_size > 4000
    assert "one" in compiled("program.py", ["closes:f32[1000]", "one=chooses:f32[8]"], target)


def test_the_command(plugjax, program):
    out = plugjax("compile", "program.py:closes:f32[1000]", "--for", "iree:vulkan", "-o", "m.vmfb")
    assert "one device of iree:vulkan" in out
    assert program.with_name("m.vmfb").exists()
    out = plugjax(
        "compile", "program.py:closes:f32[1000]", "--for", "tpu:v5e:2x2", "-o", "m", code=2,
        TPU_LIBRARY_PATH="/nowhere/libtpu.so",
    )  # fmt: skip
    assert "pip install libtpu" in out
    assert out.count("\n") == 1
    assert not program.with_name("m").exists()


@pytest.mark.parametrize(
    ("entries", "target", "words"),
    [
        (["closes:f32[1000]"], "abacus", "topology not implemented for abacus"),
        (["closes:f32[1000]"], "iree", "names no hardware"),
        (["closes:f32[1000]"], "cuda:sm_80", "there are a100, h100"),
        (["closes:f32[1000]"], "cuda:none.txtpb", "none.txtpb cannot be read"),
        (["closes:f32[1000]"], "iree:cuda:sm 80", "is not the name of an architecture"),
        (["calls:f32[4]"], "iree:vulkan", "cannot call Python here"),
        (["chooses:f32[*]"], "iree:vulkan", "needs sizes that are numbers"),
        ([""], "iree:vulkan", "cannot read the entry ''"),
        (["nothing:f32[4]"], "iree:vulkan", "has no 'nothing'"),
        (["closes:f32[1000]", "chooses:f32[4]"], "iree:vulkan", "holds one function, got closes, chooses"),
    ],
)  # fmt: skip
def test_refusals(program, entries, target, words):
    with pytest.raises((RuntimeError, ValueError, TypeError), match=words):
        compiled("program.py", entries, target, output=Path("m"))
    assert not program.with_name("m").exists()


def test_a_check_without_a_compiler_lowers(program, monkeypatch):
    without_libtpu(monkeypatch)
    good, out = checked(["chooses:f32[*]", "closes:f32[1000]"], "tpu:v5e:2x2")
    assert good
    assert "nothing is compiled, only lowered" in out
    assert "pip install libtpu" in out
    assert "every primitive has a lowering for tpu:v5e:2x2" in out


@pytest.mark.parametrize("target", ["tpu", "iree:cuda:sm_80", "vulkan", "rocm"])
def test_a_check_names_what_calls_python(program, target, monkeypatch):
    without_libtpu(monkeypatch)
    good, out = checked(["calls:f32[4]"], target)
    assert not good
    assert "pure_callback" in out
    assert "every primitive" not in out


def test_a_check_compiles(program):
    good, out = checked(["chooses:f32[4]", "any=chooses:f32[4]"], "iree:cuda:sm_80")
    assert good
    assert "chooses compiles: IREE for sm_80" in out
    assert "any compiles: IREE for sm_80" in out
    good, out = checked(["chooses:f32[4]"], "iree:cuda:sm_1")
    assert not good
    assert "chooses does not compile: IREE could not compile" in out


def test_a_check_compiles_for_tpus(program):
    needs_libtpu()
    good, out = checked(["chooses:f32[4]"], "tpu")
    assert good
    assert "chooses compiles: TPU v5 lite" in out
    with pytest.raises(RuntimeError, match="Invalid TPU external name"):
        checked(["chooses:f32[4]"], "tpu:v9:2x2")
