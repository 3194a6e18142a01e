"""Reductions of rows are reduced in lanes, and softmax is made of such reductions."""

import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp
from plugjax import lax
from plugjax_iree.compile import CompileTarget, compile_stablehlo

RNG = np.random.default_rng(0)


def drawn(*shape, dtype="float32"):
    return (RNG.normal(size=shape) * 3).astype(dtype)


def layer_norm(x):
    centred = x - x.mean(-1, keepdims=True)
    return centred * lax.rsqrt((centred**2).mean(-1, keepdims=True) + 1e-5)


def with_special_values(x):
    x = x.at[0].set(-jnp.inf).at[1, 3].set(jnp.nan).at[2, 5].set(jnp.inf)
    return x.max(-1), x.min(-1), x.sum(-1), plugjax.nn.softmax(x), plugjax.nn.logsumexp(x, -1)


# Functions, shapes of their arguments, and how many reductions are done in lanes.
IN_LANES = [
    (lambda x: x.sum(-1), [(5, 64)], 1),
    (lambda x: x.sum(-1), [(3, 1, 2, 32)], 1),
    (lambda x: x.sum(), [(1024,)], 1),
    (lambda x: x.sum((1, 3)), [(4, 3, 5, 48)], 1),
    (lambda x: x.sum(-1), [(5, 127)], 1),
    (lambda x: x.sum((1, 3)), [(2, 3, 5, 101)], 1),
    (lambda x: x.min(-1), [(5, 101)], 1),
    (lambda x, y: (x * y).sum(-1), [(5, 131), (131,)], 1),
    (lambda x: (jnp.abs(x) * 10).astype(int).sum(-1), [(6, 101)], 1),
    (layer_norm, [(6, 101)], 2),
    (plugjax.nn.softmax, [(6, 101)], 2),
    (with_special_values, [(6, 101)], 5),
    (lambda x: x.max(-1), [(5, 64)], 1),
    (lambda x: x.min(-1) + x[:, 0], [(5, 64)], 1),
    (lambda x: jnp.square(x).sum(-1), [(5, 128)], 1),
    (lambda x: jnp.exp(x * 0.1).sum(-1), [(5, 128)], 1),
    (lambda x, y: (x * y).sum(-1), [(5, 128), (5, 128)], 1),
    (lambda x, y: (x * y).sum(-1), [(5, 128), (128,)], 1),
    (lambda x, y: jnp.abs(x - y).max(-1), [(7, 64), (7, 1)], 1),
    (lambda x, y: x @ y, [(256, 128), (128,)], 1),
    (lambda x: jnp.linalg.norm(x, axis=-1), [(6, 64)], 1),
    (lambda x: (jnp.abs(x) * 10).astype(int).sum(-1), [(6, 64)], 1),
    (lambda x: (x * 10).astype(int).max(-1), [(6, 64)], 1),
    (lambda x: x.astype(jnp.bfloat16).sum(-1, dtype="float32"), [(6, 64)], 1),
    (lambda x: x.var(-1), [(6, 64)], 2),
    (layer_norm, [(6, 96)], 2),
    (lambda x: plugjax.nn.logsumexp(x, -1), [(6, 64)], 2),
    (plugjax.nn.softmax, [(6, 64)], 2),
    (plugjax.nn.softmax, [(2, 3, 4, 64)], 2),
    (with_special_values, [(6, 64)], 5),
    (plugjax.vmap(lambda x: x.sum(-1), 1), [(6, 4, 64)], 1),
    (plugjax.grad(lambda x: (plugjax.nn.softmax(x) ** 2).sum()), [(6, 64)], 5),
    (plugjax.grad(lambda x: (layer_norm(x) ** 3).sum()), [(6, 64)], 3),
    (lambda x: lax.scan(lambda c, r: (c + r.sum(), r.max()), 0.0, x), [(4, 64)], 2),
]
# Those that are not: of short rows, of columns, of two results, and what a kernel computes itself.
NOT_IN_LANES = [
    (lambda x: x.sum(-1), [(5, 24)]),
    (lambda x: x.sum(-1), [(5, 65)]),
    (lambda x: x.sum(0), [(64, 64)]),
    (lambda x: x.T.sum(-1), [(64, 64)]),
    (lambda x: x.argmax(-1), [(5, 64)]),
    (lambda x: x.prod(-1), [(5, 64)]),
    (lambda x: plugjax.nn.softmax(x, 0), [(64, 6)]),
]


@pytest.mark.parametrize(("function", "shapes", "count"), IN_LANES)
def test_values_are_those_of_numpy(function, shapes, count, agrees, changes):
    agrees(function, *(drawn(*shape) for shape in shapes), rtol=2e-5, atol=2e-5)
    assert changes["row_reductions"] == count


@pytest.mark.parametrize(("function", "shapes"), NOT_IN_LANES)
def test_other_reductions_stay_as_they_are(function, shapes, agrees, changes):
    agrees(function, *(drawn(*shape) for shape in shapes), rtol=2e-5, atol=2e-5)
    assert changes["row_reductions"] == 0


@pytest.mark.parametrize("dtype", ["int8", "uint32", "bool", "float16"])
def test_types(dtype, agrees):
    x = (drawn(5, 64) * 4).astype(dtype)
    agrees(lambda x: (x.sum(-1), x.max(-1), x.any(-1), x.all(-1)), x, rtol=1e-3, atol=1e-3)


def test_64_bits(agrees, changes):
    with plugjax.enable_x64(True):
        x = drawn(5, 64, dtype="float64")
        agrees(lambda x: (x.sum(-1), plugjax.nn.softmax(x)), x, rtol=1e-13, atol=1e-13)
        i = (x * 1e9).astype("int64")
        agrees(lambda i: (i.sum(-1), i.max(-1)), i, rtol=0, atol=0)
    assert changes["row_reductions"] == 5


def test_sums_that_begin_with_another_number(agrees):
    def program(x):
        return lax.reduce(x, np.float32(3), lax.add, (1,)), lax.reduce(
            x, np.float32(1), lax.max, (1,)
        )

    agrees(program, drawn(5, 64), rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize(
    ("target", "whole"), [(CompileTarget(), 0), (CompileTarget("vulkan", "ampere"), 1)]
)
def test_kernels_of_other_devices_stay_as_they_are(target, whole):
    with plugjax.default_device("iree"):
        text = plugjax.jit(plugjax.nn.softmax).lower(drawn(4, 64)).as_text()
    kernels = compile_stablehlo(text, target, phase="stream").decode()
    assert kernels.count("linalg.softmax") == whole
