"""A function applied to the elements that a scatter would write.

An element that is written n times becomes f applied n times. Scattering ones counts the writes; each round applies the
function to all elements with writes left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from plugjax.extend.core import (
    Array,
    ArrayLike,
    ShapedArray,
    Tracer,
    as_array,
    aval_of,
    eval_closed,
)
from plugjax.extend.errors import DtypeError
from plugjax.extend.transforms import Axis, batch_jaxpr, stage
from plugjax.lax.arithmetic import add
from plugjax.lax.axes import static_sizes
from plugjax.lax.comparison import gt, lt
from plugjax.lax.control_flow.while_loop import while_loop
from plugjax.lax.dimension_numbers import GatherScatterMode, ScatterDimensionNumbers
from plugjax.lax.families import convert
from plugjax.lax.gather_scatter import scatter_add
from plugjax.lax.reduction import reduce_max
from plugjax.lax.selection import select
from plugjax.lax.shape import full, reshape


def scatter_apply(
    operand: ArrayLike,
    scatter_indices: ArrayLike,
    func: Callable[[Any], Any],
    dimension_numbers: ScatterDimensionNumbers,
    *,
    update_shape: Sequence[int] = (),
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: str | GatherScatterMode | None = None,
) -> Array:
    """``operand`` with a function applied to the elements of windows, once for each window that an element is in.

    Args:
        operand: the array.
        scatter_indices: where windows start; see :func:`scatter`.
        func: of a scalar; gives a scalar of the same dtype.
        dimension_numbers: which axis means what.
        update_shape: shape of the updates in :func:`scatter`.
        indices_are_sorted: promise that the index vectors are in order.
        unique_indices: promise that no two windows overlap.
        mode: treatment of a window that leaves the operand; ``None`` is ``"drop"``.

    Raises:
        NotImplementedError: ``func`` closes over a value that is being traced.
        TypeError: ``func`` returns another type.

    Differs from JAX:
        With ``unique_indices`` it has a derivative, otherwise only in forward mode.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax import lax
        >>> numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
        >>> lax.scatter_apply(jnp.arange(4), jnp.array([[1], [3], [1]]), lambda x: x * 10, numbers, update_shape=(3,))
        Array([  0, 100,   2,  30], dtype=int32)
    """
    x = as_array(operand, "scatter_apply")
    function = _on_arrays(func, x.aval)
    counts = scatter_add(
        full(x.aval.shape, np.int32(0)),
        scatter_indices,
        full(static_sizes("scatter_apply", update_shape), np.int32(1)),
        dimension_numbers,
        indices_are_sorted=indices_are_sorted,
        unique_indices=unique_indices,
        mode=mode,
    )
    if unique_indices:
        return select(gt(counts, np.int32(0)), function(x), x)
    most = reduce_max(counts, tuple(range(x.aval.ndim)))

    def step(state: tuple[Any, Any]) -> tuple[Any, Any]:
        done, y = state
        return add(done, np.int32(1)), select(gt(counts, done), function(y), y)

    return while_loop(lambda state: lt(state[0], most), step, (np.int32(0), x))[1]


def _on_arrays(func: Callable[[Any], Any], aval: ShapedArray) -> Callable[[Any], Any]:
    """A function of scalars as one of arrays."""
    scalar = ShapedArray((), aval.dtype, aval.weak_type)

    def flat(x: Any) -> list[Any]:
        y = as_array(func(x), "scatter_apply")
        found = aval_of(y)
        if found.shape or found.dtype != aval.dtype:
            raise DtypeError(
                f"scatter_apply: the function must give {scalar.str_short()}, got {found.str_short()}."
            )
        return [convert(y, aval.dtype, aval.weak_type)]

    program = stage(flat, [scalar], "scatter_apply")
    if any(isinstance(c, Tracer) for c in program.consts):
        raise NotImplementedError(
            "scatter_apply: func uses a traced value from outside. It may use its argument and constants only."
        )
    batched, _ = batch_jaxpr(program, Axis(aval.size), [True], True)

    def apply(x: Any) -> Any:
        (y,) = eval_closed(batched, reshape(x, (aval.size,)))
        return reshape(y, aval.shape)

    return apply
