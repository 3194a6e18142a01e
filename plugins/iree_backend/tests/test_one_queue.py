"""All work of a program for Vulkan goes to the device's first queue."""

import re

import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp
from plugjax import lax
from plugjax_iree.compile import CompileTarget, compile_stablehlo


def branch(x):
    return lax.cond(x[0] > 0, jnp.square, jnp.negative, x)


def loop(x):
    return lax.while_loop(lambda c: c.sum() < 100, lambda c: c * 2 + 1, x)


def straight(x):
    return jnp.square(x), x.at[2].set(1)


def with_constant(x):
    numbers = np.cos(np.arange(8, dtype=np.float32))
    return x * numbers, x + numbers, numbers


@pytest.mark.parametrize("function", [branch, loop, straight, with_constant])
def test_programs_for_vulkan_use_one_queue(function):
    with plugjax.default_device("iree"):
        text = plugjax.jit(function).lower(np.ones(8, np.float32)).as_text()
    program = compile_stablehlo(text, CompileTarget("vulkan"), phase="hal").decode()
    body = program[program.index("util.func public @main") :]
    work = [line for line in body.splitlines() if "hal.device.queue." in line]
    assert work
    assert {re.search(r"affinity\(%(\w+)\)", line)[1] for line in work} == {"c1_i64"}


def test_those_for_processors_use_any():
    with plugjax.default_device("iree"):
        text = plugjax.jit(branch).lower(np.ones(8, np.float32)).as_text()
    program = compile_stablehlo(text, CompileTarget(), phase="hal").decode()
    assert "affinity(%c-1_i64)" in program
    assert "affinity(%c1_i64)" not in program
