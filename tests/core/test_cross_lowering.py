"""Programs written for hardware that is not there."""

import re

import jax
import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp
from plugjax.core.errors import LoweringError
from plugjax.testing import OPS
from plugjax.testing.ahead import programs

X = np.ones((4, 4), np.float32)


def program(j):
    def f(x):
        lax = j.lax
        return lax.platform_dependent(x @ x, cpu=lax.floor, tpu=lax.ceil, default=lax.abs)

    return f


def operations(text):
    return [n for n in ("floor", "ceil", "abs") if re.search(rf"stablehlo\.{n}\b", text)]


@pytest.mark.parametrize("start", ["numpy", "xla", "iree"])
@pytest.mark.parametrize("name", ["cpu", "cuda", "rocm", "tpu"])
def test_branches_of_the_hardware_are_taken(start, name):
    with plugjax.default_device(start):
        ours = plugjax.jit(program(plugjax)).trace(X).lower(lowering_platforms=(name,))
        text = ours.as_text(dialect="stablehlo")
    theirs = jax.jit(program(jax)).trace(X).lower(lowering_platforms=(name,))
    assert operations(text) == operations(theirs.as_text())
    if name != "cpu":
        with pytest.raises(ValueError, match=f"lowered for {name}"):
            ours.compile()


def test_vulkan():
    text = plugjax.jit(program(plugjax)).trace(X).lower(lowering_platforms=("vulkan",)).as_text()
    assert operations(text) == ["abs"]


def test_several():
    text = plugjax.jit(program(plugjax)).trace(X).lower(lowering_platforms=("cpu", "tpu")).as_text()
    theirs = jax.jit(program(jax)).trace(X).lower(lowering_platforms=("cpu", "tpu")).as_text()
    assert operations(text) == operations(theirs) == ["floor", "ceil"]
    assert "stablehlo.case" in text


CALLS_PYTHON = {"pure_callback", "io_callback", "debug_callback", "debug_print"}


@pytest.mark.spread(16)
@pytest.mark.parametrize("name", ["cuda", "rocm", "tpu", "vulkan"])
@pytest.mark.parametrize("program", [p for op in OPS for p in programs(op)], ids=repr)
def test_the_op_table(name, program):
    traced = plugjax.jit(program.function).trace(*program.operands)
    lowered = traced.lower(lowering_platforms=(name,))
    if name == "tpu" and program.op.primitive.name in CALLS_PYTHON:
        with pytest.raises(LoweringError, match="cannot call Python here"):
            lowered.as_text()
    else:
        text = lowered.as_text()
        assert "func.func public @main" in text
        assert "lapack" not in text
        assert "cpu_callback" not in text


@pytest.mark.parametrize("name", ["cuda", "tpu"])
def test_linear_algebra_calls_no_library_of_processors(name):
    lowered = plugjax.jit(jnp.linalg.solve).trace(X, X).lower(lowering_platforms=(name,))
    assert "lapack" not in lowered.as_text()


@pytest.mark.parametrize("names", [("abacus",), ("tpu", "vulkan"), ()])
def test_what_nobody_lowers_for(names):
    traced = plugjax.jit(program(plugjax)).trace(X)
    with pytest.raises(ValueError, match="no installed backend lowers for"):
        traced.lower(lowering_platforms=names)
