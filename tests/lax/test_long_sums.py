"""Sums of many numbers, on every backend: rounding errors must not grow with the length."""

import ml_dtypes
import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp
from plugjax import lax

RNG = np.random.default_rng(0)
TENTHS = np.full(1 << 20, 1.1, np.float32)


LONG = {
    "mean far from 0": (lambda x: jnp.mean(x + 1e4), lambda x, axis: np.mean(x + 1e4)),
    "all": (jnp.sum, np.sum),
    "first axes": (
        lambda x: jnp.mean(x.reshape(64, 64, 64, 4), (0, 1, 2)),
        lambda x, axis: np.mean(x.reshape(64, 64, 64, 4), (0, 1, 2)),
    ),
    "first axis": (
        lambda x: jnp.sum(x[:300009].reshape(-1, 3), 0),
        lambda x, axis: x[:300009].reshape(-1, 3).sum(0),
    ),
    "last axis": (
        lambda x: jnp.sum(x[:300009].reshape(3, -1), 1),
        lambda x, axis: x[:300009].reshape(3, -1).sum(1),
    ),
    "middle axis": (
        lambda x: jnp.sum(x.reshape(4, -1, 2), 1),
        lambda x, axis: x.reshape(4, -1, 2).sum(1),
    ),
    "outer axes": (
        lambda x: jnp.sum(x.reshape(512, 4, 512), (0, 2)),
        lambda x, axis: x.reshape(512, 4, 512).sum((0, 2)),
    ),
    "complex": (lambda x: jnp.sum(x * 1j, 0), lambda x, axis: (x * 1j).sum(0)),
    "cumulative": (lambda x: jnp.cumsum(x)[-1], lambda x, axis: np.sum(x)),
    "cumulative, reversed": (
        lambda x: lax.cumsum(x.reshape(-1, 2), 0, reverse=True)[0],
        lambda x, axis: x.reshape(-1, 2).sum(0),
    ),
    "cumulative, of a prime number": (
        lambda x: jnp.cumsum(x[:100003])[np.array([1000, -1])],
        lambda x, axis: np.cumsum(x[:100003])[[1000, -1]],
    ),
}


@pytest.mark.spread(6)
@pytest.mark.parametrize("name", LONG)
def test_long_sums(name, backend):
    function, oracle = LONG[name]
    expected = oracle(TENTHS.astype(np.float64), None)
    with plugjax.default_device(backend):
        np.testing.assert_allclose(plugjax.jit(function)(TENTHS), expected, rtol=2e-5)
        np.testing.assert_allclose(function(jnp.asarray(TENTHS)), expected, rtol=2e-5)


def test_products_along_a_long_axis(backend):
    def products(x):
        return (
            jnp.dot(x, jnp.ones(1 << 20)),
            x.reshape(4, -1) @ jnp.ones(1 << 18),
            lax.dot_general(x.reshape(2, -1, 4), x.reshape(2, 4, -1), (((1,), (2,)), ((0,), (0,)))),
        )

    wide = TENTHS.astype(np.float64)
    expected = (
        wide.sum(),
        wide.reshape(4, -1).sum(1),
        np.einsum("bkm,bnk->bmn", wide.reshape(2, -1, 4), wide.reshape(2, 4, -1)),
    )
    with plugjax.default_device(backend):
        found = plugjax.jit(products)(TENTHS)
    # NumPy's products are those of its BLAS.
    rtol = 2e-4 if backend != "numpy" else 1e-3
    for y, z in zip(found, expected, strict=True):
        np.testing.assert_allclose(y, z, rtol=rtol)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16], ids=["float16", "bfloat16"])
def test_narrow_floats_are_added_in_float32(dtype, backend):
    x = RNG.uniform(0, 0.5, 4096).astype(dtype)
    wide = x.astype(np.float64)

    def totals(x):
        image = x.reshape(1, 1, 64, 64)
        return (
            lax.reduce_sum(x, (0,)),
            lax.cumsum(x)[-1],
            jnp.dot(x, x),
            lax.dot_general(x.reshape(64, 64), x.reshape(64, 64), (((0,), (0,)), ((), ())))[0, 0],
            lax.conv(image, image, (1, 1), "VALID")[0, 0, 0, 0],
            lax.reduce_window(x, dtype(0), lax.add, (4096,), (1,), "VALID")[0],
        )

    table = wide.reshape(64, 64)
    square = (wide**2).sum()
    expected = (wide.sum(), wide.sum(), square, (table[:, 0] ** 2).sum(), square, wide.sum())
    with plugjax.default_device(backend):
        found = plugjax.jit(totals)(x)
    for y, z in zip(found, expected, strict=True):
        # Two roundings: XLA adds partial sums in float16 at the end.
        np.testing.assert_allclose(np.float64(y), z, rtol=1.5 * float(ml_dtypes.finfo(dtype).eps))
