"""Comparison with JAX: values, dtypes, weak types and error types of one expression in both namespaces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jax_numpy
import numpy as np
import pytest

import plugjax.numpy as jnp


def _assert_same(ours: Any, theirs: Any) -> None:
    """Assert that two results agree."""
    if isinstance(theirs, (list, tuple)):
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs, strict=True):
            _assert_same(a, b)
        return
    if not isinstance(theirs, jax.Array):
        assert ours == theirs
        return
    assert (str(ours.dtype), ours.shape) == (str(theirs.dtype), theirs.shape)
    assert ours.weak_type == theirs.weak_type
    a, b = np.asarray(ours), np.asarray(theirs)
    assert (a.dtype, a.shape) == (b.dtype, b.shape)
    if a.dtype.kind in "biu":
        np.testing.assert_array_equal(a, b)
    else:
        tolerance = 2e-2 if a.dtype.itemsize < 4 else 3e-5
        wide = np.complex128 if a.dtype.kind == "c" else np.float64
        np.testing.assert_allclose(a.astype(wide), b.astype(wide), rtol=tolerance, atol=tolerance)


def _agree(expression: Callable[[Any], Any]) -> None:
    try:
        theirs = expression(jax_numpy)
    except Exception as error:
        builtin = next(t for t in type(error).__mro__ if t.__module__ == "builtins")
        with pytest.raises(builtin):
            expression(jnp)
        return
    _assert_same(expression(jnp), theirs)


@pytest.fixture
def agree() -> Callable[[Callable[[Any], Any]], None]:
    """Asserts that ``expression(namespace)`` gives, or raises, the same in both namespaces."""
    return _agree
