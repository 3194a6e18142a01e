"""What only copies, on Vulkan devices, is written for each call; the rest is kept."""

import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp
from plugjax_iree import workarounds
from plugjax_iree.compile import CompileTarget, compile_stablehlo


def pieces(x):
    return x[0], x[2:]


def joined(x):
    return jnp.concatenate([x, x[:2]])


def modes(function, driver, without=()):
    """How the commands of a function are made."""
    with plugjax.default_device("iree"):
        text = plugjax.jit(function).lower(np.ones((8, 8), np.float32)).as_text()
    with workarounds.without(without):
        program = compile_stablehlo(text, CompileTarget(driver), phase="hal").decode()
    lines = [line for line in program.splitlines() if "hal.command_buffer.create" in line]
    assert lines
    return {line.partition("mode(")[2].partition(")")[0] for line in lines}


@pytest.mark.parametrize("function", [pieces, joined])
def test_commands_that_only_copy_are_for_one_use(function):
    assert all("OneShot" in mode for mode in modes(function, "vulkan"))
    assert not any("OneShot" in mode for mode in modes(function, "vulkan", ["kept_copies"]))


@pytest.mark.parametrize(("function", "driver"), [(jnp.square, "vulkan"), (pieces, "local")])
def test_other_commands_are_kept(function, driver):
    assert not any("OneShot" in mode for mode in modes(function, driver))
