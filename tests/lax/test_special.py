"""Special functions: edges of their domains, precision, and missing derivatives."""

import itertools

import jax
import ml_dtypes
import numpy as np
import pytest
import scipy.special

import plugjax
from plugjax import lax
from plugjax.core.errors import RuleAbsentError

EDGES = [0.0, 0.3, 1.0, 2.5, 30.0, -1.0, -0.5, np.inf, np.nan]
TWO = np.array(list(itertools.product(EDGES, EDGES)), np.float32).T
THREE = np.array(
    list(itertools.product(EDGES, EDGES, [0, 0.3, 1, -0.1, 1.5, np.nan])), np.float32
).T


@pytest.mark.spread(6)
@pytest.mark.parametrize("name", ["igamma", "igammac", "igamma_grad_a", "betainc"])
def test_edges_against_jax(name, on_backend):
    xs = THREE if name == "betainc" else TWO
    # The derivative by the first argument is compared at finite arguments only.
    xs = xs[:, np.isfinite(xs).all(0)] if name == "igamma_grad_a" else xs
    # At the edges the programs follow SciPy, whose kernels the host runs.
    if name.startswith("igamma") and name != "igamma_grad_a":
        special = {"igamma": scipy.special.gammainc, "igammac": scipy.special.gammaincc}[name]
        expected = special(*xs.astype(np.float64))
    else:
        expected = getattr(jax.lax, name)(*xs)
    for function in (getattr(lax, name), plugjax.jit(getattr(lax, name))):
        np.testing.assert_allclose(function(*xs), expected, rtol=3e-5, atol=1e-6)


@pytest.mark.spread(6)
@pytest.mark.parametrize("name", ["lgamma", "digamma", "bessel_i0e", "bessel_i1e"])
def test_one_operand_against_jax(name, on_backend):
    x = np.array([-2.5, -1, -0.3, 0, 0.2, 1, 7.9, 8.1, 90, np.inf, np.nan], np.float32)
    for dtype, rtol in ((np.float32, 2e-5), (np.float16, 2e-3), (ml_dtypes.bfloat16, 2e-2)):
        y = x.astype(dtype)
        expected = np.asarray(getattr(jax.lax, name)(y), np.float32)
        for function in (getattr(lax, name), plugjax.jit(getattr(lax, name))):
            found = function(y)
            assert found.dtype == dtype
            np.testing.assert_allclose(
                np.asarray(found, np.float32), expected, rtol=rtol, atol=1e-6
            )


@pytest.mark.parametrize("device", ["numpy", "xla"])
def test_float64_has_its_digits(device):
    with plugjax.enable_x64(True), plugjax.default_device(device):
        rng = np.random.default_rng(0)
        a, b = rng.uniform(0.1, 30, (2, 200))
        x, u = rng.uniform(0.1, 40, 200), rng.uniform(0, 1, 200)
        for ours, theirs, xs in (
            (lax.igamma, scipy.special.gammainc, (a, x)),
            (lax.igammac, scipy.special.gammaincc, (a, x)),
            (lax.betainc, scipy.special.betainc, (a, b, u)),
            (lax.bessel_i0e, scipy.special.i0e, (x,)),
        ):
            np.testing.assert_allclose(plugjax.jit(ours)(*xs), theirs(*xs), rtol=1e-11, atol=1e-14)


def test_random_gamma_grad_against_jax(on_backend):
    a = np.array([0.1, 0.5, 1, 3, 20, 1, -1, 2], np.float32)
    x = np.array([0.01, 2, 1, 4, 15, 0, 1, np.nan], np.float32)
    found = plugjax.jit(lax.random_gamma_grad)(a, x)
    np.testing.assert_allclose(found, jax.lax.random_gamma_grad(a, x), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    ("function", "operands"),
    [(lambda m: lax.polygamma(m, 2.0), (1.0,)), (lambda a: lax.betainc(a, 1.0, 0.5), (1.0,))],
)
def test_parameters_that_have_no_derivative(function, operands):
    with pytest.raises(ValueError, match="not supported"):
        plugjax.grad(function)(*operands)


@pytest.mark.parametrize("function", [lax.zeta, lax.igamma_grad_a])
def test_functions_that_have_no_derivative(function):
    with pytest.raises(RuleAbsentError):
        plugjax.grad(function)(2.0, 1.5)


def test_integers_are_refused():
    with pytest.raises(TypeError, match="lgamma does not accept dtype int32"):
        lax.lgamma(3)
