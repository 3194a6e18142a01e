"""Functions of `plugjax.numpy` on drawn dtypes, shapes and axes; `tests/drawn.py` defines the references."""

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

import plugjax
from tests.drawn import DTYPES, WIDE_DTYPES, agree, arrays, axes_of, outcome, stretchable

UNARY = [
    "abs",
    "absolute",
    "acosh",
    "angle",
    "arctan",
    "arcsinh",
    "cbrt",
    "ceil",
    "conj",
    "cos",
    "cosh",
    "deg2rad",
    "degrees",
    "exp",
    "exp2",
    "expm1",
    "fabs",
    "floor",
    "imag",
    "isfinite",
    "isinf",
    "isnan",
    "isreal",
    "logical_not",
    "negative",
    "positive",
    "rad2deg",
    "real",
    "reciprocal",
    "rint",
    "sign",
    "signbit",
    "sin",
    "sinc",
    "sinh",
    "sqrt",
    "square",
    "tan",
    "tanh",
    "trunc",
    "log",
    "log1p",
    "log2",
    "arccos",
    "arctanh",
    "isneginf",
    "i0",
    "iscomplex",
    "nan_to_num",
    "bitwise_not",
    "isposinf",
    "arccosh",
    "arcsin",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "acos",
    "log10",
    "conjugate",
    "radians",
    "spacing",
    "modf",
    "frexp",
    "bitwise_count",
    "bitwise_invert",
    "around",
    "sort_complex",
    "zeros_like",
    "ones_like",
]
BINARY = [
    "add",
    "subtract",
    "multiply",
    "divide",
    "true_divide",
    "floor_divide",
    "maximum",
    "minimum",
    "fmax",
    "fmin",
    "power",
    "mod",
    "fmod",
    "remainder",
    "hypot",
    "arctan2",
    "copysign",
    "equal",
    "not_equal",
    "less",
    "less_equal",
    "greater",
    "greater_equal",
    "logical_and",
    "logical_or",
    "logical_xor",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "logaddexp",
    "nextafter",
    "heaviside",
    "gcd",
    "lcm",
    "left_shift",
    "float_power",
    "divmod",
    "ldexp",
    "isclose",
    "atan2",
    "logaddexp2",
    "pow",
    "right_shift",
    "bitwise_left_shift",
    "bitwise_right_shift",
    "array_equiv",
    "allclose",
]
REDUCTIONS = [
    "sum",
    "prod",
    "mean",
    "max",
    "min",
    "all",
    "any",
    "var",
    "std",
    "ptp",
    "argmax",
    "argmin",
    "nansum",
    "nanprod",
    "nanmean",
    "nanmax",
    "nanmin",
    "nanvar",
    "nanstd",
    "count_nonzero",
    "median",
    "nanmedian",
    "average",
    "amax",
    "amin",
    "nanargmax",
    "nanargmin",
]
ALONG = [
    "cumsum",
    "cumprod",
    "sort",
    "flip",
    "diff",
    "roll",
    "nancumsum",
    "take_first",
    "argsort_stable",
    "unwrap",
    "trapezoid",
    "gradient",
    "nancumprod",
    "cumulative_sum",
    "cumulative_prod",
]
# NumPy computes these in another dtype, or has another range for a small one, so values differ too.
NO_VALUES = {
    "left_shift",
    "right_shift",
    "bitwise_left_shift",
    "bitwise_right_shift",
    "power",
    "pow",
    "ldexp",
    "nextafter",
    "i0",
    "gradient",
    "unwrap",
}


def every_dtype(test):
    """The same test for the dtypes of 64 bits, with x64 on."""
    return pytest.mark.parametrize("wide", [False, True], ids=["x32", "x64"])(test)


def dtypes(wide):
    return [*DTYPES, *WIDE_DTYPES] if wide else DTYPES


def checked(wide, call, oracle, *args):
    import jax

    with plugjax.enable_x64(wide), jax.enable_x64(wide):
        agree(call, oracle, *args)


def same_function(name):
    return None if name in NO_VALUES else getattr(np, name)


def known_exponent(name, y):
    """JAX multiplies if it knows an integer exponent; here it traces, and ours is known: see `test_known_exponents`."""
    return name in ("power", "pow") and y.ndim == 0 and y.dtype.kind in "iu"


@pytest.mark.spread(8)
@every_dtype
@pytest.mark.parametrize("name", UNARY)
@given(data=st.data())
def test_unary(name, wide, data):
    x = data.draw(arrays(dtypes(wide)))
    checked(wide, lambda np_, _, x: getattr(np_, name)(x), same_function(name), x)


@pytest.mark.spread(8)
@every_dtype
@pytest.mark.parametrize("name", BINARY)
@given(data=st.data())
def test_binary(name, wide, data):
    x, y = data.draw(stretchable(dtypes(wide)))
    assume(not known_exponent(name, y))
    checked(wide, lambda np_, _, x, y: getattr(np_, name)(x, y), None, x, y)


@pytest.mark.parametrize("name", BINARY)
def test_shapes_that_do_not_fit(name):
    """The type of the error depends on whether the ranks are equal."""
    for dtype in (np.float32, np.int32, np.complex64):
        for one, other in [((2,), (5,)), ((2, 3), (2, 4)), ((2, 3), (5,))]:
            x, y = np.ones(one, dtype), np.ones(other, dtype)
            agree(lambda np_, _, x, y: getattr(np_, name)(x, y), None, x, y)


@pytest.mark.parametrize("name", ["logaddexp2", "floor_divide", "remainder", "fmod", "lcm"])
@pytest.mark.parametrize(
    "args", [(np.ones(3, bool), 1), (1, np.ones(3, bool))], ids=["array, number", "number, array"]
)
def test_traced_numbers_are_weak(name, args):
    """With bools and a number some functions give weak results, and some do not."""
    import jax

    found = plugjax.eval_shape(getattr(plugjax.numpy, name), *args)
    expected = jax.eval_shape(getattr(jax.numpy, name), *args)
    assert (found.dtype, found.weak_type) == (expected.dtype, expected.weak_type)


@pytest.mark.parametrize("name", BINARY)
@given(data=st.data())
def test_binary_of_one_dtype(name, data):
    """Values, without the influence of NumPy's promotion."""
    dtype = data.draw(st.sampled_from(DTYPES))
    x, y = data.draw(stretchable([dtype]))
    assume(not known_exponent(name, y))
    of_integers = np.dtype(dtype).kind in "biu" and name in ("floor_divide", "mod", "fmod", "divmod", "remainder", "heaviside")  # fmt: skip
    oracle = None if of_integers else same_function(name)
    agree(lambda np_, _, x, y: getattr(np_, name)(x, y), oracle, x, y)


@pytest.mark.parametrize("exponent", [3, True, np.int32(2), np.array(2, np.int8), 1, 0], ids=repr)
@given(data=st.data())
def test_known_exponents(exponent, data):
    x = data.draw(arrays(DTYPES, low=-2, high=2))
    values = (lambda x: x ** int(exponent)) if x.dtype != bool and x.dtype != np.float16 else None
    agree(lambda n, _, x: n.power(x, exponent), values, x)


@pytest.mark.parametrize("scalar", [2, 0.5, 1j, True], ids=str)
@pytest.mark.parametrize(
    "name", ["add", "multiply", "divide", "power", "maximum", "less", "floor_divide"]
)
@given(data=st.data())
def test_python_scalars(name, scalar, data):
    x = data.draw(arrays(DTYPES))
    assume(not known_exponent(name, x))
    agree(lambda np_, _, x: getattr(np_, name)(x, scalar), None, x)
    agree(lambda np_, _, x: getattr(np_, name)(scalar, x), None, x)


@pytest.mark.spread(6)
@every_dtype
@pytest.mark.parametrize("name", REDUCTIONS)
@given(data=st.data())
def test_reductions(name, wide, data):
    x = data.draw(arrays(dtypes(wide)))
    several = name not in ("argmax", "argmin", "nanargmax", "nanargmin")
    axis = data.draw(axes_of(x.ndim, several=several))
    # JAX checks the order of complex numbers when it compiles, and empty results need no
    # compilation.
    assume(several or x.dtype.kind != "c" or x.size)
    options = {"axis": axis}
    if name not in ("average",) and data.draw(st.booleans()):
        options["keepdims"] = True
    checked(
        wide,
        lambda np_, _, x: getattr(np_, name)(x, **options),
        lambda x: getattr(np, name)(x, **options),
        x,
    )


@pytest.mark.parametrize(
    "name", ["sum", "prod", "mean", "max", "min", "all", "any", "var", "nansum"]
)
@given(data=st.data())
def test_reductions_of_some(name, data):
    x = data.draw(arrays(["int32", "float32", "float16", "bool"]))
    where = data.draw(arrays(["bool"], st.just(x.shape)))
    options = {"initial": 2} if name in ("sum", "prod", "max", "min", "nansum") else {}
    agree(
        lambda np_, _, x, where: getattr(np_, name)(x, where=where, **options),
        None if name in ("mean", "var") else lambda x, w: getattr(np, name)(x, where=w, **options),
        x,
        where,
    )


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "cumsum", "cumprod", "var"])
@given(data=st.data())
def test_dtype_argument(name, data):
    x = data.draw(arrays(DTYPES))
    dtype = data.draw(st.sampled_from(DTYPES))
    axis = data.draw(axes_of(x.ndim, several=False))
    agree(lambda np_, _, x: getattr(np_, name)(x, axis=axis, dtype=dtype), None, x)


def along(np_, name, x, axis):
    if name == "roll":
        return np_.roll(x, 2, axis)
    if name == "take_first":
        return np_.take(x, np.array([0, 0]), axis)
    if name == "argsort_stable":
        return np_.argsort(x, axis, stable=True)
    return getattr(np_, name)(x, axis=axis)


@every_dtype
@pytest.mark.parametrize("name", ALONG)
@given(data=st.data())
def test_along_an_axis(name, wide, data):
    x = data.draw(arrays(dtypes(wide)))
    axis = data.draw(axes_of(x.ndim, several=False))
    oracle = None if name in NO_VALUES else lambda x: along(np, name, x, axis)
    if name == "cumulative_prod" and x.dtype.kind in "iu" and x.dtype.itemsize < 4 + 4 * wide:
        oracle = None  # JAX's products of small integers keep their dtype; NumPy's do not.
    checked(wide, lambda np_, _, x: along(np_, name, x, axis), oracle, x)


MANIPULATIONS = {
    "ravel": lambda n, x, a, b: n.ravel(x),
    "reshape": lambda n, x, a, b: n.reshape(x, (-1, a or 1)),
    "expand_dims": lambda n, x, a, b: n.expand_dims(x, (a, b)),
    "squeeze": lambda n, x, a, b: n.squeeze(x, a),
    "moveaxis": lambda n, x, a, b: n.moveaxis(x, a, b),
    "swapaxes": lambda n, x, a, b: n.swapaxes(x, a, b),
    "transpose": lambda n, x, a, b: n.transpose(x),
    "concatenate": lambda n, x, a, b: n.concatenate([x, x], a),
    "stack": lambda n, x, a, b: n.stack([x, x], a),
    "split": lambda n, x, a, b: n.split(x, 3, a),
    "array_split": lambda n, x, a, b: n.array_split(x, 2, a),
    "repeat": lambda n, x, a, b: n.repeat(x, 2, a),
    "tile": lambda n, x, a, b: n.tile(x, (2, 1)),
    "pad": lambda n, x, a, b: n.pad(x, 1),
    "rot90": lambda n, x, a, b: n.rot90(x, a, (0, 1)),
    "flipud": lambda n, x, a, b: n.flipud(x),
    "atleast_2d": lambda n, x, a, b: n.atleast_2d(x),
    "broadcast_to": lambda n, x, a, b: n.broadcast_to(x, (2, *x.shape)),
    "diagonal": lambda n, x, a, b: n.diagonal(x, a),
    "trace": lambda n, x, a, b: n.trace(x, a),
    "tril": lambda n, x, a, b: n.tril(x, a),
    "triu": lambda n, x, a, b: n.triu(x, a),
    "delete": lambda n, x, a, b: n.delete(x, 0, a),
    "insert": lambda n, x, a, b: n.insert(x, 0, 1, a),
    "append": lambda n, x, a, b: n.append(x, x, a),
    "outer": lambda n, x, a, b: n.outer(x, x),
    "tensordot": lambda n, x, a, b: n.tensordot(x, x, abs(a)),
    "vdot": lambda n, x, a, b: n.vdot(x, x),
    "inner": lambda n, x, a, b: n.inner(x, x),
    "kron": lambda n, x, a, b: n.kron(x, x),
    "where": lambda n, x, a, b: n.where(n.equal(x, 0), x, -x if x.dtype != bool else x),
    "clip": lambda n, x, a, b: n.clip(x, 0, 2),
    "round": lambda n, x, a, b: n.round(x, 1),
    "item": lambda n, x, a, b: x[..., a] if n is np else n.asarray(x)[..., a],
    "hstack": lambda n, x, a, b: n.hstack([x, x]),
    "vstack": lambda n, x, a, b: n.vstack([x, x]),
    "dstack": lambda n, x, a, b: n.dstack([x, x]),
    "column_stack": lambda n, x, a, b: n.column_stack([x, x]),
    "concat": lambda n, x, a, b: n.concat([x, x], axis=a),
    "block": lambda n, x, a, b: n.block([[x, x], [x, x]]),
    "hsplit": lambda n, x, a, b: n.hsplit(x, [1]),
    "vsplit": lambda n, x, a, b: n.vsplit(x, [1]),
    "dsplit": lambda n, x, a, b: n.dsplit(x, [1]),
    "unstack": lambda n, x, a, b: n.unstack(x, axis=a),
    "fliplr": lambda n, x, a, b: n.fliplr(x),
    "rollaxis": lambda n, x, a, b: n.rollaxis(x, a, b),
    "permute_dims": lambda n, x, a, b: n.permute_dims(x, tuple(range(x.ndim))[::-1]),
    "atleast_3d": lambda n, x, a, b: n.atleast_3d(x),
    "broadcast_arrays": lambda n, x, a, b: n.broadcast_arrays(x, x[..., :1] if x.ndim else x),
    "full_like": lambda n, x, a, b: n.full_like(x, 3),
    "cross": lambda n, x, a, b: n.cross(x, x, axis=a),
    "newaxis": lambda n, x, a, b: x[None, ::2] if n is np else n.asarray(x)[None, ::2],
    "slices": lambda n, x, a, b: x[a:, ::-1] if n is np else n.asarray(x)[a:, ::-1],
}


@pytest.mark.parametrize("name", MANIPULATIONS)
@given(data=st.data())
def test_manipulations(name, data):
    x = data.draw(arrays(DTYPES))
    a, b = data.draw(axes_of(x.ndim, several=False)), data.draw(axes_of(x.ndim, several=False))
    f = MANIPULATIONS[name]
    oracle = lambda x: f(np, x, a, b)  # noqa: E731
    if isinstance(outcome(lambda: oracle(x)), Exception):
        oracle = None  # NumPy refuses an index out of bounds.
    agree(lambda n, _, x: f(n, x, a, b), oracle, x)
