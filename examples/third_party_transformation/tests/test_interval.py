"""Enclosures against samples that NumPy computes in float64; ``PLUGJAX_BACKEND`` chooses the backend."""

import math

import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp
from plugjax import lax
from plugjax.extend.errors import MissingRuleError
from plugjax_interval import Interval, interval

erf = np.vectorize(math.erf)


def softmax(np, x):
    e = np.exp(x - x.max())
    return e / e.sum()


def polynomial(np, x):
    return 1 + x * (2 - x * (3 + x))


# Function of the module (plugjax.numpy or NumPy) and x, and the range of the drawn boxes.
FUNCTIONS = {
    "add": (lambda np, x: x + x[::-1], -3, 3),
    "sub": (lambda np, x: x - 2 * x[::-1], -3, 3),
    "mul": (lambda np, x: x * x[::-1], -3, 3),
    "mul by itself": (lambda np, x: x * x, -3, 3),
    "div": (lambda np, x: x[::-1] / x, -3, 3),
    "neg": (lambda np, x: -x, -3, 3),
    "abs": (lambda np, x: abs(x), -3, 3),
    "max": (lambda np, x: np.maximum(x, x[::-1]), -3, 3),
    "min": (lambda np, x: np.minimum(x, 0.5), -3, 3),
    "clip": (lambda np, x: np.clip(x, -1, x[::-1] + 4), -3, 3),
    "exp": (lambda np, x: np.exp(x), -90, 80),
    "expm1": (lambda np, x: np.expm1(x), -3, 3),
    "log": (lambda np, x: np.log(x), 1e-3, 50),
    "log1p": (lambda np, x: np.log1p(x), -0.99, 50),
    "sqrt": (lambda np, x: np.sqrt(x), 0, 50),
    "cbrt": (lambda np, x: np.cbrt(x), -9, 9),
    "tanh": (lambda np, x: np.tanh(x), -9, 9),
    "atan": (lambda np, x: np.arctan(x), -9, 9),
    "asin": (lambda np, x: np.arcsin(x), -1, 1),
    "acos": (lambda np, x: np.arccos(x), -1, 1),
    "sinh": (lambda np, x: np.sinh(x), -9, 9),
    "cosh": (lambda np, x: np.cosh(x), -9, 9),
    "atanh": (lambda np, x: np.arctanh(x), -0.99, 0.99),
    "sin": (lambda np, x: np.sin(x), -20, 20),
    "cos": (lambda np, x: np.cos(x), -20, 20),
    "tan": (lambda np, x: np.tan(x), -5, 5),
    "square": (lambda np, x: np.square(x), -3, 3),
    "cube": (lambda np, x: x**3, -3, 3),
    "fourth power": (lambda np, x: x**4, -3, 3),
    "inverse cube": (lambda np, x: x**-3, -3, 3),
    "pow": (lambda np, x: np.power(x, x[::-1] - 2), 0.01, 4),
    "floor": (lambda np, x: np.floor(x), -3, 3),
    "sign": (lambda np, x: np.sign(x), -3, 3),
    "where": (lambda np, x: np.where(x > x[::-1], x, 5 - x), -3, 3),
    "where equal": (lambda np, x: np.where(np.floor(x) == 1, x, -x), -3, 3),
    "where either": (lambda np, x: np.where((x < -1) | ~(x <= 1), x, 0 * x + 7), -3, 3),
    "isfinite": (lambda np, x: np.where(np.isfinite(x), x, 0 * x), -3, 3),
    "sum": (lambda np, x: np.sum(x * 1000), -3, 3),
    "mean": (lambda np, x: np.mean(x), -3, 3),
    "cumsum": (lambda np, x: np.cumsum(x), -3, 3),
    "reduce_max": (lambda np, x: np.max(x), -3, 3),
    "reduce_min": (lambda np, x: np.min(x), -3, 3),
    "dot": (lambda np, x: x @ x[::-1], -3, 3),
    "matmul": (lambda np, x: np.reshape(x, (2, 4)) @ np.arange(-4, 4).reshape(4, 2), -3, 3),
    "matmul of intervals": (lambda np, x: np.reshape(x, (2, 4)) @ np.reshape(x, (4, 2)), -3, 3),
    "structure": (
        lambda np, x: np.concatenate([np.reshape(x, (2, 4)).T[1:3, ::-1], x[None, :2]]).squeeze(),
        -3, 3,
    ),
    "integers": (lambda np, x: (x * 10).astype("int32") * 2 - 3, -3, 3),
    "indices": (lambda np, x: x[np.array([3, 1, 1])], -3, 3),
    "softmax": (softmax, -3, 3),
    "polynomial": (polynomial, -3, 3),
}  # fmt: skip
SINGLE = (
    "exp",
    "expm1",
    "log",
    "log1p",
    "sqrt",
    "tanh",
    "atan",
    "sin",
    "cos",
    "cube",
    "abs",
    "neg",
    "sum",
)


def boxes(low, high, count=6, seed=0):
    """Boxes of all sizes, in float32."""
    rng = np.random.default_rng(seed)
    for i in range(count):
        ends = rng.uniform(low, high, (2, 8))
        ends[1] = ends[0] + (ends[1] - ends[0]) * 10.0 ** -(i % 4)
        yield np.sort(ends, 0).astype(np.float32)


def samples(lower, upper, count=40, seed=1):
    """Points of a box, corners among them, exact in float64."""
    rng = np.random.default_rng(seed)
    yield lower.astype(np.float64)
    yield upper.astype(np.float64)
    for _ in range(count):
        share = rng.choice([0.0, 1.0, rng.uniform()], lower.shape)
        yield lower + share * (upper.astype(np.float64) - lower)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_encloses(name):
    function, low, high = FUNCTIONS[name]
    enclose = plugjax.jit(interval(lambda x: function(jnp, x)))
    for lower, upper in boxes(low, high):
        found = enclose(Interval(lower, upper))
        least, greatest = np.asarray(found.lower), np.asarray(found.upper)
        values = [np.asarray(function(np, x)) for x in samples(lower, upper)]
        assert least.shape == greatest.shape == values[0].shape
        assert (least <= np.min(values, 0)).all()
        assert (np.max(values, 0) <= greatest).all()
        if name in SINGLE:
            exact = [
                function(np, np.linspace(lower, upper, 4001, dtype=np.float64)[:, i])
                for i in range(8)
            ]
            if name != "sum":
                width = np.array([v.max() - v.min() for v in exact])
                size = np.maximum(abs(least), abs(greatest))
                assert (greatest - least <= width * 1.001 + 3e-5 * size + 1e-30).all()


def test_where_functions_are_not_defined_nothing_is_claimed():
    wide = Interval(np.float32(-1), np.float32(4))
    assert interval(jnp.sqrt)(wide).lower == 0
    assert interval(jnp.log)(wide).lower == -np.inf
    assert interval(lambda x: 1 / x)(wide) == (-np.inf, np.inf)
    assert interval(jnp.tan)(wide) == (-np.inf, np.inf)
    assert interval(lambda x: x**0.5)(wide) == (-np.inf, np.inf)


def test_overflow_and_infinite_bounds():
    top = np.finfo(np.float32).max
    beyond = interval(lambda x: x * 4)(Interval(np.float32(top / 2), top))
    assert beyond.lower <= top
    assert beyond.upper == np.inf
    unbounded = Interval(np.float32(0), np.float32(np.inf))
    assert interval(lambda x: x * 0.0)(unbounded).upper < 1e-30
    assert interval(jnp.sin)(unbounded) == (-1, 1)
    assert interval(lambda x: x - x)(unbounded) == (-np.inf, np.inf)
    difference = interval(jnp.dot)(
        Interval(-jnp.ones(2) * np.inf, jnp.ones(2)), jnp.array([1.0, 0.0])
    )
    assert difference.lower == -np.inf


def contains(found, value):
    return np.all(np.asarray(found.lower) <= value) and np.all(value <= np.asarray(found.upper))


LOWER = np.array([-0.5, 0.5, 1.0], np.float32)
UPPER = np.array([0.5, 0.75, 1.5], np.float32)


def f(x):
    return jnp.sin(x) * x + jnp.tanh(x[::-1])


COMPOSED = {
    "jit outside": lambda: plugjax.jit(interval(f)),
    "jit inside": lambda: interval(plugjax.jit(f)),
    "vmap outside": lambda: lambda b: plugjax.vmap(interval(lambda x: f(x[None])[0]))(b),
    "vmap inside": lambda: interval(lambda x: plugjax.vmap(lambda y: f(y[None])[0])(x)),
    "grad inside": lambda: interval(plugjax.grad(lambda x: f(x).sum())),
    "jvp inside": lambda: interval(lambda x: plugjax.jvp(f, (x,), (x,))[1]),
    "jacobian inside": lambda: interval(plugjax.jacfwd(f)),
    "hessian inside": lambda: plugjax.jit(interval(plugjax.jacfwd(plugjax.grad(lambda x: f(x).sum())))),
    "fori_loop": lambda: interval(lambda x: lax.fori_loop(0, 3, lambda i, y: f(y) / 2, x)),
    "scan": lambda: plugjax.jit(interval(lambda x: lax.scan(lambda c, a: (c * a + 1, c), 1.0, x))),
    "scan with a point": lambda: interval(
        lambda x: lax.scan(lambda c, a: ((c[0] + 1, c[1] * a), c[1]), (0, x[0]), x)
    ),
    "while": lambda: plugjax.jit(interval(lambda x: lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, f(s[1])), (0, x)))),
    "while by value": lambda: interval(lambda x: lax.while_loop(lambda y: y[0] < 10, lambda y: y * 2 + 1, x)),
    "cond": lambda: interval(lambda x: lax.cond(jnp.sin(1.0) > 0, f, lambda y: -y, x)),
    "cond by value": lambda: plugjax.jit(interval(lambda x: lax.cond(x[0] > 0, f, lambda y: 3 - y, x))),
    "switch by value": lambda: interval(
        lambda x: lax.switch((x[2] * 2).astype("int32") - 1, [f, jnp.cos, lambda y: 9 * y, jnp.exp], x)
    ),
    "vmap of a loop": lambda: interval(plugjax.vmap(lambda y: lax.fori_loop(0, 3, lambda i, s: s * y + 1, y))),
}  # fmt: skip

PLAIN = {
    "jit outside": f,
    "jit inside": f,
    "vmap outside": lambda x: jnp.stack([f(y[None])[0] for y in x]),
    "vmap inside": lambda x: jnp.stack([f(y[None])[0] for y in x]),
    "grad inside": plugjax.grad(lambda x: f(x).sum()),
    "jvp inside": lambda x: plugjax.jvp(f, (x,), (x,))[1],
    "jacobian inside": plugjax.jacfwd(f),
    "hessian inside": plugjax.jacfwd(plugjax.grad(lambda x: f(x).sum())),
    "fori_loop": lambda x: lax.fori_loop(0, 3, lambda i, y: f(y) / 2, x),
    "scan": lambda x: lax.scan(lambda c, a: (c * a + 1, c), 1.0, x),
    "scan with a point": lambda x: lax.scan(
        lambda c, a: ((c[0] + 1, c[1] * a), c[1]), (0, x[0]), x
    ),
    "while": lambda x: lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, f(s[1])), (0, x)),
    "while by value": lambda x: lax.while_loop(lambda y: y[0] < 10, lambda y: y * 2 + 1, x),
    "cond": f,
    "cond by value": lambda x: f(x) if x[0] > 0 else 3 - x,
    "switch by value": lambda x: [f, jnp.cos, lambda y: 9 * y, jnp.exp][
        min(max(int(x[2] * 2) - 1, 0), 3)
    ](x),
    "vmap of a loop": lambda x: x**4 + x**2 + x + 1,
}


@pytest.mark.parametrize("name", COMPOSED)
def test_composes(name):
    found = plugjax.tree.leaves(
        COMPOSED[name]()(Interval(LOWER, UPPER)), is_leaf=lambda x: type(x) is Interval
    )
    assert all(np.isfinite(bound).all() for pair in found for bound in pair)
    for x in samples(LOWER, UPPER, count=12):
        # Always on NumPy: elsewhere a loop would be compiled anew for every
        # sample.
        with plugjax.default_device("numpy"):
            values = plugjax.tree.leaves(PLAIN[name](jnp.asarray(x, np.float32)))
        assert [v.shape for v in values] == [pair.lower.shape for pair in found]
        for pair, value in zip(found, values, strict=True):
            slack = 1e-5 * np.abs(value) + 1e-6  # The sample is computed in float32.
            assert contains(Interval(pair.lower - slack, pair.upper + slack), np.asarray(value))


def test_bounds_have_derivatives():
    """The derivative of the upper bound by the upper end is that of the function, where it increases."""
    top = lambda upper: interval(lambda x: jnp.exp(x) * 2)(Interval(np.float32(0), upper)).upper  # noqa: E731
    np.testing.assert_allclose(plugjax.grad(top)(1.0), 2 * np.e, rtol=1e-5)
    np.testing.assert_allclose(
        plugjax.jit(plugjax.vmap(plugjax.grad(top)))(jnp.array([0.5, 1.0])),
        2 * np.exp([0.5, 1.0]),
        rtol=1e-5,
    )


def test_pytrees_and_points():
    found = interval(lambda d, k: {"sum": d["a"] + d["b"], "point": k * 2})(
        {"a": Interval(jnp.zeros(2), jnp.ones(2)), "b": jnp.ones(2)}, k=3
    )
    assert contains(found["sum"], np.array([1.0, 2.0]))
    assert found["point"] == Interval(6, 6)


def test_equal_bounds_of_two_arguments_do_not_make_them_one():
    box = Interval(np.float32(-1), np.float32(1))
    assert interval(lambda x, y: x * y)(box, box).lower <= -1
    assert interval(lambda x: x * x)(box).lower == 0
    assert interval(plugjax.jit(lambda x, y: x * y))(box, box).lower <= -1
    assert interval(plugjax.jit(lambda x: x * x))(box).lower == 0


def test_errors():
    box = Interval(jnp.zeros(2), jnp.ones(2))
    with pytest.raises(
        MissingRuleError,
        match=r"no interval rule for primitive 'sort'(.|\n)*@rules.define\(interval, sort_p\)",
    ):
        interval(jnp.sort)(box)
    with pytest.raises(MissingRuleError, match="no interval rule for primitive 'sort'"):
        interval(plugjax.jit(jnp.sort))(box)
    with pytest.raises(TypeError, match="one shape"):
        interval(jnp.sin)(Interval(jnp.zeros(2), jnp.ones(3)))
    with pytest.raises(TypeError, match="complex"):
        interval(jnp.sin)(Interval(1j, 2j))
    with pytest.raises(TypeError, match="indices of dynamic_slice"):
        interval(lambda i: lax.dynamic_slice(jnp.arange(5), (i,), (2,)))(Interval(1, 3))
    with pytest.raises(TypeError, match="integer division"):
        interval(lambda i: lax.div(i, 2))(Interval(1, 3))
