"""Eager evaluation of primitives that a program defines, and values of classes that it makes arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from plugjax.extend.backend import Backend
from plugjax.extend.calls import apply_primitive
from plugjax.extend.dtypes import canonicalize
from plugjax.extend.transforms import show_only

Handler = Callable[[Any], Any]


class _Handlers:
    """By class, what makes a NumPy array of a value; assignment makes values of a class array-like.

    The class gets the method ``__jax_array__``, by which every function takes its values.
    """

    def __getitem__(self, kind: type) -> Handler:
        return _host_array

    def __setitem__(self, kind: type, handler: Handler) -> None:
        def as_array(value: Any) -> Any:
            return handler(value)

        try:
            kind.__jax_array__ = as_array  # type: ignore[attr-defined]  # added here
        except TypeError:
            raise TypeError(
                f"canonicalize_dtype_handlers: values of {kind} are converted as they are; give a class of your own."
            ) from None


def _host_array(value: Any) -> np.ndarray[Any, Any]:
    array = np.asarray(value)
    return array.astype(canonicalize(array.dtype), copy=False)


canonicalize_dtype_handlers = _Handlers()

__all__ = ["Backend", "apply_primitive", "canonicalize_dtype_handlers"]

show_only(globals(), __all__)
