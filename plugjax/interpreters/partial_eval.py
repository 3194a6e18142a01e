"""Programs written down and cut down: dead code, tracing to a program, and evaluation of what is known.

Traces here know each other, so one kind of tracer stands for JAX's two.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plugjax.extend.calls import Definitions
from plugjax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn, as_array
from plugjax.extend.linear_util import WrappedFun
from plugjax.extend.rules import dce_rule, partial_eval_rule
from plugjax.extend.transforms import StagingTracer, prune, show_only, stage
from plugjax.interpreters.partial_values import (
    PartialVal,
    custom_partial_eval_rules,
    flags,
    trace_to_jaxpr_nounits,
)

Val = Any
DynamicJaxprTracer = StagingTracer
JaxprTracer = StagingTracer

# Rules ``(used_outputs, eqn) -> (used_inputs, new eqn or None)``; asked if some results of the equation are read.
dce_rules = Definitions(dce_rule)
# Rules ``(policy, unknown_in, again_in, eqn) -> (eqn or None, eqn or None, unknown_out, again_out, residuals)``; asked where
# ``checkpoint`` splits a program. All operands are known there: of tangents it is the linear program that is kept.
partial_eval_jaxpr_custom_rules = Definitions(partial_eval_rule)


def dce_jaxpr(
    jaxpr: Jaxpr,
    used_outputs: bool | Sequence[bool],
    instantiate: bool | Sequence[bool] = False,
) -> tuple[Jaxpr, list[bool]]:
    """Keep some outputs of a program, and what they need.

    Args:
        jaxpr: the program.
        used_outputs: which outputs to keep.
        instantiate: which inputs to keep even if nothing reads them.

    Returns:
        The program, without equations that nothing needs, and which inputs it has.

    Example:
        >>> import plugjax
        >>> from plugjax.interpreters import partial_eval as pe
        >>> program = plugjax.make_jaxpr(lambda x, y: (x + 1.0, y * 2.0))(1.0, 1.0)
        >>> pe.dce_jaxpr(program.jaxpr, [False, True])
        ({ lambda ; a:f32[]. let b:f32[] = mul a 2.0:f32[] in (b,) }, [False, True])
    """
    used = flags(used_outputs, len(jaxpr.outvars))
    pruned, needed = prune(jaxpr, used)
    kept = [n or k for n, k in zip(needed, flags(instantiate, len(jaxpr.invars)), strict=True)]
    invars = [v for v, k in zip(jaxpr.invars, kept, strict=True) if k]
    found = Jaxpr(jaxpr.constvars, invars, pruned.outvars, pruned.eqns, jaxpr.debug_name)
    return found, kept


def dce_jaxpr_consts(
    jaxpr: Jaxpr,
    used_outputs: bool | Sequence[bool],
    instantiate: bool | Sequence[bool] = False,
) -> tuple[Jaxpr, list[bool], list[bool]]:
    """As :func:`dce_jaxpr`, with constants that nothing reads dropped too.

    Returns:
        The program, which constants it has, and which inputs.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> from plugjax.interpreters import partial_eval as pe
        >>> big = jnp.arange(3.0)
        >>> program = plugjax.make_jaxpr(lambda x: (x + big, x))(1.0)
        >>> pe.dce_jaxpr_consts(program.jaxpr, [False, True])
        ({ lambda ; a:f32[]. let  in (a,) }, [False], [True])
    """
    found, kept = dce_jaxpr(jaxpr, used_outputs, instantiate)
    pruned, _ = prune(jaxpr, flags(used_outputs, len(jaxpr.outvars)))
    live = set(pruned.constvars)
    found = Jaxpr(pruned.constvars, found.invars, found.outvars, found.eqns, jaxpr.debug_name)
    return found, [v in live for v in jaxpr.constvars], kept


def _pruned_call(
    used_outputs: Sequence[bool], eqn: JaxprEqn, call_jaxpr: Any, needed: list[bool]
) -> tuple[list[bool], JaxprEqn | None]:
    if not any(used_outputs) and not eqn.effects:
        return [False] * len(eqn.invars), None
    invars = [v for v, n in zip(eqn.invars, needed, strict=True) if n]
    outvars = [v for v, u in zip(eqn.outvars, used_outputs, strict=True) if u]
    params = {**eqn.params, "call_jaxpr": call_jaxpr}
    return needed, eqn.replace(invars=invars, outvars=outvars, params=params)


def dce_jaxpr_call_rule(
    used_outputs: Sequence[bool], eqn: JaxprEqn
) -> tuple[list[bool], JaxprEqn | None]:
    """A rule for :data:`dce_rules`, of equations that call the open program in their parameter ``call_jaxpr``.

    Example:
        >>> import plugjax
        >>> from plugjax.extend.core import Primitive
        >>> from plugjax.interpreters import partial_eval as pe
        >>> call_p = Primitive("my_call")
        >>> pe.dce_rules[call_p] = pe.dce_jaxpr_call_rule
        >>> call_p in pe.dce_rules
        True
    """
    found, needed = dce_jaxpr(eqn.params["call_jaxpr"], used_outputs)
    return _pruned_call(used_outputs, eqn, found, needed)


def dce_jaxpr_closed_call_rule(
    used_outputs: Sequence[bool], eqn: JaxprEqn
) -> tuple[list[bool], JaxprEqn | None]:
    """As :func:`dce_jaxpr_call_rule`, with a closed program.

    Example:
        >>> import plugjax
        >>> from plugjax.extend.core import CallPrimitive
        >>> from plugjax.interpreters import partial_eval as pe
        >>> call_p = CallPrimitive("two_results")
        >>> pe.dce_rules[call_p] = pe.dce_jaxpr_closed_call_rule
        >>> f = lambda x: call_p.bind(x, subfuns=(lambda y: [y + 1.0, y * 2.0],))
        >>> pe.dce_jaxpr(plugjax.make_jaxpr(f)(1.0).jaxpr, [False, True])[0].eqns[0].params["call_jaxpr"]
        { lambda ; a:f32[]. let b:f32[] = mul a 2.0:f32[] in (b,) }
    """
    program: ClosedJaxpr = eqn.params["call_jaxpr"]
    found, needed = dce_jaxpr(program.jaxpr, used_outputs)
    return _pruned_call(used_outputs, eqn, ClosedJaxpr(found, program.consts), needed)


def trace_to_jaxpr_dynamic(
    fun: WrappedFun, in_avals: Sequence[Any]
) -> tuple[Jaxpr, list[Any], list[Any]]:
    """Write down what a function does.

    Args:
        fun: of arrays, gives a sequence of them.
        in_avals: types of its arguments.

    Returns:
        The program, the types of its outputs, and the values of its constants.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.core import ShapedArray
        >>> from plugjax.extend import linear_util as lu
        >>> from plugjax.interpreters import partial_eval as pe
        >>> pe.trace_to_jaxpr_dynamic(lu.wrap_init(lambda x: [jnp.sin(x)]), [ShapedArray((), "float32")])[0]
        { lambda ; a:f32[]. let b:f32[] = sin a in (b,) }
    """
    program = stage(
        lambda *xs: [as_array(y) for y in fun.call_wrapped(*xs)], in_avals, fun.__name__
    )
    return program.jaxpr, program.out_avals, program.consts


__all__ = [
    "DynamicJaxprTracer",
    "JaxprTracer",
    "PartialVal",
    "Val",
    "custom_partial_eval_rules",
    "dce_jaxpr",
    "dce_jaxpr_call_rule",
    "dce_jaxpr_closed_call_rule",
    "dce_jaxpr_consts",
    "dce_rules",
    "partial_eval_jaxpr_custom_rules",
    "trace_to_jaxpr_dynamic",
    "trace_to_jaxpr_nounits",
]

show_only(globals(), __all__)
