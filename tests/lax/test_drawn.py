"""Elementwise operations of `plugjax.lax` on drawn dtypes and shapes: types and errors against JAX (`tests/drawn.py`)."""

import pytest
from hypothesis import given, strategies as st

from tests.drawn import DTYPES, agree, arrays, stretchable

UNARY = [
    "abs", "acos", "asinh", "atan", "bessel_i1e", "cbrt", "ceil", "clz", "conj", "cos", "cosh", "digamma", "erf", "erf_inv",
    "exp", "exp2", "expm1", "floor", "imag", "is_finite", "lgamma", "log", "log1p", "logistic", "bitwise_not", "neg",
    "population_count", "real", "round", "rsqrt", "sign", "sin", "sqrt", "square", "tan", "tanh",
]  # fmt: skip
BINARY = [
    "add", "sub", "mul", "div", "rem", "max", "min", "pow", "atan2", "nextafter", "eq", "ne", "lt", "ge", "bitwise_and",
    "bitwise_or", "bitwise_xor", "shift_left", "shift_right_logical", "shift_right_arithmetic", "complex", "igamma",
]  # fmt: skip


@pytest.mark.parametrize("name", UNARY)
@given(data=st.data())
def test_unary(name, data):
    x = data.draw(arrays(DTYPES))
    agree(lambda _, j, x: getattr(j.lax, name)(x), None, x)


@pytest.mark.parametrize("name", BINARY)
@given(data=st.data())
def test_binary(name, data):
    """Neither dtypes nor ranks are promoted."""
    if data.draw(st.booleans()):
        x, y = data.draw(stretchable(DTYPES))
    else:
        x, y = data.draw(stretchable([data.draw(st.sampled_from(DTYPES))]))
    agree(lambda _, j, x, y: getattr(j.lax, name)(x, y), None, x, y)


@given(data=st.data())
def test_integer_pow(data):
    x = data.draw(arrays(DTYPES))
    agree(lambda _, j, x: j.lax.integer_pow(x, 3), None, x)
