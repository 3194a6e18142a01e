"""Operators with numbers as host programs: every call gives what JAX gives, and the numbers' values decide nothing."""

import operator

import jax
import ml_dtypes
import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp
from plugjax.core.primitive import state
from plugjax.core.registry import use
from plugjax.extend import registry

NUMBERS = [
    2, -3, 0.1, 1e-3, True, 2j, np.float32(0.1), np.float64(0.1), np.float16(0.1), np.int8(-3), np.int32(7), np.int64(5), np.uint8(200), np.bool_(True),
    np.complex64(1 + 2j), ml_dtypes.bfloat16(0.1),
]  # fmt: skip
ARRAYS = {
    name: np.asarray([1, 2, 3]).astype(name)
    for name in ("bool", "int8", "uint8", "int32", "float16", "bfloat16", "float32", "complex64")
}
EPSILON = {"float16": 1e-3, "bfloat16": 1e-2}
OPERATORS = [operator.add, operator.sub, operator.mul, operator.truediv, operator.eq, operator.lt]


@pytest.mark.spread(16)
@pytest.mark.parametrize("dtype", ARRAYS)
@pytest.mark.parametrize("apply", OPERATORS, ids=lambda f: f.__name__)
def test_numbers_on_either_side(apply, dtype, on_backend):
    x, theirs = jnp.asarray(ARRAYS[dtype]), jax.numpy.asarray(ARRAYS[dtype])
    for number in NUMBERS:
        for swapped in (False, True):
            left, right = (number, theirs) if swapped else (theirs, number)
            try:
                expected = apply(left, right)
            except TypeError:
                with pytest.raises(TypeError):
                    apply(*((number, x) if swapped else (x, number)))
                continue
            for _ in range(3):
                found = apply(*((number, x) if swapped else (x, number)))
                assert (found.dtype, found.weak_type) == (expected.dtype, expected.weak_type)
                np.testing.assert_allclose(
                    np.asarray(found).astype(complex),
                    np.asarray(expected).astype(complex),
                    # XLA divides by a constant in another way.
                    rtol=EPSILON.get(expected.dtype.name, 2e-7) if apply is operator.truediv else 0,
                )


def test_a_number_is_rounded_once():
    """Of these numbers the bfloat16 that is nearest is another than the one nearest to the float32 that is."""
    x = jnp.ones(1, "bfloat16")
    numbers = [1 + 2**-8 + 2**-40, 1 + 3 * 2**-8 - 2**-40]
    for number in numbers * 2:
        expected = (jax.numpy.ones(1, "bfloat16") * number)[0]
        assert float((x * number)[0]) == float(expected)
        # Of NumPy's numbers the value is a float32 first.
        expected = (jax.numpy.ones(1, "bfloat16") * np.float64(number).astype("bfloat16"))[0]
        assert float((x * np.float64(number).astype("bfloat16"))[0]) == float(expected)


@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_integers_beyond_the_default_width(dtype):
    x = jnp.ones(3, dtype)
    for _ in range(2):
        assert (x + 3).tolist() == [4, 4, 4]
        with pytest.raises(OverflowError):
            x + 2**40


def test_one_program_serves_all_numbers_of_a_type():
    x = jnp.arange(3.0)
    x * 1.5
    count = len(state.trace.programs)
    for number in (0.0, -0.0, 2.5, -1e38, 1e-30):
        found, expected = (
            np.asarray(x * number),
            np.float32([0, 1, 2]) * np.float32(number) * np.float32(1),
        )
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))
    assert len(state.trace.programs) == count


@pytest.mark.parametrize("number", [np.float32(2), np.int32(2), np.bool_(True)], ids=str)
def test_a_number_of_numpy_raises_nothing_on_the_way(number, monkeypatch):
    x = jnp.arange(3.0)
    expected = x * number, number * x
    monkeypatch.setattr(type(state.trace), "_prepare", None)
    monkeypatch.setattr(type(state.trace), "operate", None)
    np.testing.assert_array_equal((x * number, number * x), expected)


def test_without_a_plugin_that_writes_host_programs():
    x = jnp.arange(4.0)
    with use(registry.active().extended(without=["numpy"])):
        x = plugjax.device_put(x, plugjax.devices("xla")[0])
        for _ in range(2):
            assert (x * 0.5 + x).tolist() == [0.0, 1.5, 3.0, 4.5]
