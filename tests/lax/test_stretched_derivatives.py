"""First and second derivatives by stretched operands, in every pattern, against JAX."""

import operator
from functools import reduce

import jax
import numpy as np
import pytest

import plugjax

RNG = np.random.default_rng(0)

# Scalars go with arrays of any rank, and axes of size 1 stretch; functions of jax.numpy align ranks
# too.
PAIRS = [((), (3,)), ((3,), ()), ((1,), (3,)), ((3,), (1,)), ((2, 1), (1, 3)), ((1, 1), ()), ((0,), (1,))]  # fmt: skip
RANKED_PAIRS = [*PAIRS, ((2, 3), (3,)), ((1,), (2, 1))]
TRIPLES = [((), (3,), ()), ((), (3,), (3,)), ((3,), (3,), ()), ((), (), ())]
RANKED_TRIPLES = [*TRIPLES, ((1,), (3,), ()), ((2, 1), (), (3,)), ((3,), (1,), (2, 1)), ((), (), (3,))]  # fmt: skip

LAX = "add sub mul div rem max min pow atan2 complex"
NUMPY = (
    "add subtract multiply divide power float_power arctan2 logaddexp logaddexp2 maximum minimum fmax fmin hypot "
    "copysign heaviside fmod remainder floor_divide linspace logspace geomspace"
)
OPERATORS = "add sub mul truediv pow mod floordiv"
SPECIAL = "xlogy xlog1py betaln rel_entr kl_div"
NN = "elu celu leaky_relu squareplus"


def _named(path):
    return lambda package: reduce(getattr, path.split("."), package)


def _case(name, patterns, function=None, wrt=None):
    """A function of a namespace, the shapes of its operands, and the operands to differentiate by (all)."""
    wrt = tuple(range(len(patterns[0]))) if wrt is None else wrt
    return pytest.param(function or _named(name), patterns, wrt, id=name)


CASES = [
    *[_case(f"lax.{n}", PAIRS) for n in LAX.split()],
    *[_case(f"numpy.{n}", RANKED_PAIRS) for n in NUMPY.split()],
    *[_case(f"operator.{n}", RANKED_PAIRS, lambda _, n=n: getattr(operator, n)) for n in OPERATORS.split()],
    *[_case(f"scipy.special.{n}", RANKED_PAIRS) for n in SPECIAL.split()],
    *[_case(f"nn.{n}", RANKED_PAIRS) for n in NN.split()],
    _case("scipy.special.polygamma", RANKED_PAIRS, lambda p: lambda n, x: p.scipy.special.polygamma(p.numpy.ceil(n).astype(int), x), (1,)),
    _case("lax.polygamma", PAIRS, wrt=(1,)),
    _case("lax.betainc", TRIPLES, wrt=(2,)),
    _case("lax.clamp", [((3,), (3,), (3,)), ((), (), ())]),
    _case("lax.clamp", TRIPLES[:3], wrt=(1,)),
    _case("lax.select", [((), (3,), (3,)), ((3,), (3,), (3,))], lambda p: lambda c, x, y: p.lax.select(c > 0.5, x, y)),
    _case("numpy.where", RANKED_TRIPLES, lambda p: lambda c, x, y: p.numpy.where(c > 0.5, x, y)),
    _case("integer base", RANKED_PAIRS, lambda p: lambda x, y: p.numpy.power(p.numpy.ceil(x).astype(int), y)),
    _case("integer exponent", RANKED_PAIRS, lambda p: lambda x, y: x ** p.numpy.ceil(y).astype(int)),
    *[_case(f"numpy.{n}", RANKED_TRIPLES) for n in ("clip",)],
    *[_case(f"scipy.stats.{n}", RANKED_TRIPLES) for n in ("norm.logpdf", "laplace.cdf", "cauchy.logpdf")],
]  # fmt: skip


def _operands(shapes):
    """Operands away from kinks; the last scalar is a Python number."""
    return [
        RNG.uniform(0.3, 0.95, shape).astype(np.float32)
        if shape or i < len(shapes) - 1
        else RNG.uniform(0.3, 0.95)
        for i, shape in enumerate(shapes)
    ]


def _derivatives(package, function, wrt):
    """A function of operands: tangents of the function, its gradient, and the gradient of that one."""
    jnp = package.numpy

    def weighted(y):
        y = jnp.real(y) + 2 * jnp.imag(y) if jnp.iscomplexobj(y) else jnp.asarray(y)
        return jnp.sum(y * jnp.arange(1, y.size + 1, dtype=np.float32).reshape(y.shape))

    def tangent(*xs):
        chosen = tuple(xs[i] for i in wrt)

        def partly(*ys):
            full = list(xs)
            for i, y in zip(wrt, ys, strict=True):
                full[i] = y
            return function(package)(*full)

        return package.jvp(partly, chosen, tuple(map(jnp.ones_like, chosen)))[1]

    first = package.grad(lambda *xs: weighted(function(package)(*xs)), wrt)
    second = package.grad(lambda *xs: sum(map(weighted, first(*xs))), wrt)
    return lambda *xs: (tangent(*xs), first(*xs), second(*xs))


@pytest.mark.spread(16)
@pytest.mark.parametrize(("function", "patterns", "wrt"), CASES)
def test_derivatives_by_stretched_operands_are_those_of_jax(function, patterns, wrt):
    rows = [_operands(shapes) for shapes in patterns]
    theirs = _derivatives(jax, function, wrt)
    ours = _derivatives(plugjax, function, wrt)
    expected = jax.jit(lambda rows: [theirs(*xs) for xs in rows])(rows)
    compiled = plugjax.jit(lambda rows: [ours(*xs) for xs in rows])(rows)
    eager = [ours(*xs) for xs in rows]
    for found in (compiled, eager):
        plugjax.tree.map(_assert_same, found, expected)


def _assert_same(ours, theirs):
    assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
    np.testing.assert_allclose(ours, theirs, rtol=2e-4, atol=2e-4)


def test_derivatives_by_stretched_bounds():
    """JAX refuses scalar bounds."""
    jnp = plugjax.numpy
    x = jnp.array([-2.0, 0.5, 3.0, 4.0])
    gradient = plugjax.grad(lambda *xs: jnp.sum(plugjax.lax.clamp(*xs) * x), (0, 1, 2))
    low, middle, high = gradient(0.0, x, 1.0)
    assert (low, high) == (-2.0, 7.0)
    np.testing.assert_array_equal(middle, [0.0, 0.5, 0.0, 0.0])


def test_gradient_of_a_power_whose_base_is_stretched(on_backend):
    jnp = plugjax.numpy
    gradient = plugjax.grad(lambda g: jnp.sum(g ** jnp.arange(3.0)))
    np.testing.assert_allclose(plugjax.jit(gradient)(1.5), 4.0, rtol=1e-6)
    np.testing.assert_allclose(gradient(1.5), 4.0, rtol=1e-6)
