"""Calls drawn by hypothesis: values against NumPy or SciPy in double precision; shapes, dtypes, weak types and errors
against JAX.

JAX only traces (``eval_shape``), which costs a hundredth of a compilation. If it accepts a call that we refuse, it
compiles too.
"""

import math
import warnings

import jax
import ml_dtypes
import numpy as np
from hypothesis import strategies as st

import plugjax
from plugjax.core.array import from_host

DTYPES = ["bool", "int8", "int16", "int32", "uint8", "uint16", "uint32", "float16", "bfloat16", "float32", "complex64"]  # fmt: skip
WIDE_DTYPES = ["int64", "uint64", "float64", "complex128"]
TOLERANCE = {"bfloat16": 3e-2, "float16": 6e-3, "float32": 2e-5, "complex64": 4e-5}

SHAPES = st.lists(st.sampled_from([1, 2, 3, 3, 4, 0]), max_size=3).map(tuple)


@st.composite
def arrays(draw, dtypes, shapes=SHAPES, low=-3, high=3):
    """A NumPy array whose sums of a few elements stay within the dtype."""
    dtype, shape = np.dtype(draw(st.sampled_from(dtypes))), draw(shapes)
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    if dtype.kind == "b":
        return rng.random(shape) < 0.5
    if dtype.kind in "iu":
        return rng.integers(0 if dtype.kind == "u" else low, high + 1, shape).astype(dtype)
    x = rng.uniform(low, high, shape)
    if dtype.kind == "c":
        x = x + 1j * rng.uniform(low, high, shape)
    return x.astype(dtype)


class Weak(np.ndarray):
    """An operand of weak type. Without axes it stands for a Python number."""

    def of_plugjax(self):
        return from_host(np.asarray(self), weak_type=True) if self.ndim else self.item()

    def of_jax(self):
        return jax.ShapeDtypeStruct(self.shape, self.dtype, weak_type=True)


@st.composite
def operands(draw, dtypes, shapes=SHAPES, low=-3, high=3):
    """An array; sometimes of weak type, if there is one of its dtype."""
    x = np.asarray(draw(arrays(dtypes, shapes, low, high)))
    weak = x.dtype.name in ("int32", "float32", "complex64") and draw(st.integers(0, 3)) == 0
    return x.view(Weak) if weak else x


@st.composite
def axes_of(draw, ndim, several=True):
    """An axis, several, or none; sometimes one that does not exist."""
    one = st.integers(
        -ndim - 1 if draw(st.integers(0, 9)) == 0 else -max(ndim, 1), max(ndim - 1, 0)
    )
    if not several:
        return draw(one)
    return draw(
        st.one_of(st.none(), one, st.lists(one, max_size=max(ndim, 1), unique=True).map(tuple))
    )


@st.composite
def stretchable(draw, dtypes):
    """Two arrays whose shapes broadcast, and sometimes do not."""
    x = draw(arrays(dtypes))
    shape = tuple(n if draw(st.booleans()) else 1 for n in x.shape)
    shape = shape[draw(st.integers(0, len(shape))) :]
    if draw(st.integers(0, 9)) == 0:
        shape = (*shape[:-1], 5)
    y = draw(arrays(dtypes, st.just(shape)))
    return x, y


def outcome(f):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return f()
    except Exception as error:
        return error


def same_error(ours, theirs):
    """Whether our error has the builtin type of JAX's error, and the name of its class if that is not a builtin."""
    builtin = next(t for t in type(theirs).__mro__ if t.__module__ == "builtins")
    name = type(theirs).__name__
    return isinstance(ours, builtin) and name in [t.__name__ for t in type(ours).__mro__]


def widened(x, inexact):
    """In double precision; integers too, if the result is inexact."""
    x = np.asarray(x)
    if x.dtype.kind == "c":
        return x.astype(np.complex128)
    if x.dtype.kind in "fV" or (inexact and x.dtype.kind in "biu"):
        return x.astype(np.float64)
    return x


def agree(call, oracle, *args, tolerance=1):
    """Compare one call.

    Args:
        call: ``call(numpy_namespace, library, *args)``, where the library is ``plugjax`` or ``jax``.
        oracle: the expected results, from the operands in double precision; ``None`` compares types only.
        args: operands: arrays of NumPy's, or `Weak`.
        tolerance: multiple of the rounding error of a single operation.
    """
    mine = [x.of_plugjax() if isinstance(x, Weak) else x for x in args]
    avals = [x.of_jax() if isinstance(x, Weak) else x for x in args]
    ours = outcome(lambda: plugjax.tree.leaves(call(plugjax.numpy, plugjax, *mine)))
    theirs = outcome(
        lambda: jax.tree.leaves(jax.eval_shape(lambda *xs: call(jax.numpy, jax, *xs), *avals))
    )
    if isinstance(theirs, Exception):
        assert same_error(ours, theirs), f"{ours!r} where JAX raises {theirs!r}"
        return
    if isinstance(ours, Exception):
        later = outcome(
            lambda: jax.jit(lambda *xs: call(jax.numpy, jax, *xs)).lower(*avals).compile()
        )
        if isinstance(later, Exception):
            return  # JAX checks this only when it compiles.
        raise AssertionError(f"raises where JAX gives {theirs}") from ours
    found = [(x.shape, str(x.dtype), x.weak_type) for x in ours]
    wanted = [(y.shape, str(y.dtype), y.weak_type) for y in theirs]
    assert found == wanted, f"{found}, JAX: {wanted}"
    if oracle is None or any(math.prod(x.shape) == 0 for x in ours):
        return
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        inexact = any(y.dtype.kind in "fcV" for y in ours)
        expected = outcome(lambda: oracle(*[widened(x, inexact) for x in args]))
    if isinstance(expected, TypeError):
        return  # NumPy lacks the function for these dtypes.
    if isinstance(expected, Exception):
        raise expected
    expected = expected if isinstance(expected, tuple | list) else [expected]
    for x, y in zip(ours, expected, strict=True):
        value, y = np.asarray(x), np.asarray(y)
        if value.dtype.kind in "biu":
            np.testing.assert_array_equal(value, y.astype(value.dtype))
        else:
            allowed = tolerance * TOLERANCE.get(value.dtype.name, 1e-9)
            wide = np.complex128 if value.dtype.kind == "c" else np.float64
            with np.errstate(all="ignore"):
                # Values beyond the dtype become infinities.
                y = y.astype(value.dtype).astype(wide)
            np.testing.assert_allclose(value.astype(wide), y, rtol=allowed, atol=allowed)


assert ml_dtypes  # NumPy knows bfloat16 once it is registered.
