"""Primitives that a program defines to call a function: in programs an equation with the parameter ``call_jaxpr``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from plugjax.calls.defined_primitives import define
from plugjax.core.array import as_array, aval_of
from plugjax.core.jaxpr import ClosedJaxpr, eval_closed
from plugjax.core.primitive import Primitive, state
from plugjax.core.rules import abstract_eval
from plugjax.transforms.batching import batch_flat, batching_rule
from plugjax.transforms.expansion import expand_rule
from plugjax.transforms.jvp import jvp_flat, jvp_rule
from plugjax.transforms.linearize import linearize_on_tape, linearize_rule
from plugjax.transforms.named_axes import Axis
from plugjax.transforms.staging import StagingTrace, open_constants, stage


class CallPrimitive(Primitive):
    """A primitive that calls a function of arrays, which gives a sequence of them.

    ``bind(*args, subfuns=(function,), **params)`` writes an equation while a program is traced, and calls the function otherwise.
    A transformation of the equation transforms what it computes.

    Args:
        name: name in jaxprs.

    Example:
        >>> import plugjax
        >>> from plugjax.extend.core import CallPrimitive
        >>> marked_p = CallPrimitive("marked")
        >>> program = plugjax.make_jaxpr(lambda x: marked_p.bind(x, subfuns=(lambda y: [y * 2],)))(1.0)
        >>> program.eqns[0].primitive, len(program.eqns[0].params["call_jaxpr"].eqns)
        (marked, 1)
    """

    __slots__ = ()

    def __init__(self, name: str) -> None:
        super().__init__(name, multiple_results=True, structured=True)
        define(abstract_eval, self, lambda *_, call_jaxpr, **__: call_jaxpr.out_avals)
        define(expand_rule, self, lambda *, call_jaxpr, **_: call_jaxpr)
        define(jvp_rule, self, _jvp)
        define(linearize_rule, self, _linearize)
        define(batching_rule, self, _batching)

    @property
    def call_primitive(self) -> bool:
        """Whether the primitive calls a function: yes."""
        return True

    def bind(self, *args: Any, **params: Any) -> Any:
        """Call a function.

        Args:
            *args: its arguments.
            **params: ``subfuns``, a tuple with the function, and parameters of the equation; or ``call_jaxpr``, a program.
        """
        if "subfuns" not in params:
            return super().bind(*args, **params)
        (function,) = params.pop("subfuns")
        call: Callable[..., Sequence[Any]] = getattr(function, "call_wrapped", function)
        if not isinstance(state.trace, StagingTrace):
            return list(call(*args))
        values = [as_array(x, self.name) for x in args]
        traced = stage(
            lambda *xs: [as_array(y) for y in call(*xs)], [aval_of(x) for x in values], self.name
        )
        program, consts = open_constants(traced)
        return super().bind(*consts, *values, call_jaxpr=program, **params)


def _jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, call_jaxpr: ClosedJaxpr, **_: Any
) -> tuple[list[Any], list[Any]]:
    return jvp_flat(lambda *xs: eval_closed(call_jaxpr, *xs), primals, tangents)


def _linearize(
    primals: Sequence[Any], tangents: Sequence[Any], *, call_jaxpr: ClosedJaxpr, **_: Any
) -> tuple[list[Any], list[Any]]:
    return linearize_on_tape(lambda *xs: eval_closed(call_jaxpr, *xs), primals, tangents)


def _batching(
    axis: Axis,
    args: Sequence[Any],
    dims: Sequence[int | None],
    *,
    call_jaxpr: ClosedJaxpr,
    **_: Any,
) -> tuple[list[Any], list[int | None]]:
    return batch_flat(lambda *xs: eval_closed(call_jaxpr, *xs), axis, args, dims)


def call_impl(f: Any, *args: Any, **_: Any) -> Any:
    """Call a wrapped function.

    Example:
        >>> from plugjax.extend import linear_util as lu
        >>> from plugjax.extend.core import call_impl
        >>> call_impl(lu.wrap_init(max), 3, 4, name="ignored")
        4
    """
    return getattr(f, "call_wrapped", f)(*args)


call_p = CallPrimitive("call")
closed_call_p = CallPrimitive("closed_call")
