"""Every family of functions on numbers of two, four and eight bits:

JAX's types, NumPy's values with the casts of `ml_dtypes`.

Where JAX does not support such a dtype it raises an internal error (`KeyError`, `OverflowError`, ...). There our
reference is NumPy, and the test asserts that JAX still raises.
"""

import jax
import ml_dtypes
import numpy as np
import pytest

import plugjax
import plugjax.numpy
from tests.drawn import outcome
from tests.numpy.test_drawn import ALONG, BINARY, MANIPULATIONS, REDUCTIONS, UNARY, along

FLOATS = ["float8_e4m3fn", "float8_e5m2", "float8_e4m3", "float8_e3m4", "float8_e4m3b11fnuz", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu", "float4_e2m1fn"]  # fmt: skip
FEWER = ["float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu", "float4_e2m1fn"]
INTEGERS = ["int4", "uint4", "int2", "uint2"]

# JAX divides 2-bit numbers in two bits, because its table of dtypes lacks them. Ours become
# float32.
OF_TWO_BITS = {"deg2rad", "radians", "modf", "divide", "true_divide", "heaviside", "mean", "nanmean", "average"}  # fmt: skip
# Functions of several rounded steps, with intermediate overflow, or defined by bits.
STEPS = {
    "acosh", "arccosh", "angle", "deg2rad", "degrees", "rad2deg", "radians", "sinc", "log10", "log2", "exp2", "i0", "modf", "frexp", "spacing",
    "nan_to_num", "reciprocal", "sort_complex", "bitwise_not", "bitwise_invert", "negative",
    "logaddexp", "logaddexp2", "ldexp", "nextafter", "hypot", "float_power", "power", "pow", "fmod", "mod", "remainder", "divmod", "floor_divide",
    "left_shift", "right_shift", "bitwise_left_shift", "bitwise_right_shift", "isclose", "allclose", "arctan2", "atan2",
    "gcd", "lcm", "copysign", "subtract", "bitwise_count", "heaviside",
    "mean", "var", "std", "prod", "nanprod", "nanmean", "nanvar", "nanstd", "median", "nanmedian", "average", "ptp", "sum", "nansum",
    "cumprod", "nancumprod", "cumulative_prod", "gradient", "unwrap", "trapezoid", "diff", "cumsum", "nancumsum", "cumulative_sum",
    "outer", "tensordot", "vdot", "inner", "kron", "cross", "trace", "round", "around",
}  # fmt: skip
# 0 and 2 are not representable in both.
WITHOUT_TWO = ("float8_e8m0fnu", "int2")
# NumPy's own `-x` of a small integer is wide, so this is not the same program for both.
APART = {"where", "item", "newaxis", "slices"}


def operand(dtype):
    """Numbers with an exact sum; zeros among them, where the dtype has one."""
    values = [[1, 2, 1], [0, 1, 2]] if dtype != "float8_e8m0fnu" else [[1, 2, 1], [4, 1, 2]]
    return np.array(values, np.float32).clip(0, 1 if dtype == "int2" else 4).astype(dtype)


def wide(x):
    return x.astype(np.int64 if x.dtype.name in INTEGERS else np.float64)


def types(leaves):
    return [(x.shape, str(x.dtype), x.weak_type) for x in leaves]


def check(name, dtype, call, oracle, *args):
    ours = outcome(lambda: plugjax.tree.leaves(call(plugjax.numpy, *args)))
    theirs = outcome(
        lambda: jax.tree.leaves(jax.eval_shape(lambda *xs: call(jax.numpy, *xs), *args))
    )
    if isinstance(theirs, Exception):
        if isinstance(ours, Exception):
            return
    else:
        assert not isinstance(ours, Exception), (name, ours)
        assert types(ours) == types(theirs) or (name in OF_TWO_BITS and dtype.endswith("int2")), (
            name
        )
    if name in STEPS or oracle is None or (name == "clip" and dtype in WITHOUT_TWO):
        return
    with np.errstate(all="ignore"):
        expected = outcome(lambda: oracle(*[wide(x) for x in args]))
    if isinstance(expected, TypeError):
        return  # NumPy lacks the function for these dtypes.
    expected = expected if isinstance(expected, tuple | list) else [expected]
    for x, y in zip(ours, expected, strict=True):
        value = np.asarray(x)
        with np.errstate(all="ignore"):
            y = np.asarray(y).astype(value.dtype).astype(np.complex128)
        eps = float(ml_dtypes.finfo(dtype).eps) if dtype in FLOATS else 1e-6
        np.testing.assert_allclose(value.astype(np.complex128), y, rtol=eps, atol=0, err_msg=name)


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
def test_unary(dtype):
    for name in UNARY:
        check(name, dtype, lambda n, x, f=name: getattr(n, f)(x), getattr(np, name), operand(dtype))


@pytest.mark.parametrize("dtype", [*FEWER, *INTEGERS])
def test_binary(dtype):
    x = operand(dtype)
    for name in BINARY:
        check(name, dtype, lambda n, x, y, f=name: getattr(n, f)(x, y), getattr(np, name), x, x[1:])


@pytest.mark.parametrize("dtype", [*FEWER, *INTEGERS])
def test_reductions(dtype):
    for name in REDUCTIONS:
        call = lambda n, x, f=name: getattr(n, f)(x, axis=0)  # noqa: E731
        check(name, dtype, call, lambda x, c=call: c(np, x), operand(dtype))


@pytest.mark.parametrize("dtype", [*FEWER, *INTEGERS])
def test_along_an_axis(dtype):
    for name in ALONG:
        call = lambda n, x, f=name: along(n, f, x, 1)  # noqa: E731
        check(name, dtype, call, lambda x, c=call: c(np, x), operand(dtype))


@pytest.mark.parametrize("dtype", [*FEWER, *INTEGERS])
def test_manipulations(dtype):
    for name in set(MANIPULATIONS) - APART:
        call = lambda n, x, f=name: MANIPULATIONS[f](n, x, 0, 1)  # noqa: E731
        check(name, dtype, call, lambda x, c=call: c(np, x), operand(dtype))


OTHERS = ["bool", "int8", "uint8", "float16", "bfloat16", "float32", "complex64", "int4", "uint4", "int2", "float8_e5m2"]  # fmt: skip


@pytest.mark.parametrize("dtype", [*FEWER, *INTEGERS])
@pytest.mark.parametrize("other", OTHERS)
def test_beside_other_dtypes(dtype, other):
    x, y = operand(dtype), operand(other)
    for name in ["add", "multiply", "divide", "less", "maximum", "where"]:
        if name == "where":
            call = lambda n, x, y: n.where(np.array([True, False, True]), x, y)  # noqa: E731
        else:
            call = lambda n, x, y, f=name: getattr(n, f)(x, y)  # noqa: E731
        check(name, dtype, call, None, x, y)


@pytest.mark.parametrize("dtype", [*FEWER, *INTEGERS])
@pytest.mark.parametrize("number", [True, 1, 1.5, 1j], ids=str)
def test_beside_python_numbers(dtype, number):
    for name in ["add", "multiply", "divide", "less", "maximum", "power"]:
        check(
            name,
            dtype,
            lambda n, x, f=name: getattr(n, f)(x, number),
            None,
            operand(dtype),
        )


CREATED = {
    "zeros": lambda n, d: n.zeros((2, 3), d),
    "ones": lambda n, d: n.ones(3, d),
    "full": lambda n, d: n.full((2,), 1, d),
    "full_like": lambda n, d: n.full_like(np.ones(3, "f"), 1, dtype=d),
    "asarray": lambda n, d: n.asarray([1, 0, 1], d),
    "asarray of floats": lambda n, d: n.asarray([1.0, 0.5], d),
    "eye": lambda n, d: n.eye(3, dtype=d),
    "arange": lambda n, d: n.arange(2, dtype=d),
    "linspace": lambda n, d: n.linspace(0, 1, 3, dtype=d),
    "astype": lambda n, d: n.astype(n.asarray([0.0, 1.0, 1.9]), d),
    "astype of integers": lambda n, d: n.astype(n.asarray([0, 1]), d),
    "astype of bools": lambda n, d: n.astype(n.asarray([True, False]), d),
    "tri": lambda n, d: n.tri(2, dtype=d),
    "identity": lambda n, d: n.identity(2, d),
    "zeros_like": lambda n, d: n.zeros_like(np.ones(2, "f"), d),
}


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
def test_creation(dtype):
    for name, call in CREATED.items():
        # float8_e8m0fnu has no 0.
        known = dtype != "float8_e8m0fnu"
        check(
            name,
            dtype,
            lambda n, f=call: f(n, dtype),
            (lambda f=call: _wide_made(f, dtype)) if known else None,
        )


def _wide_made(call, dtype):
    """NumPy's result in a wide dtype, cast by `ml_dtypes`."""
    if call is CREATED["linspace"] and dtype in INTEGERS:
        return np.array([0, 0, 1])

    class Wide:
        def __getattr__(self, name):
            return getattr(np, name) if name != "astype" else lambda x, _: x

    made = call(Wide(), "float64")
    return np.trunc(made) if dtype in INTEGERS else made


INDEXED = {
    "row": lambda x: x[1],
    "negative steps": lambda x: x[::-1, ::2],
    "array": lambda x: x[np.array([1, 0, 1])],
    "mask": lambda x: x[np.array([True, False])],
    "at set": lambda x: x.at[0, 1].set(1),
    "at set of an array": lambda x: x.at[:, 0].set(x[:, 1]),
    "at add": lambda x: x.at[np.array([0, 0])].add(1),
    "at max": lambda x: x.at[..., 1:].max(1),
    "at multiply": lambda x: x.at[0].multiply(x[0]),
    "fill": lambda x: x.at[np.array([0, 5])].get(mode="fill"),
    "fill value": lambda x: x.at[np.array([0, 5])].get(mode="fill", fill_value=1),
    "clip": lambda x: x.at[np.array([0, 5])].get(mode="clip"),
}


@pytest.mark.parametrize("dtype", [*FEWER, *INTEGERS])
@pytest.mark.parametrize("name", INDEXED)
def test_indexing(dtype, name):
    f, x = INDEXED[name], operand(dtype)
    oracle = (lambda x: f(x)) if not name.startswith(("at", "fill", "clip")) else None
    check(name, dtype, lambda n, x: f(n.asarray(x)), oracle, x)
