"""`x.at[...]`: every method, mode and option, drawn indices, small dtypes, and values of other dtypes than the array's."""

import itertools
import warnings

import jax
import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

import plugjax
import plugjax.numpy
from tests.drawn import agree, arrays
from tests.numpy.test_drawn_indexing import SHAPES, indices

SMALL = ["int4", "uint4", "float8_e4m3fn", "float8_e5m2"]
DTYPES = ["bool", "int8", "uint8", "int32", "float16", "bfloat16", "float32", "complex64", *SMALL]
METHODS = ["set", "add", "subtract", "multiply", "mul", "divide", "power", "min", "max", "apply"]
MODES = [None, "clip", "fill", "drop", "promise_in_bounds"]
FLAGS = st.fixed_dictionaries(
    {}, optional={name: st.booleans() for name in ("indices_are_sorted", "unique_indices", "wrap_negative_indices")}
)  # fmt: skip
EXAMPLES = settings().max_examples * 3


@st.composite
def small_arrays(draw, dtypes, shapes):
    """Arrays of any dtype; 4-bit ones are made from small integers."""
    x = draw(arrays(["int32"], shapes, low=0, high=3))
    return x.astype(draw(st.sampled_from(dtypes)))


@pytest.mark.spread(2)
@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=EXAMPLES)
@given(data=st.data())
def test_methods(method, data):
    x = data.draw(small_arrays(DTYPES, SHAPES))
    index, _ = data.draw(indices(x.shape))
    shape = np.zeros(x.shape, np.int8)[_inside(index, x.shape)].shape
    shape = tuple(n if data.draw(st.booleans()) else 1 for n in shape)
    values = data.draw(small_arrays([x.dtype.name], st.just(shape)))
    options = {**data.draw(FLAGS), "mode": data.draw(st.sampled_from(MODES))}
    # JAX's integer powers lack limits of small dtypes.
    assume(method != "power" or "int4" not in x.dtype.name)

    def call(n, _, x, values):
        if method == "apply":
            return n.asarray(x).at[index].apply(n.square, **options)
        return getattr(n.asarray(x).at[index], method)(values, **options)

    agree(call, None, x, values)


def _inside(index, shape):
    """The same index with arrays within bounds."""
    parts = index if isinstance(index, tuple) else (index,)
    return tuple(p * 0 if isinstance(p, np.ndarray) and p.dtype != bool else p for p in parts)


@settings(max_examples=EXAMPLES * 3)
@given(data=st.data())
def test_get(data):
    x = data.draw(small_arrays(DTYPES, SHAPES))
    index, _ = data.draw(indices(x.shape))
    options = {**data.draw(FLAGS), "mode": data.draw(st.sampled_from(MODES))}
    if data.draw(st.booleans()):
        options["fill_value"] = data.draw(st.sampled_from([0, 1, 1.5, np.nan, True]))
    agree(lambda n, _, x: n.asarray(x).at[index].get(**options), None, x)


@pytest.mark.parametrize("dtype", ["int4", "uint4"])
def test_powers_of_small_integers(dtype):
    """JAX fails with an internal error: its integer powers lack limits of small dtypes."""
    x = plugjax.numpy.asarray(np.array([[1, 2, 0], [3, 2, 1]], dtype))
    found = x.at[0].power(2)
    assert found.dtype == dtype
    np.testing.assert_array_equal(np.asarray(found).astype(int), [[1, 4, 0], [3, 2, 1]])


MIXED = ["set", "add", "multiply", "min", "divide", "power"]
COMBINED = [(m, d) for m in MIXED for d in DTYPES if not (m == "power" and "int4" in d)]


@pytest.mark.parametrize(("method", "dtype"), COMBINED)
def test_values_of_other_dtypes(method, dtype):
    """Types, errors, and warnings for values that do not fit."""
    x = np.ones((2, 3), dtype)
    for value in [*(np.ones(3, d) for d in DTYPES), True, 1, 1.5, 1j]:
        found = []
        for library in (plugjax, jax):
            n = library.numpy

            def call(x, n=n, value=value):
                return getattr(n.asarray(x).at[0], method)(value)

            with warnings.catch_warnings(record=True) as seen:
                warnings.simplefilter("always")
                try:
                    y = call(x) if library is plugjax else jax.eval_shape(call, x)
                    result = y.shape, str(y.dtype), y.weak_type
                except Exception as error:
                    builtin = next(t for t in type(error).__mro__ if t.__module__ == "builtins")
                    result = builtin.__name__
            found.append((result, any(w.category is FutureWarning for w in seen)))
        assert found[0] == found[1], (value, found)


IN_BOUNDS = {
    "an integer": 1,
    "a negative one": -1,
    "a slice": slice(1, None),
    "steps backwards": slice(None, None, -2),
    "new axes": (None, 1, ..., None),
    "arrays of several ranks": (np.array([[0], [1]]), np.array([2, 0])),
    "an array between slices": (slice(None), np.array([2, 0, 2])),
    "repeated": np.array([1, 1, 0, 1]),
    "a mask": np.array([[True, False, True], [False, True, True]]),
    "a mask beside an array": (np.array([False, True]), np.array([1])),
}
UFUNCS = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide, "power": np.power, "min": np.minimum,
    "max": np.maximum,
}  # fmt: skip


@pytest.mark.parametrize("name", IN_BOUNDS)
@pytest.mark.parametrize(
    "dtype", ["int32", "float32", "bfloat16", "complex64", "float8_e5m2", "int4"]
)
def test_values_of_updates(name, dtype):
    """NumPy's `ufunc.at` in a wide dtype; the numbers are such that nothing is rounded."""
    index = IN_BOUNDS[name]
    x = np.array([[1, 2, 1], [2, 1, 2]]).astype(dtype)
    wide = x.astype(np.complex128 if dtype == "complex64" else np.float64)
    for method, ufunc in UFUNCS.items():
        if (method in ("divide", "power", "multiply") and name == "repeated") or (
            method == "divide" and "int" in dtype
        ):
            continue
        if dtype == "complex64" and method in ("min", "max", "power"):
            continue
        expected = wide.copy()
        ufunc.at(expected, index, 1 if "int" in dtype else 2)
        found = getattr(plugjax.numpy.asarray(x).at[index], method)(1 if "int" in dtype else 2)
        assert found.dtype == x.dtype
        np.testing.assert_array_equal(
            np.asarray(found).astype(wide.dtype), expected, err_msg=method
        )
    for value in (0, wide[index] * 0 + 1):
        expected = wide.copy()
        expected[index] = value
        found = plugjax.numpy.asarray(x).at[index].set(np.asarray(value).astype(dtype))
        np.testing.assert_array_equal(np.asarray(found).astype(wide.dtype), expected)


def test_the_operation_is_done_in_the_dtype_of_both():
    """JAX's values for integers that are combined with floats."""
    x, index = np.array([1, 2, -3, 5], np.int32), np.array([0, 2, 2, 3])
    for method, value in itertools.product(
        ["add", "multiply", "min", "max", "set", "divide"], [0.5, -1.5, np.float32(2.75)]
    ):
        found = []
        for n in (plugjax.numpy, jax.numpy):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found.append(np.asarray(getattr(n.asarray(x).at[index], method)(value)))
        np.testing.assert_array_equal(*found, err_msg=f"{method} {value}")


def test_a_function_is_applied_as_often_as_an_element_is_named():
    for index in (
        np.array([0, 2, 2]),
        slice(1, 3),
        1,
        np.array([True, False, True]),
        np.array([0, 9]),
    ):
        found = [
            np.asarray(n.arange(3.0).at[index].apply(lambda v: 2 * v + 1))
            for n in (plugjax.numpy, jax.numpy)
        ]
        np.testing.assert_array_equal(*found)


def test_there_is_no_mode_that_wraps():
    for n in (plugjax.numpy, jax.numpy):
        with pytest.raises(ValueError, match="wrap"):
            n.ones(3).at[5].get(mode="wrap")
        with pytest.raises(ValueError, match="wrap"):
            n.ones(3).at[5].set(1, mode="wrap")


def test_every_public_method_is_drawn():
    public = {n for n in dir(plugjax.numpy.ones(2).at[0]) if not n.startswith("_")}
    theirs = {n for n in dir(jax.numpy.ones(2).at[0]) if not n.startswith("_")} - {"array", "index"}
    assert theirs <= public
    assert theirs <= {*METHODS, "get"}
