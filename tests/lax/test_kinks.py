"""First and second derivatives at kinks, ties and removable singularities of formulas, against JAX."""

from functools import reduce
from itertools import product

import jax
import numpy as np
import pytest

import plugjax
import plugjax.nn

POINTS = np.array([0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -2.0], np.float32)
LEFT, RIGHT = (a.ravel() for a in np.meshgrid(POINTS, POINTS))

ONE = [
    "lax.abs",
    "lax.cbrt",
    "lax.sqrt",
    "lax.rsqrt",
    "lax.log",
    "lax.log1p",
    "lax.expm1",
    "lax.asin",
    "lax.tanh",
    "lax.erf",
    "lax.sign",
    "lax.round",
    "lax.square",
    "lax.lgamma",
    "numpy.abs",
    "numpy.fabs",
    "numpy.cbrt",
    "numpy.sinc",
    "numpy.i0",
    "numpy.nan_to_num",
    "numpy.arctan",
    "numpy.exp2",
    "numpy.reciprocal",
    "numpy.trunc",
    "nn.relu",
    "nn.relu6",
    "nn.softplus",
    "nn.log_sigmoid",
    "nn.silu",
    "nn.mish",
    "nn.gelu",
    "nn.elu",
    "nn.celu",
    "nn.selu",
    "nn.soft_sign",
    "nn.hard_tanh",
    "nn.hard_sigmoid",
    "nn.hard_swish",
    "nn.leaky_relu",
    "nn.squareplus",
    "nn.sparse_plus",
    "nn.sparse_sigmoid",
    "scipy.special.entr",
    "scipy.special.log_ndtr",
    "scipy.special.erfcx",
    "scipy.special.i0e",
    "scipy.special.i1e",
    "scipy.special.expit",
    "scipy.stats.laplace.cdf",
    "scipy.stats.laplace.logpdf",
    "scipy.stats.logistic.logpdf",
    "scipy.stats.norm.logcdf",
]
TWO = [
    "lax.max",
    "lax.min",
    "lax.pow",
    "lax.atan2",
    "lax.rem",
    "lax.div",
    "lax.mul",
    "numpy.maximum",
    "numpy.fmax",
    "numpy.fmin",
    "numpy.logaddexp",
    "numpy.logaddexp2",
    "numpy.copysign",
    "numpy.mod",
    "numpy.fmod",
    "numpy.arctan2",
    "numpy.heaviside",
    "scipy.special.xlogy",
    "scipy.special.xlog1py",
    "scipy.special.rel_entr",
    "scipy.special.kl_div",
]

# JAX has nan for x ** y at x == 0 and y == 0 or 1: 0 times the infinite x ** (y - 1), or its derivative.
POWERS = {"lax.pow"}


def function(library, path):
    return reduce(getattr, path.split("."), library)


def derivatives(library, path, args):
    """The first derivatives by each argument, and the second ones by each pair."""
    f, found = function(library, path), []
    ones = [
        tuple(np.ones_like(x) if i == k else np.zeros_like(x) for i, x in enumerate(args))
        for k in range(len(args))
    ]
    for first in ones:

        def push(*xs, first=first):
            return library.jvp(f, xs, first)[1]

        found += [library.jvp(push, args, second) for second in ones]
    return [np.asarray(x) for pair in found for x in pair]


@pytest.mark.spread(6)
@pytest.mark.filterwarnings("ignore:.*encountered in divide:RuntimeWarning")
@pytest.mark.parametrize("path", [*ONE, *TWO])
def test_derivatives_are_those_of_jax(path):
    args = (POINTS,) if path in ONE else (LEFT, RIGHT)
    with plugjax.default_device("numpy"):
        found = derivatives(plugjax, path, args)
    for ours, theirs in zip(found, derivatives(jax, path, args), strict=True):
        if path in POWERS:
            undefined = np.isnan(theirs) & (LEFT == 0)
            assert np.isfinite(ours[undefined & ((RIGHT == 0) | (RIGHT == 1))]).all()
            ours = np.where(undefined, np.nan, ours)
        np.testing.assert_allclose(ours, theirs, rtol=2e-3, atol=1e-4)


def test_derivatives_of_clamp_on_its_bounds_are_those_of_jax():
    args = tuple(a.ravel() for a in np.meshgrid(POINTS, POINTS, POINTS))
    for ours, theirs in zip(
        derivatives(plugjax, "lax.clamp", args), derivatives(jax, "lax.clamp", args), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(("x", "y"), [*product([0.5, 2.0], [0.0, 1.0, 3.0])])
def test_mixed_derivative_of_a_power(x, y):
    """``d/dy (y x ** (y - 1)) = x ** (y - 1) (1 + y log x)``, also at an exponent of 0."""
    mixed = plugjax.grad(plugjax.grad(plugjax.lax.pow), 1)(x, y)
    np.testing.assert_allclose(mixed, x ** (y - 1) * (1 + y * np.log(x)), rtol=1e-5)


@pytest.mark.parametrize(("name", "expected"), [("hypot", [0.5, 0.5]), ("logaddexp", [0.5, 0.5])])
def test_equal_arguments_share_the_derivative(name, expected):
    found = plugjax.grad(getattr(plugjax.numpy, name), (0, 1))(0.0, 0.0)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(jax.grad(getattr(jax.numpy, name), (0, 1))(0.0, 0.0), expected)


@pytest.mark.parametrize(("x", "y"), [(np.inf, np.inf), (np.inf, 0.0), (0.0, -np.inf)])
def test_gradients_of_a_sum_of_exponentials_at_infinity(x, y):
    """For a sum that is infinite, or has one term, the gradient is not nan; JAX has (1, e) for infinity and 1."""
    found = plugjax.grad(plugjax.numpy.logaddexp, (0, 1))(x, y)
    np.testing.assert_array_equal(found, [1.0, float(x == y)])


def test_complex_sums_of_exponentials():
    z = np.array([1 + 1j, 2 - 1j, 0.5 + 3j, 2 + 2j], np.complex64)
    np.testing.assert_allclose(
        plugjax.lax.cumlogsumexp(z), jax.lax.cumlogsumexp(z), rtol=1e-5, atol=1e-6
    )


def test_sums_of_exponentials_have_second_derivatives_where_two_are_equal():
    x = np.zeros(4, np.float32)
    theirs = jax.jacfwd(jax.jacfwd(lambda x: jax.lax.cumlogsumexp(x, 0)))(x)
    ours = plugjax.jacfwd(plugjax.jacfwd(lambda x: plugjax.lax.cumlogsumexp(x, 0)))(x)
    np.testing.assert_allclose(ours, theirs, atol=1e-6)


@pytest.mark.parametrize("library", [plugjax, jax])
@pytest.mark.parametrize("wrt", [0, 1])
def test_nextafter_refuses_to_be_differentiated(library, wrt):
    with pytest.raises(NotImplementedError):
        library.grad(library.numpy.nextafter, wrt)(1.0, 2.0)


NUMBERS = [np.nan, np.inf, -np.inf, 0.0, 1.0]


@pytest.mark.parametrize("path", ["numpy.logaddexp", "numpy.logaddexp2"])
@pytest.mark.parametrize(
    ("x", "y"), [(x, y) for x, y in product(NUMBERS, NUMBERS) if x != x or y != y]
)
def test_derivatives_of_a_sum_of_exponentials_of_nan_are_nan(path, x, y):
    first = plugjax.grad(function(plugjax, path), (0, 1))
    second = plugjax.grad(lambda *xs: sum(first(*xs)), (0, 1))
    for found in (first(x, y), second(x, y)):
        np.testing.assert_array_equal(found, [np.nan, np.nan])


@pytest.mark.parametrize("name", ["softplus", "log_sigmoid"])
def test_derivatives_of_activations_at_nan_are_nan(on_backend, name):
    first = plugjax.grad(getattr(plugjax.nn, name))
    assert np.isnan(plugjax.jit(first)(np.nan))
    assert np.isnan(plugjax.grad(first)(np.nan))


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "logsumexp"])
@pytest.mark.parametrize("masked", [2.0, np.inf, -np.inf, np.nan, -1e30])
def test_what_is_masked_has_no_derivative(name, masked):
    mask = np.array([[True, True, False], [False, False, False], [False, True, True]])
    x = np.where(mask, np.float32([0.5, -1, 2]), np.float32(masked))

    def total(library, x):
        y = function(library, f"nn.{name}")(x, axis=1, where=mask)
        wanted = mask if y.ndim == 2 else mask.any(1)
        return library.numpy.sum(library.numpy.where(wanted, y * y, 0))

    ours = plugjax.grad(lambda x: total(plugjax, x))(x)
    np.testing.assert_array_equal(ours[~mask], 0)
    np.testing.assert_allclose(ours, jax.grad(lambda x: total(jax, x))(x), rtol=1e-4, atol=1e-6)


def test_derivatives_of_frexp_are_powers_of_two():
    x = np.float32([3, 0, -5, 0.1, 8, 1, 6e4, 1e-6, 3e38, np.inf, np.nan])
    ours, theirs = (
        library.jvp(library.numpy.frexp, (x,), (np.ones_like(x),))[1][0]
        for library in (plugjax, jax)
    )
    np.testing.assert_array_equal(ours, 2.0 ** -np.frexp(x)[1].astype(np.float32))
    ordinary = np.abs(x) < 1e5
    ordinary &= (x == 0) | (np.abs(x) > 1e-30)
    np.testing.assert_allclose(ours[ordinary], theirs[ordinary], rtol=1e-5)


@pytest.mark.spread(6)
@pytest.mark.parametrize("name", ["max", "min"])
@pytest.mark.parametrize("index", [0, np.array([0, 0]), np.array([0, 1])], ids=repr)
def test_derivatives_of_extrema_scattered_beside_nan(name, index):
    shape = np.shape(index)
    for x, u in product(product(NUMBERS, NUMBERS), product(NUMBERS, [0.5, np.nan])):
        x, u = np.float32(x), np.float32(u) if shape else np.float32(u[0])
        ours, theirs = (
            library.jacfwd(lambda x, u: getattr(x.at[index], name)(u), (0, 1))(
                *map(library.numpy.asarray, (x, u))
            )
            for library in (plugjax, jax)
        )
        for a, b in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", ["multiply", "divide", "power"])
@pytest.mark.parametrize("used", [False, True])
def test_gradient_of_an_update_at_a_traced_place(name, used):
    def total(x, u, i):
        y = getattr(x.at[i], name)(u)
        return y.sum() * used + 2 * u + x.sum()

    args = np.full((3, 2), 2, np.float32), np.float32(3), 1
    ours, theirs = (library.jit(library.grad(total, (0, 1)))(*args) for library in (plugjax, jax))
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


def test_stop_gradient_of_a_tree():
    found = plugjax.lax.stop_gradient({"a": np.ones(2), "b": (1.0, 2, None), "c": True})
    assert plugjax.tree.structure(found) == plugjax.tree.structure(
        {"a": 0, "b": (0, 0, None), "c": 0}
    )

    def total(x):
        return sum(plugjax.tree.leaves(plugjax.lax.stop_gradient({"a": x, "b": [x * x]}))) * x

    assert plugjax.grad(total)(2.0) == 6.0
    with pytest.raises(TypeError):
        plugjax.lax.stop_gradient({"a": "b"})
