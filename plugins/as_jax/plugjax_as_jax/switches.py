"""What behaves as in JAX from the first ``import jax`` on, and otherwise in plugjax."""

from __future__ import annotations

import plugjax

_PROTOCOLS = ("__array_ufunc__", "__array_function__")


def turn() -> None:
    """Turn all of them, for the whole process. A second call changes nothing.

    * Functions of NumPy give NumPy arrays for arrays of plugjax, which libraries write into; tracers refuse them.
    * An exception of a callback is the text of a ``JaxRuntimeError``.
    """
    for kind in plugjax.Array.__mro__:
        for name in _PROTOCOLS:
            if name in vars(kind):
                delattr(kind, name)
    plugjax.config.update("callback_errors", "runtime")
