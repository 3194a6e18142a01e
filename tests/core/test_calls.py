"""Accepted and refused calls of transformations, with JAX as the oracle: the values, or the type of the error."""

import jax
import jax.numpy
import numpy as np
import pytest

import plugjax
import plugjax.numpy
from tests.core.call_programs import TRANSFORMATIONS, X
from tests.core.control_flow_calls import CONTROL_FLOW

pytestmark = [
    pytest.mark.filterwarnings("ignore:Some donated buffers"),
    pytest.mark.filterwarnings("ignore:.*encountered in:RuntimeWarning"),
    pytest.mark.filterwarnings("ignore:.*x64:UserWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


def outcome(library, program):
    """The result, or the names of the error's classes, its own first."""
    try:
        return program(library, library.numpy), None
    except Exception as error:
        return None, [c.__name__ for c in type(error).__mro__]


def agree(program):
    expected, their_error = outcome(jax, program)
    found, our_error = outcome(plugjax, program)
    if their_error or our_error:
        assert our_error, f"JAX raises {their_error[0]}, plugjax gives {found}"
        assert their_error, f"JAX gives {expected}, plugjax raises {our_error[0]}"
        assert their_error[0] in our_error
        return
    ours, theirs = plugjax.tree.leaves(found), jax.tree.leaves(expected)
    assert len(ours) == len(theirs)
    for x, y in zip(ours, theirs, strict=True):
        if isinstance(y, str) or getattr(y, "dtype", np.dtype(bool)).kind == "V":
            assert str(getattr(x, "dtype", x)) == str(getattr(y, "dtype", y))
            continue
        if isinstance(y, jax.Array):
            assert (x.shape, x.dtype) == (y.shape, y.dtype)
        np.testing.assert_allclose(x, y, rtol=1e-5)


@pytest.mark.spread(8)
@pytest.mark.parametrize("name", TRANSFORMATIONS)
def test_transformations(name):
    agree(TRANSFORMATIONS[name])


@pytest.mark.spread(2)
@pytest.mark.parametrize("name", CONTROL_FLOW)
def test_control_flow(name):
    agree(CONTROL_FLOW[name])


def test_what_is_not_mapped_reaches_the_function_as_it_is():
    seen = []

    def f(x, *rest):
        seen.extend(rest)
        return x

    given = (2, "words", np.float64(3.0), X, len, {"a": None})
    plugjax.vmap(f, in_axes=(0, *[None] * len(given)))(X, *given)
    assert [type(a) for a in seen] == [type(b) for b in given]


def test_cotangents_of_another_real_dtype_are_converted():
    """JAX passes them on unchanged: there a gradient of a float32 may be an integer."""

    def gradient(bar):
        f = plugjax.custom_vjp(lambda x: x * 2.0)
        f.defvjp(lambda x: (x * 2.0, None), lambda _, g: (bar,))
        return plugjax.grad(f)(1.0)

    for bar in (1, True, np.int8(1), np.float16(1), np.float64(1)):
        found = gradient(bar)
        assert (found.dtype, float(found)) == (np.float32, 1.0)
    for bar in (1j, np.zeros((), plugjax.dtypes.float0)):
        with pytest.raises(ValueError, match="needs the shape and dtype of its input"):
            gradient(bar)
