"""Tiles are vectors for matrices and images of all sizes, and products add one term after the other."""

import re

import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp
from plugjax import lax
from plugjax_iree.compile import CompileTarget, compile_stablehlo

PHASE = "executable-configurations"
RNG = np.random.default_rng(0)


def drawn(*shape, dtype="float32"):
    return (RNG.normal(size=shape) * 3).astype(dtype)


def times(a, b):
    return a @ b


def times_transposed(a, b):
    return a @ b.T


def times_transposed_in_batches(a, b):
    return a @ jnp.swapaxes(b, 1, 2)


def layer(a, b):
    return jnp.tanh(a @ b) * 2 + b[0]


def normalised(a, b):
    return plugjax.nn.softmax(a @ b)


CASES = [
    (times, (33, 65), (65, 127)),
    (times, (127, 127), (127, 127)),
    (times, (64, 48), (48, 32)),
    (times, (5, 7), (7, 9)),
    (times, (2, 300), (300, 3)),
    (times, (16, 100), (100, 1)),
    (times, (257, 40), (40, 17)),
    (times, (3, 33, 65), (3, 65, 31)),
    (times, (2, 3, 10, 20), (2, 3, 20, 15)),
    (times_transposed, (33, 65), (127, 65)),
    (times_transposed, (64, 48), (32, 48)),
    (times_transposed_in_batches, (3, 33, 20), (3, 31, 20)),
    (lambda a, b: a.T @ b, (65, 33), (65, 127)),
    (layer, (33, 65), (65, 127)),
    (layer, (64, 32), (32, 48)),
    (normalised, (33, 65), (65, 50)),
    (lambda a, b: plugjax.grad(lambda w: jnp.sum(layer(a, w) ** 2))(b), (33, 65), (65, 31)),
    (
        lambda a, b: lax.scan(lambda c, r: (c @ b, c[0] * r), a, a[:3, :1])[0],
        (9, 31),
        (31, 31),
    ),
]


@pytest.mark.parametrize(("function", "left", "right"), CASES)
def test_values_are_those_of_numpy(function, left, right, agrees):
    agrees(function, drawn(*left), drawn(*right) / 4, rtol=2e-4, atol=2e-4)


def convolved(x, k, stride=1):
    numbers = ("NHWC", "HWIO", "NHWC")
    return lax.conv_general_dilated(x, k, (stride, stride), "SAME", dimension_numbers=numbers)


def pooled(x):
    return lax.reduce_window(x, -np.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


# Functions of images and columns.
OTHERS = [
    (convolved, [(2, 27, 27, 13), (3, 3, 13, 17)]),
    (convolved, [(2, 13, 11, 5), (3, 3, 5, 19)]),
    (convolved, [(2, 9, 7, 20), (3, 3, 20, 33)]),
    (convolved, [(2, 9, 9, 3), (3, 3, 3, 5)]),
    (convolved, [(2, 28, 28, 1), (5, 5, 1, 6)]),
    (convolved, [(2, 17, 17, 5), (3, 3, 5, 4)]),
    (lambda x, k: convolved(x, k, 2), [(2, 27, 27, 13), (5, 5, 13, 17)]),
    (
        lambda x, k: plugjax.grad(lambda k: jnp.sum(convolved(x, k) ** 2))(k),
        [(2, 13, 13, 5), (3, 3, 5, 17)],
    ),
    (lambda x, k: jnp.maximum(convolved(x, k) + 1, 0), [(2, 13, 13, 5), (3, 3, 5, 17)]),
    (pooled, [(2, 31, 31, 17)]),
    (lambda x: plugjax.nn.softmax(x, 0), [(127, 127)]),
    (plugjax.nn.softmax, [(50, 33)]),
    (lambda x: (x.sum(1), x.max(1), x.min(1)), [(50, 33)]),
    (lambda x: x - x.mean(-1, keepdims=True), [(3, 7, 65)]),
    (lambda x: x.max(0), [(33, 127)]),
    (lambda x: jnp.cumsum(x, 0), [(33, 127)]),
]


@pytest.mark.parametrize(("function", "shapes"), OTHERS)
def test_values_of_other_functions(function, shapes, agrees):
    agrees(function, *(drawn(*shape) for shape in shapes), rtol=2e-4, atol=2e-3)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int8", "int32", "uint32", "bool"])
def test_types(dtype, agrees):
    a, b = (jnp.asarray(drawn(*s)).astype(dtype) for s in [(33, 65), (65, 31)])
    agrees(lambda a, b: (a @ b).astype("float32"), a, b, rtol=2e-2, atol=2e-1)


def test_64_bits(agrees):
    with plugjax.enable_x64(True):
        a, b = drawn(33, 65, dtype="float64"), drawn(65, 31, dtype="float64")
        agrees(times, a, b, rtol=1e-12, atol=1e-12)
        agrees(times, (a * 99).astype(int), (b * 99).astype(int), rtol=0, atol=0)


# Functions, shapes, and the tiles with vectors of 64 bytes and of 32: rows, columns, terms; the last: whether borders have code of their own.
TILES = [
    (times, (64, 48), (48, 32), (8, 16, 1, False), (8, 8, 1, True)),
    (times, (33, 65), (65, 127), (8, 16, 1, True), (8, 8, 1, True)),
    (times, (5, 65), (65, 64), (5, 16, 1, False), (5, 8, 1, True)),
    (layer, (33, 65), (65, 127), (8, 16, 1, True), (8, 8, 1, True)),
    (times, (3, 33, 65), (3, 65, 31), (8, 16, 1, True), (8, 8, 1, True)),
    (times_transposed, (33, 65), (127, 65), (8, 16, 4, True), (8, 8, 8, True)),
    (times_transposed, (64, 48), (32, 48), (8, 16, 16, False), (8, 8, 8, True)),
]


@pytest.mark.parametrize("wide", [True, False], ids=["AVX-512", "AVX2"])
@pytest.mark.parametrize(("function", "left", "right", "large", "small"), TILES)
def test_tiles_are_vectors(function, left, right, large, small, wide):
    with plugjax.default_device("iree"):
        text = plugjax.jit(function).lower(drawn(*left), drawn(*right)).as_text()
    target = CompileTarget(arch="znver4" if wide else "znver3")
    kernels = compile_stablehlo(text, target, phase=PHASE).decode()
    found = re.findall(
        r"common_parallel = \[(?:1, )?(\d+), (\d+), 0\], vector_reduction = \[(?:0, )+(\d+)\]",
        kernels,
    )
    *tile, borders = large if wide else small
    assert [[int(n) for n in each] for each in found] == [tile]
    assert ("enable_loop_peeling" in kernels) == borders


def test_other_devices_keep_their_tiles():
    with plugjax.default_device("iree"):
        text = plugjax.jit(times).lower(drawn(33, 65), drawn(65, 127)).as_text()
    kernels = compile_stablehlo(text, CompileTarget("vulkan", "ampere"), phase=PHASE).decode()
    assert "iree_gpu" in kernels
    assert "enable_loop_peeling" not in kernels
