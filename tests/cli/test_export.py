"""``plugjax export`` and ``plugjax check``: signatures, formats, and what is refused in one line."""

import numpy as np
import pytest

from plugjax.cli.signatures import parse, parse_shapes
from plugjax.export import deserialize

PROGRAM = """
import numpy as np
import plugjax as jax, plugjax.numpy as jnp

weights = {"w": np.ones((4, 3), np.float32)}
number = 3

def predict(w, x): return x @ w["w"]
def sin(x): return jnp.sin(x)
def svd(x): return jnp.linalg.svd(x)
def calls(x): return jax.pure_callback(np.sin, jax.ShapeDtypeStruct(x.shape, x.dtype), x)
def prints(x):
    jax.debug.print("{x}", x=x)
    return x
def wrong(x): return x + undefined
def asks(x): return x if x.shape[0] >= 4 else -x
"""


@pytest.fixture
def program(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "program.py").write_text(PROGRAM)
    return tmp_path / "program.py"


def test_a_module_of_entries_named_like_primitives(plugjax, program):
    out = plugjax(
        "export", "program.py", "--entry", "svd:f32[3,3]", "--entry", "sort=sin:f32[4]", "-o", "m.vmfb"
    )  # fmt: skip
    assert "svd" in out
    assert "sort" in out
    assert (program.parent / "m.vmfb").exists()


def test_an_artifact_of_any_size_with_parameters(plugjax, program):
    out = plugjax(
        "export", "program.py", "--entry", "predict:f32[*,4]", "--parameters", "weights",
        "--format", "jax", "--platform", "cpu", "--platform", "cuda", "-o", "m.bin",
    )  # fmt: skip
    assert "float32[any_1,4]" in out
    done = deserialize((program.parent / "m.bin").read_bytes())
    assert done.platforms == ("cpu", "cuda")
    for n in (2, 5):
        assert np.array_equal(done.call(np.ones((n, 4), np.float32)), np.full((n, 3), 4))


def test_the_text_of_an_artifact(plugjax, program):
    plugjax(
        "export", "program.py", "--entry", "sin:f32[n]", "--format", "stablehlo", "-o", "m.mlir"
    )
    text = (program.parent / "m.mlir").read_text()
    assert "stablehlo.sine" in text
    assert "tensor<?xf32>" in text


@pytest.mark.spread(3)
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--entry", "calls:f32[4]"], "calls the Python function"),
        (["--entry", "calls:f32[4]", "--format", "jax"], "calls the Python function"),
        (["--entry", "prints:f32[4]"], "has effects"),
        (["--entry", "sin:f32[*]"], "sin: IREE modules need sizes that are numbers, got [any_1]"),
        (["--entry", "sin:f32[4]", "--compile-for", "abacus"], "IREE knows no target 'abacus'"),
        (["--entry", "sin:f32[4]", "--format", "jax", "--platform", "abacus"], "unknown platform 'abacus'"),
        (["--entry", "sin:f32[4]", "--entry", "svd:f32[4,4]", "--format", "jax"], "holds one function, got sin, svd"),
        (["--entry", "sin:f32[4]", "--entry", "sin:f32[5]"], "two entry points are called 'sin'"),
        (["--entry", "asks:f32[*]", "--format", "jax"], "InconclusiveDimensionOperation"),
        (["--entry", "sin=f32[4]"], "write FUNCTION:f32[4,4]"),
        (["--entry", "cos:f32[4]"], "has no 'cos'; it has: weights, number, predict"),
        (["--entry", "number:f32[4]"], "'number' of program is no function"),
        (["--entry", "wrong:f32[4]"], "NameError: name 'undefined' is not defined"),
        (["--entry", "predict:f32[4]", "--parameters", "w"], "has no 'w'"),
        (["--entry", "sin:f32[4]", "-o", "program.py"], "is the program itself"),
    ],
)  # fmt: skip
def test_refusals_of_an_export_are_one_line(plugjax, program, arguments, words):
    output = [] if "-o" in arguments else ["-o", "m"]
    out = plugjax("export", "program.py", *arguments, *output, code=2)
    assert words in out
    assert out.count("\n") == 1
    assert not (program.parent / "m").exists()


@pytest.mark.spread(3)
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--backend", "abacus"], "no installed backend lowers for ('abacus',)"),
        (["--backend", "iree", "--entry", "sin:f32[*]"], "IREE modules need sizes"),
        (["--entry", "asks:f32[*]", "--backend", "xla"], "InconclusiveDimensionOperation"),
        (["--entry", "sin:f33[4]"], "cannot read a shape"),
    ],
)
def test_refusals_of_a_check_are_one_line(plugjax, program, arguments, words):
    out = plugjax("check", "program.py", "--entry", "svd:f32[4,4]", *arguments, code=2)
    assert words in out
    assert out.count("\n") == 1


@pytest.mark.parametrize("command", [["check"], ["export", "-o", "m"]])
@pytest.mark.parametrize("target", ["no.such.module", "nowhere.py"])
def test_targets_that_are_not_there(plugjax, program, command, target):
    out = plugjax(*command, target, "--entry", "f:f32[1]", code=2)
    assert target in out
    assert out.count("\n") == 1


def test_a_check_with_parameters_and_any_size(plugjax, program):
    arguments = ["check", "program.py", "--parameters", "weights", "--backend", "xla"]
    assert "every primitive has" in plugjax(*arguments, "--entry", "predict:f32[*,4]")
    out = plugjax("check", "program.py", "--entry", "prints:f32[4]", code=1)
    assert "debug_print" in out


def test_sizes_that_are_not_known():
    first, second = parse_shapes("f32[*,n],i32[2*n,*,3]")
    assert [str(d) for d in first.shape + second.shape] == ["any_1", "n", "2*n", "any_2", "3"]
    # One name is one size.
    assert second.shape[0] == 2 * first.shape[1]


def test_an_entry_may_be_renamed():
    class Module:
        f = staticmethod(abs)

    (found,) = parse(Module, ["g=f:f32[2]"])
    assert (found.name, found.function, found.symbolic) == ("g", abs, False)
