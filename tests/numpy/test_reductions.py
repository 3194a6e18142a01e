"""Reductions, statistics, sorting and searching against JAX."""

import jax
import numpy as onp
import pytest

import plugjax
import plugjax.numpy as jnp

_rng = onp.random.RandomState(0)
F = _rng.randn(3, 4).astype(onp.float32)
G = _rng.randn(3, 4).astype(onp.float32)
V = _rng.randn(4).astype(onp.float32)
T = _rng.randn(2, 3, 4).astype(onp.float32)
I = _rng.randint(-5, 6, (3, 4)).astype(onp.int32)  # Integers.
U = _rng.randint(0, 9, (3, 4)).astype(onp.uint8)
B = _rng.rand(3, 4) > 0.5
H = F.astype(onp.float16)
P = onp.abs(F) + onp.float32(0.1)
NAN = onp.nan
N = onp.where(B, F, onp.float32(onp.nan))


@pytest.mark.spread(8)
@pytest.mark.parametrize(
    "name",
    ["sum", "prod", "mean", "var", "std", "max", "min", "all", "any", "median", "ptp", "nanmean"],
)
@pytest.mark.parametrize("axis", [0, -1, (0, 1), None, 5], ids=str)
@pytest.mark.parametrize("x", [F, I, H, U], ids="FIHU")
def test_reduction(agree, name, axis, x):
    agree(lambda np: getattr(np, name)(x, axis=axis))


@pytest.mark.parametrize("name", ["argmax", "argmin", "cumsum", "cumprod", "sort", "argsort"])
@pytest.mark.parametrize("axis", [0, -1, None, 5], ids=str)
@pytest.mark.parametrize("x", [F, I, B], ids="FIB")
def test_along_axis(agree, name, axis, x):
    agree(lambda np: getattr(np, name)(x, axis=axis))


@pytest.mark.parametrize(
    "expression",
    [
        lambda np: np.sum(T, axis=1, keepdims=True),
        lambda np: np.mean(F, axis=0, where=B),
        lambda np: np.max(F, axis=0, initial=0.5, where=B),
        lambda np: np.max(F, where=B),
        lambda np: np.max(onp.zeros(0)),
        lambda np: np.sum([1, 2]),
        lambda np: np.sum(np.broadcast_to(np.asarray(0.5), (3,))),
        lambda np: np.var(F, axis=0, ddof=9),
        lambda np: np.average(F, axis=0, weights=P),
        lambda np: np.quantile(F, onp.float32([0.1, 0.5]), axis=0),
        lambda np: np.nanquantile(N, 0.4, axis=1),
        lambda np: np.percentile(T, 30.0, axis=(0, 2), method="nearest", keepdims=True),
        lambda np: np.nanmax(N, axis=0),
        lambda np: np.cov(F, rowvar=False),
        lambda np: np.corrcoef(F),
        lambda np: np.histogram(F, bins=4, density=True),
        lambda np: np.searchsorted(onp.sort(F.ravel()), G, side="right"),
        lambda np: np.unique(I, True, True, True),
        lambda np: np.unique(I, size=15),
        lambda np: np.bincount(U.ravel(), length=4),
        lambda np: np.digitize(onp.float32([2, 1, 0.5, -2]), onp.float32([2, 0.5, -2])),
        lambda np: np.digitize(onp.float32([2, 1, 0.5, -2]), onp.float32([2, 0.5, -2]), True),
        lambda np: np.digitize(F, onp.float32([-1, 0, 1])),
        lambda np: np.lexsort((I[0], I[1])),
        lambda np: np.cumulative_sum(V, include_initial=True),
    ],
)
def test_cases(agree, expression):
    agree(expression)


def test_quantiles_are_compiled():
    found = plugjax.jit(
        lambda x: [jnp.median(x, 0), jnp.nanpercentile(x, 30), jnp.quantile(x, 0.4)]
    )(F)
    wanted = [onp.median(F, 0), onp.percentile(F, 30), onp.quantile(F, 0.4)]
    for x, y in zip(found, wanted, strict=True):
        onp.testing.assert_allclose(x, y, rtol=1e-5)


@pytest.mark.parametrize("ddof", [0, 1])
@pytest.mark.parametrize("name", ["nanvar", "nanstd"])
@pytest.mark.parametrize(
    "x", [[1, NAN, 3], [1, NAN], [NAN, NAN], [NAN, 2, 2], [2.0], [-1, 4, NAN, 0.5]], ids=str
)
def test_derivatives_of_spreads_do_not_see_what_is_left_out(name, x, ddof):
    def spread(package):
        return lambda v: getattr(package.numpy, name)(v, ddof=ddof)

    found, expected = (p.grad(spread(p))(onp.array(x, "f")) for p in (plugjax, jax))
    onp.testing.assert_allclose(found, expected, rtol=1e-6)
