"""Dtypes that are asked for and not given, and imaginary parts that are lost: both libraries warn, of the same category."""

import warnings

import jax
import jax.numpy
import numpy as np
import pytest

import plugjax
import plugjax.numpy


def ones(m):
    return m.numpy.ones(2)


CALLS = {
    "zeros": lambda m: m.numpy.zeros(2, "float64"),
    "ones": lambda m: m.numpy.ones(2, np.int64),
    "astype": lambda m: ones(m).astype("float64"),
    "sum": lambda m: ones(m).sum(dtype="float64"),
    "cumsum": lambda m: m.numpy.cumsum(ones(m), dtype="float64"),
    "array": lambda m: m.numpy.array([1.0], "float64"),
    "arange": lambda m: m.numpy.arange(3, dtype="int64"),
    "normal": lambda m: m.random.normal(m.random.key(0), (2,), "float64"),
    "randint": lambda m: m.random.randint(m.random.key(0), (2,), 0, 3, "int64"),
    "convert_element_type": lambda m: m.lax.convert_element_type(1.0, "float64"),
    "iota": lambda m: m.lax.iota("int64", 3),
    "view": lambda m: ones(m).view("float64"),
    "Python's float": lambda m: m.numpy.zeros(2, float),
    "a NumPy array": lambda m: m.numpy.asarray(np.ones(2)),
    "complex astype": lambda m: ones(m).astype(complex).astype("float32"),
    "complex convert": lambda m: m.lax.convert_element_type(ones(m).astype(complex), "float32"),
    "complex array": lambda m: m.numpy.array(ones(m).astype(complex), dtype="float32"),
    "complex to bool": lambda m: ones(m).astype(complex).astype(bool),
    "complex update": lambda m: m.numpy.zeros(2).at[0].set(1j),
}


def caught(library, call):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        value = call(library)
    return {w.category for w in found}, {w.filename for w in found}, value


@pytest.mark.parametrize("name", CALLS)
def test_categories_are_those_of_jax(name):
    (expected, _, theirs), (found, files, ours) = (caught(m, CALLS[name]) for m in (jax, plugjax))
    assert found == expected
    assert files <= {__file__}, "a warning names the line of the caller"
    np.testing.assert_array_equal(ours, theirs)
