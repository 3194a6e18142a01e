"""``jet`` with nested forward derivatives of JAX along the curve as oracle, and with JAX's ``jet`` where that has a rule."""

import math
from types import SimpleNamespace

import jax
import jax.dtypes
import jax.experimental.jet
import jax.scipy.special
import numpy as np
import pytest

import plugjax
import plugjax.numpy
import plugjax.scipy.special
from plugjax.experimental.jet import jet, taylor
from plugjax.extend import Primitive, RuleSet, abstract_eval, hookimpl, impl, jvp_rule, registry

OURS = SimpleNamespace(
    jax=plugjax, np=plugjax.numpy, lax=plugjax.lax, sp=plugjax.scipy.special, nn=plugjax.nn
)
THEIRS = SimpleNamespace(jax=jax, np=jax.numpy, lax=jax.lax, sp=jax.scipy.special, nn=jax.nn)
ORDER = 3


def curves(*points, order=ORDER):
    """Points and, for each, derivatives of a curve."""
    rng = np.random.default_rng(len(points))
    points = [np.asarray(x, np.float32) for x in points]
    return points, [
        [rng.normal(size=x.shape).astype(np.float32) for _ in range(order)] for x in points
    ]


def nested(f, points, series):
    """Value and derivatives along the curve, by nested derivatives of JAX."""
    order = len(series[0])

    def along(t):
        moved = [
            x + sum(t**k * c / math.factorial(k) for k, c in enumerate(terms, 1))
            for x, terms in zip(points, series, strict=True)
        ]
        return f(*moved)

    found, derivative = [], along
    for _ in range(order + 1):
        found.append(derivative)
        derivative = jax.jacfwd(derivative)
    with jax.enable_x64(True):
        return jax.jit(lambda t: [g(t) for g in found])(0.0)


def compare(found, wanted, tolerance=2e-4):
    value, series = found
    leaves, tree = plugjax.tree.flatten(value)
    columns = zip(*(jax.tree.leaves(w) for w in wanted), strict=True)
    for y, terms, (y_wanted, *wanted_terms) in zip(
        leaves, tree.flatten_up_to(series), columns, strict=True
    ):
        np.testing.assert_allclose(y, y_wanted, rtol=tolerance, atol=tolerance)
        assert len(terms) == len(wanted_terms)
        for term, w in zip(terms, wanted_terms, strict=True):
            assert term.shape == np.shape(w)
            assert term.dtype == y.dtype
            if w.dtype == jax.dtypes.float0:
                assert not term.any()
                continue
            np.testing.assert_allclose(
                term, w, rtol=tolerance, atol=tolerance * max(1, np.abs(w).max())
            )


X, Y = np.array([0.4, 0.7]), np.array([1.3, 0.6])
M, N = np.array([[1.5, 0.3], [0.2, 1.1]]), np.array([[0.5, -1.0], [2.0, 0.4]])
UNARY = (
    "abs", "acos", "asin", "asinh", "atan", "atanh", "bessel_i0e", "bessel_i1e", "cbrt", "cos", "cosh", "digamma", "erf", "erf_inv",
    "erfc", "exp", "exp2", "expm1", "floor", "lgamma", "log", "log1p", "logistic", "neg", "rsqrt", "sign", "sin", "sinh", "sqrt",
    "square", "tan", "tanh",
)  # fmt: skip
FUNCTIONS = {
    **{name: (lambda m, name=name: getattr(m.lax, name), X) for name in UNARY},
    "acosh": (lambda m: lambda x: m.lax.acosh(1 + x), X),
    "add": (lambda m: m.lax.add, X, Y),
    "sub": (lambda m: lambda x, y: x[:, None] - y, X, Y),
    "mul": (lambda m: m.lax.mul, X, Y),
    "mul of a constant": (lambda m: lambda x: 3 * x * np.float32([2, 1]), X),
    "div": (lambda m: m.lax.div, X, Y),
    "div by a constant": (lambda m: lambda x: x / 3, X),
    "a constant over": (lambda m: lambda x: 2 / x[0], X),
    "pow": (lambda m: m.lax.pow, X, Y),
    "pow of a constant": (lambda m: lambda x: x**2.5, X),
    "pow with a constant": (lambda m: lambda x: 2.5**x, X),
    **{f"integer_pow {n}": (lambda m, n=n: lambda x: m.lax.integer_pow(x, n), X) for n in (-3, 0, 1, 2, 5)},
    "atan2": (lambda m: m.lax.atan2, X, Y),
    "rem": (lambda m: lambda x, y: m.lax.rem(5 * x, y), X, Y),
    "max and min": (lambda m: lambda x, y: m.lax.max(x, y) + m.lax.min(x, 2 * y), X, Y),
    "clamp": (lambda m: lambda x: m.lax.clamp(np.float32(0.5), x, np.float32(2)), X),
    "igamma": (lambda m: lambda x: m.lax.igamma(np.float32(2), x), X),
    "dot": (lambda m: lambda x, y: x @ y @ x, M, N),
    "convolution": (lambda m: m.np.convolve, X, Y),
    "select": (lambda m: lambda x, y: m.np.where(x > 0.5, x * y, y**2), X, Y),
    "shapes": (lambda m: lambda x, y: m.np.stack([m.np.pad(x[0], 1), m.np.tile(y.T[::-1].ravel(), 1)]), M, N),
    "sums": (lambda m: lambda x: (m.np.cumsum(x**2), m.np.prod(x), m.np.cumprod(x, 1), x.mean()), M),
    "extremes": (lambda m: lambda x: (x.max(0), x.min(), m.np.sort(x, 0), m.lax.cummax(x), m.np.argmax(x)), M),
    "indices": (lambda m: lambda x, y: x.at[np.array([1, 0, 1])].add(m.np.stack([y[0], y[1] ** 2, y[0]]))[1], M, N),
    "slices": (lambda m: lambda x, y: m.lax.dynamic_update_slice(x * x, y[:1], (1, 0))[1], M, N),
    "windows": (lambda m: lambda x: m.lax.reduce_window(x * x, 0.0, m.lax.add, (2, 1), (1, 1), "VALID"), M),
    "logsumexp": (lambda m: lambda x: m.nn.logsumexp(x), M),
    "activations": (lambda m: lambda x: m.nn.gelu(x) + m.nn.softplus(x) * m.nn.softmax(x), M),
    "complex": (lambda m: lambda x: m.np.abs(m.np.exp(1j * x) + x) ** 2 + (x + 1j * x**2).imag, X),
    "fft": (lambda m: lambda x: m.np.abs(m.np.fft.fft(x**2)), X),
    "solve": (lambda m: lambda x, y: m.np.linalg.solve(x, y), M, N),
    "cholesky": (lambda m: lambda x: m.np.linalg.cholesky(x @ x.T), M),
    "det": (lambda m: m.np.linalg.det, M),
    "eigh": (lambda m: lambda x: m.np.linalg.eigvalsh(x + x.T), M),
    "stop_gradient": (lambda m: lambda x: x * m.lax.stop_gradient(x), X),
    "a constant": (lambda m: lambda x: (m.np.ones(2), x), X),
    "jit": (lambda m: lambda x: m.jax.jit(lambda x: (m.np.sin(x) * x, m.np.ones(1)))(x), X),
    "checkpoint": (lambda m: m.jax.checkpoint(lambda x: m.np.sin(x) * x), X),
    "vmap": (lambda m: m.jax.vmap(lambda x, y: m.np.exp(x) @ y), M, N),
    "grad": (lambda m: m.jax.grad(lambda x: (m.np.sin(x) * x**3).sum()), X),
    "cond": (
        lambda m: lambda x, y: m.lax.cond(x[0] > 0, lambda x: (x, y**2), lambda x: (m.np.sin(x), np.float32([1, 2])), x), X, Y,
    ),
    "switch": (lambda m: lambda x: m.lax.switch(1, [m.np.cos, lambda x: x**4], x), X),
    "scan": (
        lambda m: lambda x, y: m.lax.scan(lambda c, r: ((c[0] * x.sum() + r, c[1] + 1), m.np.sin(c[0]) * r), (np.float32(1), 0), y),
        X, Y,
    ),
    "scan with a constant carry": (
        lambda m: lambda x: m.lax.scan(lambda c, _: ((c[1], c[0] * x[0]), None), (np.float32(1), np.float32(2)), None, length=3)[0], X,
    ),
    "while": (
        lambda m: lambda x, y: m.lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * x + m.np.sin(c[1]), c[2]), (0, y, y[0]))[1:],
        X, Y,
    ),
    "fori_loop": (lambda m: lambda x: m.lax.fori_loop(0, 4, lambda i, c: c * x + i, np.float32([1, 1])), X),
    "while over constants": (
        lambda m: lambda x: m.lax.while_loop(lambda c: c[0] < x[1] * 4, lambda c: (c[0] + 1, c[1] * x), (np.float32(0), np.float32([1, 1])))[1],
        X,
    ),
}  # fmt: skip


@pytest.mark.spread(16)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives(name):
    make, *points = FUNCTIONS[name]
    points, series = curves(*points)
    compare(jet(make(OURS), points, series), nested(make(THEIRS), points, series))


ON_XLA = ("pow", "tanh", "extremes", "indices", "solve", "cond", "scan", "while")


@pytest.mark.spread(6)
@pytest.mark.parametrize(
    ("device", "name"),
    [*(("xla", name) for name in ON_XLA), ("iree", "activations"), ("iree", "scan")],
)
def test_derivatives_compiled(device, name):
    make, *points = FUNCTIONS[name]
    points, series = curves(*points)
    with plugjax.default_device(device):
        found = plugjax.jit(lambda points, series: jet(make(OURS), points, series))(points, series)
    compare(found, nested(make(THEIRS), points, series), 1e-3)


@pytest.mark.parametrize("scaled", [True, False])
@pytest.mark.parametrize(
    "name", ["exp", "log", "tanh", "div", "erf_inv", "atan2", "dot", "extremes"]
)
def test_is_jet_of_jax(name, scaled):
    make, *points = FUNCTIONS[name]
    if name == "extremes":
        make = lambda m: lambda x: (x.max(0), x.min())  # noqa: E731
    points, series = curves(*points)
    found = jet(make(OURS), points, series, factorial_scaled=scaled)
    wanted = jax.experimental.jet.jet(make(THEIRS), points, series, factorial_scaled=scaled)
    assert plugjax.tree.structure(found) == plugjax.tree.structure(
        plugjax.tree.map(lambda x: x, wanted)
    )
    for x, y in zip(plugjax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-5)


def test_high_order_costs_little():
    # The derivatives of exp(sin(x)) at 0.
    points, order = [np.float32(0)], 8
    series = [[np.float32(1), *[np.float32(0)] * (order - 1)]]
    _, found = jet(lambda x: plugjax.numpy.exp(plugjax.numpy.sin(x)), points, series)
    np.testing.assert_allclose(found, [1, 1, 0, -3, -8, -3, 56, 217], atol=1e-3)
    jaxpr = plugjax.make_jaxpr(lambda x: jet(plugjax.lax.lgamma, [x], series))(np.float32(2))
    assert len(jaxpr.jaxpr.eqns) < 2000


def test_ties():
    points, series = curves(np.ones(2), np.ones(2))

    def choices(m):
        return lambda x, y: (m.lax.max(x, y), (x * y).max())

    found = jet(choices(OURS), points, series)
    wanted = jax.experimental.jet.jet(choices(THEIRS), points, series)
    for x, y in zip(plugjax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-5)


def test_transformations_of_jet(backend):
    points, _ = curves(X)

    def second(m, jet):
        return lambda x: jet(lambda x: m.np.tanh(x) * x, (x,), ([m.np.ones_like(x), 0 * x],))[1][1]

    with plugjax.default_device(backend):
        ours = second(OURS, jet)
        found = plugjax.jit(plugjax.vmap(plugjax.value_and_grad(ours)))(points[0])
    wanted = jax.vmap(jax.value_and_grad(second(THEIRS, jax.experimental.jet.jet)))(points[0])
    np.testing.assert_allclose(found, wanted, rtol=1e-4)


def test_jet_of_jet():
    def second(x):
        return jet(plugjax.numpy.sin, (x,), ([1.0, 0.0],))[1][1]

    value, (first, _) = jet(second, (0.3,), ([1.0, 0.0],))
    np.testing.assert_allclose([value, first], [-math.sin(0.3), -math.cos(0.3)], rtol=1e-6)


def test_powers_at_zero():
    _, found = jet(lambda x: x**3.0 + x**4, (np.float32(0),), ([1.0, 0.0, 0.0, 0.0],))
    assert [float(x) for x in found] == [0, 0, 6, 24]


def test_custom_derivatives():
    @plugjax.custom_jvp
    def f(x):
        return x**3

    f.defjvp(lambda primals, tangents: (f(primals[0]), 5 * primals[0] ** 2 * tangents[0]))
    _, found = jet(f, (2.0,), ([1.0, 0.0],))
    assert [float(x) for x in found] == [20, 20]

    @plugjax.custom_vjp
    def g(x):
        return x**3

    g.defvjp(lambda x: (g(x), x), lambda x, bar: (0 * bar,))
    _, found = jet(g, (2.0,), ([1.0, 0.0],))
    assert [float(x) for x in found] == [12, 12]


cube_p = Primitive("cube")
_cube = RuleSet("tests.cube")
_cube.define(abstract_eval, cube_p)(lambda x: x)
_cube.define(impl, cube_p)(lambda x: x**3)
_cube.define(jvp_rule, cube_p)(
    lambda primals, tangents: (cube_p.bind(*primals), 3 * primals[0] ** 2 * tangents[0])
)


class _Plugin:
    def __init__(self, *more):
        self.rules = [_cube, *more]

    @hookimpl
    def plugjax_rules(self):
        return self.rules


def test_a_primitive_from_outside_needs_a_jvp_rule_alone():
    points, series = curves(X)
    with registry.use(registry.active().extended(_Plugin())):
        compare(jet(cube_p.bind, points, series), nested(lambda x: x**3, points, series))


def test_a_primitive_from_outside_may_have_a_rule():
    own = RuleSet("tests.cube series")
    own.define(taylor, cube_p)(lambda order, primals, series: (primals[0], series[0]))
    points, series = curves(X)
    with registry.use(registry.active().extended(_Plugin(own))):
        compare(jet(cube_p.bind, points, series), [points[0], *series[0]])


def test_integers_and_order_zero():
    value, (first,) = jet(plugjax.numpy.sin, (1,), ([2.0],))
    np.testing.assert_allclose([value, first], [math.sin(1), 2 * math.cos(1)], rtol=1e-6)
    assert jet(lambda x: 2 * x, (1.0,), ([],))[1] == []


@pytest.mark.parametrize(
    ("primals", "series", "words"),
    [
        ((1.0, 2.0), ([1.0], [1.0, 2.0]), "jet terms have inconsistent lengths"),
        (((1.0, 2.0),), ([1.0],), "primal value at position 0 is not an array"),
        ((1.0,), ([[1.0]],), "term 0 for argument 0 is not an array"),
    ],
)
def test_errors(primals, series, words):
    for transform in (jet, jax.experimental.jet.jet):
        with pytest.raises(ValueError, match=words):
            transform(lambda *xs: xs[0], primals, series)
