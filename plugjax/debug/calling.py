"""``debug.callback``: call a Python function from a program for its side effects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from plugjax.lax.debug_callback import bind_debug_callback, split_arguments


def callback(
    callback: Callable[..., None] | None = None,
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    **kwargs: Any,
) -> Callable[..., None] | None:
    """Call a Python function from a program; its results are ignored.

    The call follows the transformations of the program: under ``vmap`` it happens once per instance, derivatives make
    it once with the primal values, and a loop makes it in every step. Options can be given in a separate call:
    ``debug.callback(ordered=True)(function, x)``.

    Args:
        callback: takes ``args`` and ``kwargs`` with arrays as leaves; its results are ignored.
        *args: pytrees; leaves that are not arrays are passed as they are.
        ordered: whether it runs in program order with other ordered callbacks.
        partitioned: accepted as in JAX; arrays are on one device.
        **kwargs: pytrees, as ``args``.

    Raises:
        TypeError: ``callback`` is not callable, or arguments without a function.

    Differs from JAX:
        An exception of the function is raised unchanged at the call, not as the text of a ``JaxRuntimeError``.

    Example:
        >>> import plugjax
        >>> seen = []
        >>> def f(x):
        ...     plugjax.debug.callback(lambda y: seen.append(float(y)), x)
        ...     return x * x
        >>> plugjax.jit(plugjax.grad(f))(3.0)
        Array(6., dtype=float32, weak_type=True)
        >>> seen
        [3.0]
    """

    def call(callback: Callable[..., None], *args: Any, **kwargs: Any) -> None:
        if not callable(callback):
            raise TypeError(
                f"debug.callback needs a callable, got an object of type {type(callback)}."
            )
        in_tree, arrays, static = split_arguments(args, kwargs)
        bind_debug_callback(
            callback, in_tree, arrays, static, ordered=ordered, partitioned=partitioned
        )

    if callback is not None:
        call(callback, *args, **kwargs)
        return None
    if args or kwargs:
        raise TypeError(
            f"debug.callback without a function takes options only, got args={args} kwargs={kwargs}. Give them in the second call."
        )
    return call
