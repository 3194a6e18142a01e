"""Small functions of values and shapes, against JAX."""

import jax
import ml_dtypes
import numpy as np
import pytest
from jax import lax as jlax

import plugjax
import plugjax.numpy as jnp
from plugjax import lax

# Bits are compared: see the root's conftest.
COMPARES_BITS = True

RNG = np.random.default_rng(0)
NUMBERS = np.concatenate(
    [
        RNG.normal(size=200) * 10.0 ** RNG.integers(-45, 38, 200),
        [0, -0.0, np.inf, -np.inf, np.nan, 65519, 65520, 1.5, 2.5, 2**-14, 2**-15],
    ]
).astype(np.float32)
FLOATS = [
    np.float32, np.float16, ml_dtypes.bfloat16, ml_dtypes.float8_e5m2, ml_dtypes.float8_e4m3fn,
]  # fmt: skip
FORMATS = [(5, 10), (8, 7), (4, 3), (2, 1), (1, 3), (8, 23), (11, 52), (5, 2), (8, 1), (4, 0)]


def same(found, wanted):
    found, wanted = plugjax.tree.leaves(found), jax.tree.leaves(wanted)
    for a, b in zip(found, wanted, strict=True):
        assert (a.shape, a.dtype, a.weak_type) == (b.shape, b.dtype, b.weak_type)
        a, b = np.asarray(a), np.asarray(b)
        if a.dtype.kind in "fV":
            a, b = (v.astype(np.float32) for v in (a, b))
        np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(np.signbit(a)[a == 0], np.signbit(b)[b == 0])


@pytest.mark.spread(2)
@pytest.mark.filterwarnings("ignore:overflow encountered")
@pytest.mark.parametrize("dtype", FLOATS, ids=lambda d: np.dtype(d).name)
def test_reduce_precision(dtype):
    def reduced(lax):
        return lambda x: [lax.reduce_precision(x, e, m) for e, m in FORMATS]

    with np.errstate(over="ignore"):
        x = NUMBERS.astype(dtype)
    wanted = jax.jit(reduced(jlax))(x)
    same(reduced(lax)(x), wanted)
    if dtype in (np.float32, np.float16):
        for backend in ("xla", "iree"):
            with plugjax.default_device(backend):
                same(plugjax.jit(reduced(lax))(x), wanted)


def test_reduce_precision_refuses_formats_that_do_not_exist():
    for bits in ((0, 3), (3, -1)):
        for module in (lax, jlax):
            with pytest.raises(ValueError, match="reduce_precision"):
                module.reduce_precision(1.0, *bits)


INTEGERS = [np.int8, np.uint8, np.int16, np.int32, np.uint32, np.int64, np.uint64]


def test_upper_half_of_a_product(backend):
    pairs = []
    for dtype in INTEGERS:
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        x, y = (RNG.integers(low, high, 100, dtype=dtype, endpoint=True) for _ in range(2))
        x[:3], y[1:4], x[5], y[5:7] = low, low, high, high
        pairs.append((x, y))
    with plugjax.enable_x64(True), plugjax.default_device(backend):
        found = plugjax.jit(lambda pairs: [lax.mulhi(*p) for p in pairs])(pairs)
        for (x, y), z in zip(pairs, found, strict=True):
            bits = 8 * x.dtype.itemsize
            exact = [int(a) * int(b) >> bits for a, b in zip(x, y, strict=True)]
            assert z.dtype == x.dtype
            np.testing.assert_array_equal(z, np.array(exact, object).astype(x.dtype))
    with pytest.raises(TypeError):
        lax.mulhi(1.0, 2.0)


def test_total_order_of_every_dtype():
    v = np.float32([0.0, -0.0, np.nan, 1, -np.nan, np.inf, -np.inf, -1])
    values = [v, v.astype(np.float16), v.astype(ml_dtypes.bfloat16), RNG.integers(0, 3, 8), v > 0]
    values = [np.asarray(x, np.int32) if x.dtype == np.int64 else x for x in values]
    pairs = [(np.repeat(x, 8), np.tile(x, 8)) for x in values]

    def compared(lax):
        primitives = (lax.eq_to_p, lax.lt_to_p, lax.le_to_p)
        return lambda pairs: [p.bind(*xs) for p in primitives for xs in pairs]

    wanted = jax.jit(compared(jlax))(pairs)
    same(compared(lax)(pairs), wanted)
    for backend in ("xla", "iree"):
        with plugjax.default_device(backend):
            same(plugjax.jit(compared(lax))(pairs), wanted)


ACCURATE = ["exp", "exp2", "expm1", "log", "log1p", "logistic", "tanh", "cos", "sin", "tan",
            "sqrt", "rsqrt", "cbrt"]  # fmt: skip


@pytest.mark.parametrize("name", ACCURATE)
def test_accuracy(name):
    x = np.float32([0.25, 0.75])
    function = getattr(lax, name)
    for accuracy in (None, lax.AccuracyMode.HIGHEST, lax.Tolerance(rtol=1e-3)):
        np.testing.assert_array_equal(function(x, accuracy=accuracy), function(x))
    for module in (lax, jlax):
        if name == "logistic":  # The accuracy is not checked.
            getattr(module, name)(x, accuracy="high")
            continue
        with pytest.raises(NotImplementedError):
            getattr(module, name)(x, accuracy="high")


def test_tolerances():
    for module in (lax, jlax):
        assert module.AccuracyMode.HIGHEST.value == 1
        assert module.Tolerance(1e-3, 0, 2).ulps == 2
        for wrong in ((-1.0,), ()):
            with pytest.raises(ValueError, match=r"olerance|At least one"):
                module.Tolerance(*wrong)


ROUNDED = np.float32([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 1.2])
X = np.arange(6, dtype=np.float32).reshape(2, 3)
I = np.array([[0, -1], [5, 1]])

VALUES = {
    "reciprocal": lambda lax: [lax.reciprocal(np.float32([2.0, 0.0])), lax.reciprocal(4.0)],
    "rounding": lambda lax: [
        lax.round(ROUNDED, lax.RoundingMethod.AWAY_FROM_ZERO),
        lax.round(ROUNDED, lax.RoundingMethod.TO_NEAREST_EVEN),
    ],
    "stage": lambda lax: [lax.stage(2), lax.stage(X)],
    "empty": lambda lax: [lax.full_like(lax.empty((2, 3), np.int8), 0)],
    "tile": lambda lax: [lax.tile(X, (2, 3)), lax.tile(np.int8(3), ())],
    "stack": lambda lax: [lax.stack([X, X + 1], a) for a in (0, 1, 2, -1)],
    "unstack": lambda lax: [lax.unstack(X, a) for a in (0, 1, -1)],
    "index_take": lambda lax: [
        lax.index_take(X, (I[0],), (1,)),
        lax.index_take(X, (I[:, 1],), (0,)),
        lax.index_take(X, (I[0], I[1]), (0, 1)),
    ],
    "broadcast_like": lambda lax: [lax.broadcast_like(np.float32(2), X)],
    "numbers of a convolution": lambda lax: [
        lax.conv_general_dilated(
            X.reshape(1, 2, 3, 1), X.reshape(2, 3, 1, 1), (1, 1), "SAME",
            dimension_numbers=lax.conv_dimension_numbers(
                (1, 2, 3, 1), (2, 3, 1, 1), ("NHWC", "HWIO", "NHWC")),
        )
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", VALUES)
def test_values(name):
    same(VALUES[name](lax), VALUES[name](jlax))


def test_values_compiled(backend):
    with plugjax.default_device(backend):
        found = plugjax.jit(lambda: [f(lax) for f in VALUES.values()])()
    for ours, f in zip(found, VALUES.values(), strict=True):
        for a, b in zip(plugjax.tree.leaves(ours), plugjax.tree.leaves(f(lax)), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-6)


def test_shapes_and_dtypes():
    for shapes in [((2, 1), (3,)), ((), (4,)), ((5,),), ((0, 1), (1, 3))]:
        assert lax.broadcast_shapes(*shapes) == jlax.broadcast_shapes(*shapes)
    assert lax.shape_as_value((2, 3)).tolist() == [2, 3]
    for x in (1, 2.5, np.float64(1), np.int8(1), "bfloat16", np.zeros(2, np.int64), float):
        assert lax.dtype(x) == jlax.dtype(x)


WRONG = {
    "shapes that do not broadcast": lambda lax: lax.broadcast_shapes((2,), (3,)),
    "stack of nothing": lambda lax: lax.stack([]),
    "stack of different shapes": lambda lax: lax.stack([X, X[:1]]),
    "unstack of a scalar": lambda lax: lax.unstack(np.float32(1)),
    "too few repetitions": lambda lax: lax.tile(X, (2,)),
    "no dtype": lambda lax: lax.dtype(object()),
    "dtype of None": lambda lax: lax.dtype(None),
}


@pytest.mark.parametrize("name", WRONG)
def test_errors(name):
    with pytest.raises(Exception) as theirs:
        WRONG[name](jlax)
    with pytest.raises(Exception) as ours:
        WRONG[name](lax)
    assert isinstance(ours.value, theirs.type), (ours.value, theirs.value)


def test_derivatives_through_joining():
    w = np.arange(12, dtype=np.float32).reshape(2, 2, 3)

    def f(lax, x):
        a, b = lax.unstack(x, 0)
        return (lax.stack([x, lax.tile(x, (1, 1))], 0) * w).sum() + (a * b * b).sum()

    same(plugjax.grad(lambda x: f(lax, x))(X), jax.grad(lambda x: f(jlax, x))(X))
    assert jnp.isfinite(plugjax.hessian(lambda x: f(lax, x))(X)).all()
