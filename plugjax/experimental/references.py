"""Functions that write references, made functions of arrays.

JAX has them in ``jax._src.state.discharge.run_state`` and, before 0.10, ``jax._src.lax.control_flow.for_loop``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from plugjax import tree_util
from plugjax.extend.transforms import show_only
from plugjax.lax import fori_loop
from plugjax.state import freeze, new_ref


def run_state(f: Callable[..., None]) -> Callable[[Any], Any]:
    """A function that writes references, as one from arrays to arrays.

    Args:
        f: takes a pytree of references, gives nothing.

    Returns:
        A function of a pytree of arrays, what the references refer to first, that gives what they refer to last.

    Example:
        >>> from plugjax.experimental.references import run_state
        >>> def swap(refs):
        ...     x, y = refs
        ...     x[...], y[...] = y[...], x[...]
        >>> run_state(swap)((1.0, 2.0))
        (Array(2., dtype=float32, weak_type=True), Array(1., dtype=float32, weak_type=True))
    """

    def of_arrays(args: Any) -> Any:
        refs = tree_util.tree_map(new_ref, args)
        f(refs)
        return tree_util.tree_map(freeze, refs)

    return of_arrays


def for_loop(
    nsteps: int,
    body: Callable[[Any, Any], None],
    init_state: Any,
    *,
    reverse: bool = False,
    unroll: int = 1,
) -> Any:
    """A loop whose steps write references.

    Args:
        nsteps: number of steps.
        body: takes the number of the step and a pytree of references, gives nothing.
        init_state: pytree of arrays, what the references refer to first.
        reverse: whether the last step comes first.
        unroll: how many steps are written one after the other in the loop.

    Returns:
        What the references refer to last.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.experimental.references import for_loop
        >>> def step(i, refs):
        ...     refs[0][i] = refs[1][...]
        ...     refs[1][...] += 2
        >>> for_loop(3, step, (jnp.zeros(3, int), 5))
        (Array([5, 7, 9], dtype=int32), Array(11, dtype=int32, weak_type=True))
    """

    def loop(refs: Any) -> None:
        fori_loop(
            0,
            nsteps,
            lambda i, _: body(nsteps - 1 - i if reverse else i, refs),
            None,
            unroll=unroll,
        )

    return run_state(loop)(init_state)


__all__ = ["for_loop", "run_state"]

show_only(globals(), __all__)
