"""Reductions over windows that IREE 3.13 refuses, or takes for others."""

import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp
from plugjax import lax

RNG = np.random.default_rng(0)


def numbers(*shape):
    return RNG.normal(size=shape).astype(np.float32)


def places(x, dimensions, strides, padding, dilation=None, base=None):
    """Maxima of windows with their places."""
    indices = jnp.arange(x.size, dtype=jnp.int32).reshape(x.shape)

    def larger(a, b):
        take = (a[0] > b[0]) | ((a[0] == b[0]) & (a[1] < b[1]))
        return jnp.where(take, a[0], b[0]), jnp.where(take, a[1], b[1])

    start = (-np.float32(np.inf), np.int32(1 << 20))
    return lax.reduce_window(
        (x, indices), start, larger, dimensions, strides, padding, base, dilation
    )


@pytest.mark.spread(6)
@pytest.mark.parametrize(
    ("shape", "dimensions", "strides", "padding", "dilation", "base"),
    [
        ((7,), (2,), (1,), "SAME", None, None),
        ((40,), (13,), (1,), "VALID", None, None),
        ((40,), (13,), (3,), [(5, 7)], None, None),
        ((40,), (16,), (2,), [(0, 1)], (2,), None),
        ((9, 8), (3, 3), (2, 2), "SAME", None, None),
        ((9, 8), (2, 3), (1, 2), [(1, 0), (2, 1)], (2, 1), (1, 2)),
        ((5, 1, 4), (5, 1, 2), (1, 1, 2), "VALID", None, None),
        ((6,), (2,), (1,), [(-1, -2)], None, None),
    ],
)
def test_pairs(shape, dimensions, strides, padding, dilation, base, agrees):
    agrees(
        lambda x: places(x, dimensions, strides, padding, dilation, base),
        numbers(*shape),
        rtol=0,
        atol=0,
    )


def test_two_of_one_shape(agrees):
    def pooled(v):
        return lax.reduce_window(v, -jnp.inf, lax.max, (2,), (1,), "SAME")

    def gradients(a, b):
        return plugjax.grad(lambda a, b: jnp.sum(pooled(a) * 2) + jnp.sum(pooled(b) * 3), (0, 1))(
            a, b
        )

    agrees(gradients, np.float32([0.1, -0.1, 3.0]), np.float32([0.2, -0.5, -7.0]), rtol=0, atol=0)


@pytest.mark.spread(8)
@pytest.mark.parametrize("reducer", [(lax.max, -np.inf), (lax.min, np.inf), (lax.add, 0.0)])
@pytest.mark.parametrize(
    ("shape", "dimensions", "strides", "padding"),
    [
        ((12,), (3,), (1,), "VALID"),
        ((6, 6), (2, 2), (2, 2), "VALID"),
        ((2, 6, 6, 3), (1, 2, 2, 1), (1, 2, 2, 1), "VALID"),
        ((2, 6, 6, 3), (1, 3, 3, 1), (1, 1, 1, 1), "SAME"),
        ((2, 3, 6, 6), (1, 1, 2, 2), (1, 1, 2, 2), "VALID"),
        ((2, 9, 3), (1, 3, 1), (1, 2, 1), "SAME"),
        ((4, 4, 4), (2, 2, 2), (1, 1, 1), "SAME"),
    ],
)
def test_two_of_one_type(reducer, shape, dimensions, strides, padding, agrees):
    operation, start = reducer

    def reduced(x):
        return lax.reduce_window(x, np.float32(start), operation, dimensions, strides, padding)

    def one_after_the_other(x):
        first = reduced(x)
        return first, reduced(x * 0.5 - jnp.mean(first) - 5)

    agrees(
        lambda x, y: (reduced(x), reduced(y)),
        numbers(*shape),
        numbers(*shape) - 3,
        rtol=1e-5,
        atol=1e-5,
    )
    agrees(
        lambda x, y: (jnp.sum(reduced(x)), jnp.sum(reduced(y))),
        numbers(*shape) + 9,
        numbers(*shape) - 9,
        rtol=1e-5,
        atol=1e-5,
    )
    agrees(one_after_the_other, numbers(*shape) + 9, rtol=1e-5, atol=1e-5)


@pytest.mark.spread(16)
@pytest.mark.parametrize("reducer", [(lax.max, -np.inf), (lax.min, np.inf), (lax.add, 0.0)])
@pytest.mark.parametrize(
    ("shape", "dimensions", "strides", "padding"),
    [
        ((3, 3), (2, 2), (2, 2), "VALID"),
        ((9, 8), (9, 8), (9, 8), "VALID"),
        ((10, 11), (9, 8), (9, 8), "VALID"),
        ((1, 3, 3, 2), (1, 2, 2, 1), (1, 2, 2, 1), "VALID"),
        ((3, 3), (2, 2), (3, 3), [(0, 2), (0, 1)]),
        ((5,), (3,), (4,), [(1, 3)]),
        ((3,), (3,), (1,), [(2, 1)]),
        ((3,), (3,), (1,), [(1, 2)]),
        ((3,), (3,), (1,), [(2, 2)]),
        ((3, 4), (3, 2), (1, 1), [(2, 0), (0, 1)]),
        ((3,), (3,), (1,), [(2, 0)]),
    ],
)
def test_windows_that_do_not_reach_the_end(reducer, shape, dimensions, strides, padding, agrees):
    operation, start = reducer

    def reduced(x):
        return lax.reduce_window(x, np.float32(start), operation, dimensions, strides, padding)

    agrees(reduced, numbers(*shape), rtol=1e-6, atol=1e-6)
    if operation is lax.max:
        agrees(
            plugjax.grad(lambda x: jnp.sum(reduced(x) ** 2)), numbers(*shape), rtol=1e-6, atol=1e-6
        )


@pytest.mark.parametrize(
    ("shape", "dimensions", "strides", "padding", "base"),
    [
        ((3, 3), (2, 2), (2, 2), "VALID", (1, 2)),
        ((4,), (3,), (5,), [(1, 2)], (3,)),
        ((4,), (3,), (2,), [(-1, 2)], (2,)),
    ],
)
def test_dilated_arrays(shape, dimensions, strides, padding, base, agrees):
    def reduced(x):
        return [
            lax.reduce_window(x, np.float32(start), operation, dimensions, strides, padding, base)
            for operation, start in ((lax.max, -np.inf), (lax.add, 0))
        ]

    agrees(reduced, numbers(*shape), rtol=1e-6, atol=1e-6)
