"""Every lowering for IREE against the NumPy kernels, over dtypes; many operations per module."""

import ml_dtypes
import numpy as np
import pytest
import scipy.special

import plugjax
import plugjax.numpy as jnp
from plugjax import lax
from plugjax.core import pytree
from plugjax.core.array import as_array
from plugjax.lax import GatherDimensionNumbers as Gather, ScatterDimensionNumbers as Scatter
from plugjax.lax.random_bits import multiply_add

# Bits are compared: see the root's conftest.
COMPARES_BITS = True

BF16 = np.dtype(ml_dtypes.bfloat16)
TOLERANCE = {"float16": 5e-3, "bfloat16": 5e-2, "float32": 1e-5, "float64": 1e-12, "complex64": 5e-5, "complex128": 1e-11}  # fmt: skip
WIDE = ("float64", "int64", "uint64", "complex128")


def sample(dtype, shape, low=-2.0, high=2.0, seed=0):
    rng, dtype = np.random.default_rng([seed, *shape]), np.dtype(dtype)
    if dtype.kind == "b":
        return rng.uniform(size=shape) < 0.5
    if dtype.kind in "iu":
        return rng.integers(-40 if dtype.kind == "i" else 0, 41, shape).astype(dtype)
    values = rng.uniform(low, high, shape)
    if dtype.kind == "c":
        values = values + 1j * rng.uniform(low, high, shape)
    return values.astype(dtype)


def check(cases, dtype, target="iree:local:0"):
    """One compiled program with all cases, each against the eager kernels."""
    dtype = np.dtype(dtype)

    def program(operands):
        return [f(*xs) for (_, f, *_), xs in zip(cases, operands, strict=True)]

    with plugjax.enable_x64(dtype.name in WIDE):
        with plugjax.default_device(target):
            operands = [[as_array(x) for x in xs] for _, _, *xs in cases]
            found = [
                list(map(np.asarray, pytree.leaves(y))) for y in plugjax.jit(program)(operands)
            ]
        with plugjax.default_device("numpy"):
            for (name, f, *xs), results in zip(cases, found, strict=True):
                expected = pytree.leaves(f(*map(as_array, xs)))
                for y, e in zip(results, map(np.asarray, expected), strict=True):
                    assert (y.shape, y.dtype) == (e.shape, e.dtype), name
                    same(y, e, TOLERANCE.get(dtype.name, 0), f"{name} of {dtype.name}")


def same(found, expected, tolerance, name):
    if expected.dtype.kind in "biu":
        np.testing.assert_array_equal(found, expected, name)
        return
    wide = np.complex128 if expected.dtype.kind == "c" else np.float64
    found, expected = found.astype(wide), expected.astype(wide)
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance, err_msg=name)


SHAPE = (3, 5)
# Functions of one operand, with the interval that it is from.
REAL = [
    (lax.neg, -2, 2), (lax.abs, -2, 2), (lax.sign, -2, 2), (lax.floor, -5, 5), (lax.ceil, -5, 5),
    (lax.round, -5, 5), (lax.square, -2, 2), (lax.exp, -3, 3), (lax.exp2, -3, 3),
    (lax.expm1, -1, 1), (lax.log, 0.2, 3), (lax.log1p, -0.5, 3), (lax.sqrt, 0.2, 3),
    (lax.rsqrt, 0.5, 3), (lax.cbrt, -2, 3), (lax.logistic, -5, 5), (lax.sin, -9, 9),
    (lax.cos, -9, 9), (lax.tan, -1, 1), (lax.asin, -0.8, 0.8), (lax.acos, -0.8, 0.8),
    (lax.atan, -3, 3), (lax.sinh, -2, 2), (lax.cosh, -2, 2), (lax.tanh, -2, 2),
    (lax.asinh, -2, 2), (lax.acosh, 1.5, 3), (lax.atanh, -0.8, 0.8), (lax.erf, -2, 2),
    (lax.erfc, -2, 2), (lax.erf_inv, -0.9, 0.9), (lax.is_finite, -2, 2),
]  # fmt: skip
COMPLEX = [
    lax.neg, lax.abs, lax.sign, lax.square, lax.exp, lax.expm1, lax.log, lax.log1p, lax.sqrt,
    lax.rsqrt, lax.logistic, lax.sin, lax.cos, lax.tan, lax.asin, lax.acos, lax.atan, lax.sinh,
    lax.cosh, lax.tanh, lax.asinh, lax.acosh, lax.atanh, lax.real, lax.imag, lax.conj,
]  # fmt: skip
COMPARISONS = [lax.eq, lax.ne, lax.lt, lax.le, lax.gt, lax.ge]
ARITHMETIC = [lax.add, lax.sub, lax.mul, lax.div, lax.rem, lax.max, lax.min]
BITS = [lax.bitwise_and, lax.bitwise_or, lax.bitwise_xor]
SHIFTS = [lax.shift_left, lax.shift_right_logical, lax.shift_right_arithmetic]


def elementwise(dtype):
    dtype = np.dtype(dtype)
    kind = dtype.kind
    pair = [sample(dtype, SHAPE, 0.5, 2), sample(dtype, SHAPE, 0.5, 2, seed=1)]
    if kind == "c":
        unary = [(f, sample(dtype, SHAPE, 0.2, 0.9)) for f in COMPLEX]
        binary = [lax.add, lax.sub, lax.mul, lax.div, lax.pow, lax.eq, lax.ne]
    elif kind == "b":
        unary, binary = [(lax.bitwise_not, pair[0])], [*BITS, *COMPARISONS, lax.max, lax.min]
    elif kind in "iu":
        names = [lax.neg, lax.sign, lax.square, lax.bitwise_not, lax.clz, lax.population_count]
        if kind == "i":
            names.append(lax.abs)
        unary = [(f, pair[0]) for f in names]
        binary = [*ARITHMETIC, *COMPARISONS, *BITS]
    else:
        unary = [(f, sample(dtype, SHAPE, low, high)) for f, low, high in REAL]
        binary = [*ARITHMETIC, *COMPARISONS, lax.pow, lax.atan2, lax.nextafter]
    cases = [(f.__name__, f, x) for f, x in unary] + [(f.__name__, f, *pair) for f in binary]
    if kind in "iu":
        by = (np.arange(15) * 3 % (9 * dtype.itemsize)).reshape(SHAPE).astype(dtype)
        cases += [(f.__name__, f, pair[0], by) for f in SHIFTS]
    cases.append(("select", lax.select_n, sample(bool, SHAPE), *pair))
    return cases


@pytest.mark.spread(6)
@pytest.mark.parametrize(
    "dtype", ["float16", BF16, "float64", "complex64", "int8", "uint8", "uint32", "int64", "bool"]
)
def test_elementwise(dtype):
    check(elementwise(dtype), dtype)


def structural(dtype):
    dtype = np.dtype(dtype)
    x, one = sample(dtype, SHAPE), np.asarray(1).astype(dtype)
    rows, empty = sample(dtype, (6, 4)), np.zeros((0, 4), dtype)
    cases = [
        ("transpose", lambda x: lax.transpose(x, (1, 0)), x),
        ("rev", lambda x: lax.rev(x, (0, 1)), x),
        ("concatenate", lambda x: lax.concatenate([x, x], 1), x),
        ("pad", lambda x, p: lax.pad(x, p, ((1, -1, 1), (-1, 2, 0))), x, one),
        ("split", lambda x: lax.split(x, [2, 3], 1), x),
        ("dynamic_slice", lambda x: lax.dynamic_slice(x, (np.int32(5), np.int32(-1)), (2, 2)), x),
        ("rev of nothing", lambda x: lax.rev(x, (0,)), empty),
        ("concatenate nothing", lambda x, y: lax.concatenate([x, y], 0), empty, rows),
        *indexing(dtype, rows),
    ]
    if dtype.kind != "b":
        cases += [
            ("reduce_sum", lambda x: lax.reduce_sum(x, (0,)), x),
            ("reduce_prod", lambda x: lax.reduce_prod(x, (1,)), x),
            ("cumsum", lambda x: lax.cumsum(x, 1), x),
            ("cumprod", lambda x: lax.cumprod(x, 0, reverse=True), x),
            ("dot", lambda x: lax.dot_general(x, x, (((1,), (1,)), ((), ()))), x),
        ]
    if dtype.kind not in "bc":
        ties = np.array([[1, 0, 1, 1, 0], [0, 0, 0, 1, 1]]).astype(dtype)
        cases += [
            ("reduce_max", lambda x: lax.reduce_max(x, (0,)), x),
            ("reduce_min of nothing", lambda x: lax.reduce_min(x, (0,)), empty),
            ("argmax", lambda x: lax.argmax(x, 1, np.int32), ties),
            ("argmin", lambda x: lax.argmin(x, 1, np.int32), ties),
            ("cummax", lambda x: lax.cummax(x, 1), x),
            ("cummin", lambda x: lax.cummin(x, 1, reverse=True), x),
            ("top_k", lambda x: lax.top_k(x, 3), ties),
        ]
    return cases


INDICES = np.array([[0], [9], [-3], [0], [2]], np.int32)
PLACES = np.array([[0, 0], [7, 1], [2, 9], [-1, -1], [5, 3]], np.int32)


def indexing(dtype, rows):
    """Windows of every kind, in and out of bounds, for every mode."""
    gathers = [
        (Gather((1,), (0,), (0,)), (1, 4), INDICES),
        (Gather((1, 2), (), (0,)), (2, 3), INDICES),
        (Gather((), (0, 1), (0, 1)), (1, 1), PLACES),
        (Gather((1,), (0,), (0,)), (1, 4), np.array([[200], [3]], np.uint8)),
    ]
    scatters = [
        (Scatter((1,), (0,), (0,)), INDICES, (5, 4)),
        (Scatter((0,), (1,), (1,)), INDICES[:3], (6, 3)),
        (Scatter((), (0, 1), (0, 1)), PLACES, (5,)),
        (Scatter((1, 2), (), (0,)), INDICES[[1, 4]], (2, 2, 3)),
        (Scatter((0, 1), (), (0, 1)), np.array([1, 9], np.int32), (2, 2)),
        (Scatter((1,), (0,), (0,)), INDICES[[1, 2]], (2, 4)),
    ]
    functions = [lax.scatter]
    if dtype.kind != "b":
        functions.append(lax.scatter_add)
    if dtype.kind == "f":
        functions.append(lax.scatter_mul)
    if dtype.kind in "iu":
        functions += [lax.scatter_min, lax.scatter_max]
    cases = []
    for mode in ("clip", "fill"):
        for numbers, sizes, indices in gathers:
            keywords = {"dimension_numbers": numbers, "slice_sizes": sizes, "mode": mode}
            cases.append(("gather", lambda x, i, k=keywords: lax.gather(x, i, **k), rows, indices))
        for f in functions:
            for numbers, indices, shape in scatters:
                cases.append((
                    f"{f.__name__} {mode} {numbers}",
                    lambda x, i, u, f=f, n=numbers, m=mode: f(x, i, u, n, mode=m),
                    rows, indices, sample(dtype, shape, seed=3),
                ))  # fmt: skip
    return cases


@pytest.mark.spread(2)
@pytest.mark.parametrize("dtype", ["float32", "uint8", "bool", "complex64"])
def test_structural(dtype):
    check(structural(dtype), dtype)


def test_scatter_on_a_pool_of_threads():
    """Rows that come several times are added one after the other, or not at all."""
    x, updates = sample("int32", (50, 64)), sample("int32", (4000, 64), seed=1)
    rows = np.random.default_rng(0).integers(-5, 60, (4000, 1)).astype(np.int32)
    numbers = Scatter((1,), (0,), (0,))
    cases = [
        ("add", lambda x, i, u: lax.scatter_add(x, i, u, numbers, mode="fill"), x, rows, updates),
        ("set", lambda x, i, u: lax.scatter(x, i, u, numbers, mode="fill"), x, rows, updates),
    ]
    check(cases, "int32", "iree:task:0")


def test_scatter_of_which_all_is_dropped():
    x, rows = sample("float32", (6, 4)), np.array([[6], [-1]], np.int32)
    drop = lambda x, i, u: lax.scatter(x, i, u, Scatter((1,), (0,), (0,)), mode="fill")  # noqa: E731
    check([("set", drop, x, rows, np.ones((2, 4), np.float32))], "float32")


def test_cube_root_of_float64():
    x = np.array([0.0, -0.0, 8.0, -27.0, 1e300, -1e-300, 5e-324, np.inf, -np.inf, np.nan])
    check([("cbrt", lax.cbrt, x)], "float64")


def test_cube_roots_of_subnormal_numbers_are_those_of_zeros():
    with plugjax.enable_x64(True), plugjax.default_device("iree"):
        roots = plugjax.jit(lax.cbrt)(np.array([5e-324, -1e-310, 2.2e-308]))
    np.testing.assert_array_equal(roots, np.zeros(3))


def ordered(x):
    return lax.sort((x, lax.broadcasted_iota(np.int32, x.shape, 0)), dimension=0, num_keys=1)


@pytest.mark.spread(2)
@pytest.mark.parametrize("fallback", ["silent", "error"], ids=["kernel", "network"])
def test_sort_is_stable(fallback):
    """Few elements by IREE's sort, many by the host's kernel, or by the network where none may run."""
    odd = np.array([0.0, -0.0, np.nan, -0.0, 0.0, -np.inf, np.inf, -np.nan, 1.0] * 20, np.float32)
    cases = [
        ("odd values", ordered, odd),
        ("odd values, few", ordered, odd[:9]),
        ("top_k", lambda x: lax.top_k(x, 7), odd),
        ("top_k, few", lambda x: lax.top_k(x, 7), odd[:9]),
        (
            "two keys",
            lambda x, y: lax.sort((x, y), 0, num_keys=2),
            np.tile(odd, 2) > 0,
            np.tile(odd, 2),
        ),
    ]
    for dtype in ("float16", "uint8", "complex64"):
        x = sample(dtype, (140, 3), -2, 2)
        if dtype in ("float16", "complex64"):
            x = np.round(x)
        cases += [(f"{dtype} many", ordered, x), (f"{dtype} few", ordered, x[:20])]
    before = plugjax.config.read("fallback")
    plugjax.config.update("fallback", fallback)
    try:
        check(cases, "float32")
    finally:
        plugjax.config.update("fallback", before)


def test_sine_of_large_arguments():
    rng = np.random.default_rng(0)
    scales = [1e-3, 1, 1e2, 1e4, 1e6, 1e8, 1e20, 3e38]
    x = np.concatenate(
        [*(rng.uniform(-s, s, 100) for s in scales), [0.0, -0.0, np.inf, np.nan, 1e-40]]
    ).astype(np.float32)
    with plugjax.default_device("iree"):
        sine, cosine = plugjax.jit(lambda x: (lax.sin(x), lax.cos(x)))(x)
    exact = x.astype(np.float64)
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(np.asarray(sine), np.sin(exact), rtol=0, atol=6e-8)
        np.testing.assert_allclose(np.asarray(cosine), np.cos(exact), rtol=0, atol=6e-8)
    assert np.signbit(sine[x == 0]).tolist() == [False, True]


@pytest.mark.parametrize("dtype", [np.float64, np.float32, BF16, np.float16], ids=str)
def test_error_function_of_small_numbers(dtype):
    info = ml_dtypes.finfo(dtype)
    smallest = float(info.smallest_normal)
    with plugjax.enable_x64(True), plugjax.default_device("iree"):
        x = np.concatenate([np.geomspace(smallest, 2, 4001), [-3 * smallest, 0]]).astype(dtype)
        found = np.asarray(plugjax.jit(lax.erf)(x))
    assert found.dtype == dtype
    exact = scipy.special.erf(x.astype(np.float64))
    np.testing.assert_allclose(found.astype(np.float64), exact, rtol=4 * float(info.eps))


def conversion(x, target):
    return f"{x.dtype} to {target.__name__}", lambda x: lax.convert_element_type(x, target), x


def test_conversions_saturate():
    values = np.array([1.5, -1.5, np.nan, np.inf, -np.inf, 300, -300, 6e4, 2.5])
    integers = (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32)
    floats = [values.astype(dtype) for dtype in (np.float16, BF16, np.float32)]
    whole = [np.array([0, 1, 127, np.iinfo(dtype).max], dtype) for dtype in integers]
    cases = [conversion(x, target) for x in floats for target in (*integers, BF16.type, np.bool_)]
    cases += [conversion(x, BF16.type) for x in (*whole, np.array([True, False]))]
    check(cases, "int32")


def test_numbers_of_an_axis_in_bfloat16():
    """Also on processors that have no instruction for the conversion."""
    options = {"iree-llvmcpu-target-cpu": "generic"}
    with plugjax.default_device("iree"), plugjax.config.override("fallback", "error"):
        found = plugjax.jit(lambda: lax.iota(BF16, 1000), compiler_options=options)()
    np.testing.assert_array_equal(found, np.arange(1000).astype(BF16))


@pytest.mark.parametrize("dtype", ["float16", BF16, "float32", "complex64"])
def test_products_with_bools_that_were_converted_follow_ieee(dtype):
    """Infinity times 0 is nan, and so is nan times 0."""
    x = np.array([-1, np.inf, np.nan, -np.inf, 2, -3], dtype)
    flags = np.array([True, False, False, True, False, True])
    cases = [
        ("bool", lambda x, b: x * lax.convert_element_type(b, x.dtype), x, flags),
        (
            "integer",
            lambda x, b: x * lax.convert_element_type(lax.convert_element_type(b, "int8"), x.dtype),
            x,
            flags,
        ),
        ("compared", lambda x, b: lax.convert_element_type(b == b[:1], x.dtype) * x, x, flags),
    ]
    check(cases, "int32")


def test_dot_over_nothing_is_zero():
    cases = [("dot", lax.dot, np.ones((3, 0), np.float32), np.ones((0, 5), np.float32))]
    check(cases, "float32")


def test_dot_of_bfloat16_is_rounded_once():
    x = sample(BF16, (33, 65))
    cases = [("dot", lambda x: lax.dot_general(x, x, (((1,), (1,)), ((), ()))), x)]
    check(cases, BF16)


def test_multiply_add_is_rounded_once():
    a, b, c = (sample("float32", (1000,), seed=s) for s in range(3))
    exact = (a.astype(np.longdouble) * b + c).astype(np.float32)
    with plugjax.default_device("iree"):
        found = np.asarray(plugjax.jit(multiply_add)(a, b, c))
    assert np.count_nonzero(found != exact) <= 1


def test_padding_of_complex128():
    x = sample("complex128", SHAPE)
    pad = ("pad", lambda x, p: lax.pad(x, p, ((1, 1, 0), (0, 2, 1))), x, np.complex128(1 + 2j))
    check([pad], "complex128")


def test_random_numbers_are_those_of_jax():
    jax = pytest.importorskip("jax")
    random = plugjax.random
    with plugjax.default_device("iree"):
        draw = plugjax.jit(lambda k: (random.normal(k, (4097,)), random.uniform(k, (4097,))))
        normal, uniform = map(np.asarray, draw(random.key(3)))
    key = jax.random.key(3)
    np.testing.assert_array_equal(normal, jax.random.normal(key, (4097,)))
    np.testing.assert_array_equal(uniform, jax.random.uniform(key, (4097,)))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_what_becomes_bfloat16_on_the_way_is_rounded(dtype):
    x = sample(dtype, SHAPE)

    def there_and_back(x):
        return lax.convert_element_type(lax.convert_element_type(x, BF16), x.dtype)

    cases = [
        ("array", there_and_back, x),
        ("number", there_and_back, x[0, 0]),
        ("to float16", lambda x: lax.convert_element_type(x, np.float16), x.astype(BF16)),
        ("maximum", lambda x: there_and_back(lax.reduce_max(x, (0, 1))) * x, x),
        ("mean", lambda x: jnp.maximum(np.float32(0), jnp.mean(x)), x.astype(BF16)),
    ]
    # Nothing else is rounded but the mean, which has few digits.
    check(cases, "int64" if dtype == "float64" else "int32")


def test_derivatives_of_complex_slices():
    """Sums of padded arrays."""
    x = sample("complex64", (4,))
    f = lambda x: (lax.slice(x, (0,), (1,)) * lax.slice(x, (1,), (2,))).sum().real  # noqa: E731
    check([("slices", plugjax.grad(f), x)], "complex64")


def test_random_numbers_of_a_hidden_state_differ_from_call_to_call():
    with plugjax.default_device("iree"):
        draw = plugjax.jit(lambda: lax.rng_uniform(np.float32(0), np.float32(1), (3,)))
        assert not np.array_equal(draw(), draw())
