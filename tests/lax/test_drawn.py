"""`plugjax.lax` on drawn dtypes, shapes and axes: types and errors against JAX, values against NumPy (`tests/drawn.py`)."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.drawn import DTYPES, agree, arrays, axes_of, stretchable

UNARY = [
    "abs", "acos", "asinh", "atan", "bessel_i1e", "cbrt", "ceil", "clz", "conj", "cos", "cosh", "digamma", "erf", "erf_inv",
    "exp", "exp2", "expm1", "floor", "imag", "is_finite", "lgamma", "log", "log1p", "logistic", "bitwise_not", "neg",
    "population_count", "real", "round", "rsqrt", "sign", "sin", "sqrt", "square", "tan", "tanh",
]  # fmt: skip
BINARY = [
    "add", "sub", "mul", "div", "rem", "max", "min", "pow", "atan2", "nextafter", "eq", "ne", "lt", "ge", "bitwise_and",
    "bitwise_or", "bitwise_xor", "shift_left", "shift_right_logical", "shift_right_arithmetic", "complex", "igamma",
]  # fmt: skip
REDUCTIONS = ["reduce_sum", "reduce_prod", "reduce_max", "reduce_min", "reduce_and", "reduce_or", "reduce_xor"]  # fmt: skip
ALONG = ["argmax", "argmin", "cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp", "sort", "top_k"]  # fmt: skip
SHAPES = {
    "reshape": lambda lax, x, a, b: lax.reshape(x, (x.size,)),
    "squeeze": lambda lax, x, a, b: lax.squeeze(x, (a,)),
    "expand_dims": lambda lax, x, a, b: lax.expand_dims(x, (a,)),
    "transpose": lambda lax, x, a, b: lax.transpose(x, tuple(range(x.ndim))[::-1]),
    "rev": lambda lax, x, a, b: lax.rev(x, (a,)),
    "broadcast": lambda lax, x, a, b: lax.broadcast(x, (2, 3)),
    "broadcast_in_dim": lambda lax, x, a, b: lax.broadcast_in_dim(x, (2, *x.shape), tuple(range(1, x.ndim + 1))),
    "concatenate": lambda lax, x, a, b: lax.concatenate([x, x], a),
    "slice_in_dim": lambda lax, x, a, b: lax.slice_in_dim(x, 0, 1, axis=a),
    "index_in_dim": lambda lax, x, a, b: lax.index_in_dim(x, 0, a),
    "dynamic_slice": lambda lax, x, a, b: lax.dynamic_slice(x, (b,) * x.ndim, (1,) * x.ndim),
    "dynamic_update_slice": lambda lax, x, a, b: lax.dynamic_update_slice(x, x[:1] if x.ndim else x, (b,) * x.ndim),
    "pad": lambda lax, x, a, b: lax.pad(x, x.dtype.type(0), ((1, -1, 1),) * x.ndim),
    "convert": lambda lax, x, a, b: lax.convert_element_type(x, np.int8),
    "full_like": lambda lax, x, a, b: lax.full_like(x, 2),
    "clamp": lambda lax, x, a, b: lax.clamp(x.dtype.type(0), x, x.dtype.type(1)),
    "select": lambda lax, x, a, b: lax.select(np.ones(x.shape, bool), x, x),
    "integer_pow": lambda lax, x, a, b: lax.integer_pow(x, 3),
    "bitcast": lambda lax, x, a, b: lax.bitcast_convert_type(x, np.uint8),
    "iota": lambda lax, x, a, b: lax.broadcasted_iota(x.dtype, (2, 3), a),
    "dot": lambda lax, x, a, b: lax.dot(x, x),
    "batch_matmul": lambda lax, x, a, b: lax.batch_matmul(x, x),
    "split": lambda lax, x, a, b: lax.split(x, (1, 2), a),
}  # fmt: skip


@pytest.mark.parametrize("name", UNARY)
@given(data=st.data())
def test_unary(name, data):
    x = data.draw(arrays(DTYPES))
    agree(lambda _, j, x: getattr(j.lax, name)(x), None, x)


@pytest.mark.parametrize("name", BINARY)
@given(data=st.data())
def test_binary(name, data):
    """Dtypes are not promoted, and ranks neither."""
    if data.draw(st.booleans()):
        x, y = data.draw(stretchable(DTYPES))
    else:
        x, y = data.draw(stretchable([data.draw(st.sampled_from(DTYPES))]))
    agree(lambda _, j, x, y: getattr(j.lax, name)(x, y), None, x, y)


@pytest.mark.parametrize("name", REDUCTIONS)
@given(data=st.data())
def test_reductions(name, data):
    x = data.draw(arrays(DTYPES))
    axes = data.draw(axes_of(x.ndim))
    axes = tuple(range(x.ndim)) if axes is None else (axes,) if isinstance(axes, int) else axes
    # Of two errors, either may come first.
    numeric = x.dtype == "float32" and name in ("reduce_sum", "reduce_prod", "reduce_max", "reduce_min")  # fmt: skip
    assume(numeric or all(0 <= d < x.ndim for d in axes))
    agree(lambda _, j, x: getattr(j.lax, name)(x, axes), None, x)


@pytest.mark.parametrize("name", ALONG)
@given(data=st.data())
def test_along_an_axis(name, data):
    x = data.draw(arrays(DTYPES))
    axis = data.draw(axes_of(x.ndim, several=False))
    assume(x.dtype == "float32" or 0 <= axis < x.ndim)
    # JAX takes these as long as there is nothing to compute.
    assume(x.dtype.kind != "c" or not name.startswith("arg"))
    assume(x.dtype.kind in "fcV" or name != "cumlogsumexp")
    rest = (np.int32,) if name.startswith("arg") else ()
    agree(lambda _, j, x: getattr(j.lax, name)(x, axis, *rest), None, x)


@pytest.mark.parametrize("name", SHAPES)
@given(data=st.data())
def test_shapes(name, data):
    x = data.draw(arrays(DTYPES))
    a, b = data.draw(axes_of(x.ndim, several=False)), data.draw(st.integers(-2, 2))
    # JAX looks into the shape before it looks at the axis.
    assume(not name.endswith("in_dim") or -x.ndim <= a < x.ndim)
    agree(lambda _, j, x: SHAPES[name](j.lax, x, a, b), None, x)
