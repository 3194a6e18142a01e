"""Comparison with JAX: dtypes, weak types, shapes, values and error types of one expression in two namespaces."""

import jax
import numpy as np
import pytest

import plugjax


def _same(found, expected, tolerance):
    found, expected = plugjax.tree.leaves(found), jax.tree.leaves(expected)
    for x, y in zip(found, expected, strict=True):
        if isinstance(y, jax.Array):
            assert (x.shape, x.dtype, x.weak_type) == (y.shape, y.dtype, y.weak_type)
        np.testing.assert_allclose(
            np.asarray(x, complex), np.asarray(y, complex), rtol=tolerance, atol=tolerance
        )


def _agree(expression, ours, theirs, tolerance=1e-4, jit=False):
    try:
        expected = jax.jit(lambda: expression(theirs))() if jit else expression(theirs)
    except Exception as error:
        builtin = next(t for t in type(error).__mro__ if t.__module__ == "builtins")
        with pytest.raises(builtin):
            expression(ours)
        return
    _same(expression(ours), expected, tolerance)


@pytest.fixture
def agree():
    """Asserts that ``expression(namespace)`` gives, or raises, the same in both namespaces; with one compilation if ``jit``."""
    return _agree
