from collections.abc import Callable

import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp
from plugjax_iree.compile import CompileTarget, compile_stablehlo, compiler, pipeline

Compile = Callable[..., bytes]


def agrees_with_numpy(function, *args, rtol, atol):
    """Compiled for IREE, the function gives what it gives on NumPy."""
    with plugjax.default_device("numpy"):
        expected = plugjax.tree.leaves(function(*map(jnp.asarray, args)))
    with plugjax.default_device("iree"):
        found = plugjax.tree.leaves(plugjax.jit(function)(*args))
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=rtol, atol=atol)


@pytest.fixture
def agrees():
    return agrees_with_numpy


@pytest.fixture
def on_numpy():
    """A function's values on NumPy."""

    def values(function, *args):
        with plugjax.default_device("numpy"):
            return plugjax.tree.map(np.asarray, function(*args))

    return values


@pytest.fixture
def vulkan():
    """A Vulkan device, which programs run on. What is found to be wrong is a failure, and is not repaired."""
    found = [d for d in plugjax.devices("iree") if d.kind == "vulkan"]
    if not found:
        pytest.skip("no Vulkan device: apt-get install mesa-vulkan-drivers libvulkan1")
    with plugjax.config.override("verify", "off"), plugjax.default_device(found[0]):
        yield found[0]


@pytest.fixture
def changes(monkeypatch):
    """How many changes each workaround made, by its name; programs are compiled in this process, and none is kept."""
    found: dict[str, int] = {}
    rewrite = pipeline.rewrite

    def counted(row, invocation, *options):
        count = rewrite(row, invocation, *options)
        found[row.name] = found.get(row.name, 0) + count
        return count

    def compile_elsewhere(*args, process_flags, **options):
        return pipeline.compile_here(*args, **options)

    monkeypatch.setattr(compiler, "compile_elsewhere", compile_elsewhere)
    monkeypatch.setattr(pipeline, "rewrite", counted)
    plugjax.config.update("enable_compilation_cache", False)
    yield found
    plugjax.config.update("enable_compilation_cache", True)


@pytest.fixture(scope="session")
def compiled() -> Compile:
    """Compiles text for the host, each text once."""
    known: dict[str, bytes] = {}

    def compile_once(text: str) -> bytes:
        if text not in known:
            known[text] = compile_stablehlo(text, CompileTarget())
        return known[text]

    return compile_once


@pytest.fixture(scope="session")
def add_module(compiled: Compile) -> bytes:
    return compiled(
        """module @m {
  func.func public @main(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
    %0 = stablehlo.add %x, %y : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}"""
    )
