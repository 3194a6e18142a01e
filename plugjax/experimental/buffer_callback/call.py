"""Callbacks on buffers.

XLA hands its own memory to the function. Other backends call Python with arrays of the host: there a result is memory of NumPy's, or a
copy of the operand that it takes the place of.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from plugjax.experimental.buffer_callback.buffers import Buffer, ExecutionContext
from plugjax.extend import pytree
from plugjax.extend.core import Effect, Effects, Primitive, ShapedArray, as_array, no_effects
from plugjax.extend.rules import (
    RuleSet,
    abstract_eval,
    batching_rule,
    effects_rule,
    impl,
    jvp_rule,
    transpose_rule,
)
from plugjax.extend.transforms import Axis
from plugjax.ffi.call import checked_aliases
from plugjax.lax.callback import Opaque
from plugjax.lax.callback_batching import batched_call

rules = RuleSet(__name__)

buffer_callback_p = Primitive("buffer_callback", multiple_results=True, structured=True)


class BufferCallbackEffect(Effect):
    """The effect of ``buffer_callback(has_side_effect=True)``."""

    def __repr__(self) -> str:
        return "BufferCallback"


def buffer_callback(
    callback: Callable[..., None],
    result_shape_dtypes: Any,
    *,
    has_side_effect: bool = False,
    vmap_method: str | None = None,
    input_output_aliases: Mapping[int, int] | None = None,
    command_buffer_compatible: bool = False,
) -> Callable[..., Any]:
    """A function that calls ``callback(context, results, *args, **kwargs)``, which writes its results in place.

    Args:
        callback: takes an :class:`ExecutionContext`, a pytree of :class:`Buffer` for the results, and the arguments with a ``Buffer`` in
            place of each array. It returns ``None``.
        result_shape_dtypes: pytree of objects with ``shape`` and ``dtype``.
        has_side_effect: whether it is called even if its results are unused.
        vmap_method: what ``vmap`` does: see ``pure_callback``.
        input_output_aliases: from numbers of operands to numbers of the results that are written to their memory; both are counted over
            the leaves.
        command_buffer_compatible: on a GPU, whether what the callback starts is recorded once and repeated.

    Returns:
        A function of pytrees of arrays, which gives a pytree of arrays as ``result_shape_dtypes`` says.

    Raises:
        ValueError: aliases that do not exist or do not fit, differentiation, or a callback that returns something.
        NotImplementedError: ``vmap`` without a ``vmap_method``.

    Differs from JAX:
        It works on every backend. The memory of operands is read-only. An exception of the callback is raised unchanged.

    Example:
        >>> import numpy as np, plugjax
        >>> from plugjax.experimental.buffer_callback import buffer_callback
        >>> def add_one(context, out, x):
        ...     np.add(x, 1, out=np.asarray(out))
        >>> buffer_callback(add_one, plugjax.ShapeDtypeStruct((2,), "float32"))(np.float32([1, 2]))
        Array([2., 3.], dtype=float32)
    """
    shapes, out_tree = pytree.flatten(result_shape_dtypes)
    avals = tuple(ShapedArray(tuple(s.shape), s.dtype) for s in shapes)

    def call(*args: Any, **kwargs: Any) -> Any:
        leaves, in_tree = pytree.flatten((args, kwargs))
        operands = [as_array(x, "buffer_callback") for x in leaves]
        aliases = checked_aliases(
            "buffer_callback", input_output_aliases, [x.aval for x in operands], avals
        )
        outs = buffer_callback_p.bind(
            *operands,
            callback=Opaque(callback),
            result_avals=avals,
            in_tree=in_tree,
            out_tree=out_tree,
            vmap_method=vmap_method,
            has_side_effect=bool(has_side_effect),
            input_output_aliases=aliases,
            command_buffer_compatible=bool(command_buffer_compatible),
        )
        return pytree.unflatten(out_tree, outs)

    return call


def in_place(
    *, callback: Opaque, in_tree: Any, out_tree: Any, **_: Any
) -> Callable[[Any, Sequence[Any], Sequence[Any]], None]:
    """The call of an equation with these parameters, as a function of a context, results and operands in memory."""

    def run(native: Any, results: Sequence[Any], operands: Sequence[Any]) -> None:
        args, kwargs = pytree.unflatten(in_tree, [Buffer(x, writeable=False) for x in operands])
        outs = pytree.unflatten(out_tree, [Buffer(y, writeable=True) for y in results])
        # Kernels run without NumPy's warnings; the user's NumPy code has its usual ones.
        with np.errstate(all="warn", under="ignore"):
            returned = callback.value(ExecutionContext(native), outs, *args, **kwargs)
        if returned is not None:
            raise ValueError(
                f"buffer_callback callback must not return any values, got {returned!r}. Write to the memory of the results."
            )

    return run


@rules.define(impl, buffer_callback_p)
def on_host(
    *arrays: Any,
    result_avals: Sequence[ShapedArray],
    input_output_aliases: Sequence[tuple[int, int]],
    **params: Any,
) -> list[Any]:
    """Call it with memory of NumPy's."""
    operands = [np.asarray(x).view() for x in arrays]
    results = [np.zeros(a.shape, a.dtype) for a in result_avals]
    for operand, result in input_output_aliases:
        operands[operand] = results[result] = np.array(arrays[operand])
        operands[operand] = operands[operand].view()
    for x in operands:
        x.flags.writeable = False
    in_place(**params)(None, results, operands)
    return [y[()] for y in results]


@rules.define(abstract_eval, buffer_callback_p)
def _avals(*_: ShapedArray, result_avals: tuple[ShapedArray, ...], **__: Any) -> list[ShapedArray]:
    return list(result_avals)


@rules.define(effects_rule, buffer_callback_p)
def _effects(*, has_side_effect: bool, **_: Any) -> Effects:
    return frozenset({BufferCallbackEffect()}) if has_side_effect else no_effects


@rules.define(jvp_rule, buffer_callback_p)
def _jvp(*_: Any, **__: Any) -> NoReturn:
    raise ValueError(
        "Buffer callbacks do not support JVP. Give the derivative by plugjax.custom_jvp around the call."
    )


@rules.define(transpose_rule, buffer_callback_p)
def _transpose(*_: Any, **__: Any) -> NoReturn:
    raise ValueError(
        "Buffer callbacks do not support transpose. Give the derivative by plugjax.custom_vjp around the call."
    )


@rules.define(batching_rule, buffer_callback_p)
def _batching(
    axis: Axis,
    args: Sequence[Any],
    dims: Sequence[int | None],
    *,
    result_avals: tuple[ShapedArray, ...],
    vmap_method: str | None,
    **params: Any,
) -> tuple[list[Any], list[int]]:
    def call(xs: Sequence[Any], avals: tuple[ShapedArray, ...], _: Sequence[bool]) -> list[Any]:
        return buffer_callback_p.bind(*xs, result_avals=avals, vmap_method=vmap_method, **params)

    return batched_call("buffer_callback", vmap_method, axis, args, dims, result_avals, call)
