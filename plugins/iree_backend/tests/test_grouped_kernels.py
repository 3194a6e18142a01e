"""Kernels of a program share a few executables, which are compiled side by side."""

import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp
from plugjax import lax
from plugjax_iree import workarounds
from plugjax_iree.compile import CompileTarget, compile_stablehlo, compiler

HOST = CompileTarget()
UNLINKED = "--iree-hal-link-executables=false"
X = np.random.default_rng(0).normal(size=(80, 80)).astype(np.float32)


def of_sizes(sizes):
    """A program of one kernel for each size."""
    return lambda x: [jnp.tanh(x[:n, :n]).sum(1) for n in sizes]


def in_loops_and_branches(x):
    def step(carry, n):
        grown = lax.cond(n > 2, lambda c: jnp.cumsum(c, 0) / n, lambda c: c @ x[:5, :5], carry)
        return jnp.sin(grown) + n, grown.max()

    carry, largest = lax.scan(step, x[:5, :5], jnp.arange(5.0))
    return carry, largest, jnp.sort(x[0]), of_sizes(range(2, 40))(x)


def executables(text, target=HOST, without=()):
    with workarounds.without(without):
        program = compile_stablehlo(text, target, phase="executable-sources").decode()
    return program.count("hal.executable private"), program.count("hal.executable.export")


def text(count):
    with plugjax.default_device("iree"):
        return plugjax.jit(of_sizes(range(2, 2 + count))).lower(X).as_text()


@pytest.mark.parametrize("function", [of_sizes(range(2, 72)), in_loops_and_branches])
def test_values_are_those_of_numpy(function, agrees):
    agrees(function, X, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("count", "groups"), [(1, 1), (20, 1), (63, 1), (64, 2)])
def test_a_group_has_at_least_32_kernels(count, groups):
    assert executables(text(count)) == (groups, count)


def test_each_kernel_is_one_executable_without_it():
    assert executables(text(4), without=["grouped_kernels"]) == (4, 4)


@pytest.mark.parametrize(
    "target", [CompileTarget("vulkan", "ampere"), CompileTarget("local", "vmvx")]
)
def test_other_devices_get_one_kernel_each(target):
    assert executables(text(4), target) == (4, 4)


@pytest.mark.parametrize(
    ("target", "flags"),
    [
        (HOST, (UNLINKED, "--iree-llvmcpu-matmul-tile-bytes=2097152")),
        (CompileTarget("local", "x86-64"), (UNLINKED,)),
        (CompileTarget(extra=("--iree-llvmcpu-target-cpu-features=host",)), ()),
        (CompileTarget("local", "vmvx"), ()),
        (CompileTarget("cuda", "sm_80"), ()),
    ],
)
def test_executables_for_processors_are_not_linked(target, flags):
    assert target.process_flags() == flags


def test_without_groups_executables_are_linked(monkeypatch):
    asked = []
    monkeypatch.setattr(compiler, "compile_elsewhere", lambda *_, process_flags, **__: asked.append(process_flags) or b"")  # fmt: skip
    compile_stablehlo(text(2), HOST)
    with workarounds.without(["grouped_kernels"]):
        compile_stablehlo(text(2), HOST)
    assert asked == [HOST.process_flags(), ()]


def test_what_is_wanted_after_flow_has_one_executable_for_each_kernel():
    program = compile_stablehlo(text(40), HOST, phase="flow").decode()
    assert program.count("flow.executable private") == 40
