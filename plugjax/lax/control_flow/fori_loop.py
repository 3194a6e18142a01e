"""Counted loops: a ``scan`` if the number of steps is known, so that reverse mode works, else a ``while_loop``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from plugjax.extend.core import (
    ArrayLike,
    ShapedArray,
    Tracer,
    as_array,
    convert_element_type_p,
    scalar_aval,
)
from plugjax.extend.transforms import derived_once
from plugjax.lax.arithmetic import add
from plugjax.lax.axes import is_symbolic, larger
from plugjax.lax.comparison import lt
from plugjax.lax.control_flow.bodies import runs_as_python
from plugjax.lax.control_flow.python_loops import python_fori
from plugjax.lax.control_flow.scan import scan
from plugjax.lax.control_flow.while_loop import while_loop
from plugjax.lax.families import scalar


def _known(bound: Any) -> int | None:
    if isinstance(bound, Tracer):
        bound = bound._concrete()
        if bound is None:
            return None
    return bound if is_symbolic(bound) else int(bound)


def _common_type(lower: ShapedArray, upper: ShapedArray) -> tuple[Any, bool]:
    """Dtype and weakness of an index; a weak integer follows another signed one."""
    for bound in (lower, upper):
        if bound.shape:
            raise TypeError(
                f"lax.fori_loop needs integer scalars as bounds, got {bound.str_short()}."
            )
    if lower.dtype == upper.dtype:
        return lower.dtype, lower.weak_type and upper.weak_type
    signed = lower.dtype.kind == upper.dtype.kind == "i"
    if not signed or lower.weak_type == upper.weak_type:
        raise TypeError(
            f"lower and upper arguments to fori_loop must have equal types, got lower {lower.dtype.name} and upper {upper.dtype.name}."
        )
    return (upper if lower.weak_type else lower).dtype, False


def fori_loop(
    lower: ArrayLike,
    upper: ArrayLike,
    body_fun: Callable[[Any, Any], Any],
    init_val: Any,
    *,
    unroll: int | bool | None = None,
) -> Any:
    """Repeat ``val = body_fun(i, val)`` for ``i`` from ``lower`` to below ``upper``.

    Args:
        lower: integer scalar: the first index. Indices of a loop with known bounds are weak ``int``, as in JAX.
        upper: integer scalar: the index to stop before.
        body_fun: ``(i, val) -> val``, keeping structure, shapes and dtypes.
        init_val: pytree: the first value.
        unroll: steps per iteration of the compiled loop; needs bounds that are known.

    Returns:
        The last value. Reverse-mode differentiable if both bounds are known when the function is traced.

    Raises:
        TypeError: bounds are not scalars of one dtype, or the body changes the type of the carry.

    Example:
        >>> from plugjax import lax
        >>> lax.fori_loop(0, 5, lambda i, x: x + i, 0)
        Array(10, dtype=int32, weak_type=True)
    """
    if not callable(body_fun):
        raise TypeError("lax.fori_loop: body_fun is not callable.")
    first, last = as_array(lower, "fori_loop"), as_array(upper, "fori_loop")
    dtype, weak = _common_type(first.aval, last.aval)
    start, stop = _known(lower), _known(upper)
    if start is not None and stop is not None:
        length = larger(stop - start, 0)
        if runs_as_python():
            return python_fori(start, stop, scalar_aval(start), body_fun, init_val)

        (_, result), _ = scan(
            derived_once(body_fun, "fori_loop by scan", _scan_body),
            (start, init_val),
            None,
            length=length,
            unroll=False if unroll is None else unroll,
        )
        return result
    if unroll not in (None, False, 1):
        raise ValueError(
            "lax.fori_loop: a loop with traced bounds cannot be unrolled. Leave unroll out, or pass bounds that are "
            "Python ints."
        )
    limit = _as(last, dtype, weak)
    _, result, _ = while_loop(
        _below_limit,
        derived_once(body_fun, "fori_loop by while_loop", _while_body),
        (_as(first, dtype, weak), init_val, limit),
    )
    return result


def _scan_body(call: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def step(carry: tuple[Any, Any], _: Any) -> tuple[tuple[Any, Any], None]:
        i, x = carry
        return (add(i, scalar(1, i)), call(i, x)), None

    return step


def _while_body(call: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def step(state: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
        return add(state[0], scalar(1, state[0])), call(state[0], state[1]), state[2]

    return step


def _below_limit(state: tuple[Any, Any, Any]) -> Any:
    return lt(state[0], state[2])


def _as(x: Any, dtype: Any, weak: bool) -> Any:
    if x.aval.dtype == dtype and x.aval.weak_type == weak:
        return x
    return convert_element_type_p.bind(x, new_dtype=dtype, weak_type=weak)
