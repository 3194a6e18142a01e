"""Calls: a program as one equation, and the primitive ``jit``.

Transformations work on the program and keep it one equation, so that backends compile it as one; derived programs are kept
with their source.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from plugjax.calls.remat_policy import (
    Policy,
    SplitEquation,
    remat_rule,
    split_by_policy,
)
from plugjax.core.aval import ShapedArray
from plugjax.core.jaxpr import ClosedJaxpr, JaxprEqn, Var
from plugjax.core.primitive import Primitive
from plugjax.core.rules import RuleSet, abstract_eval
from plugjax.core.vocabulary import Zero
from plugjax.transforms.batching import (
    Axis,
    batch_jaxpr,
    batching_rule,
    leading_dim,
    materialize,
)
from plugjax.transforms.dce import dce_rule, prune_closed
from plugjax.transforms.discharge import discharge_rule, discharged
from plugjax.transforms.expansion import Kept, expand_rule
from plugjax.transforms.high_values import MappingSpec, lowered, lowered_rule
from plugjax.transforms.jvp import jvp_jaxpr, jvp_rule, with_zeros
from plugjax.transforms.linearize import linearize_jaxpr, linearize_rule
from plugjax.transforms.transpose import (
    is_undefined_primal,
    transpose_jaxpr,
    transpose_rule,
)

rules = RuleSet(__name__)

jit_p = Primitive("jit", multiple_results=True, structured=True)

Derived = Callable[[str, dict[str, Any]], dict[str, Any]]


def define_call(rules: RuleSet, primitive: Primitive, derived: Derived) -> None:
    """Rules of a primitive that computes the program in its parameter ``jaxpr``, save that for linearization.

    Args:
        rules: where to put them.
        primitive: the primitive.
        derived: the other parameters of the call of a program that a transformation made of this one: a function of the
            transformation's name and the parameters of the original call.
    """

    @rules.define(abstract_eval, primitive)
    def _avals(*avals: ShapedArray, jaxpr: ClosedJaxpr, **_: Any) -> list[ShapedArray]:
        return jaxpr.out_avals

    @rules.define(jvp_rule, primitive)
    def _jvp(
        primals: Sequence[Any], tangents: Sequence[Any], *, jaxpr: ClosedJaxpr, **params: Any
    ) -> tuple[list[Any], list[Any]]:
        nonzeros = [type(t) is not Zero for t in tangents]
        derivative, nonzero_out = jvp_jaxpr(jaxpr, nonzeros)
        given = [t for t in tangents if type(t) is not Zero]
        results = primitive.bind(*primals, *given, jaxpr=derivative, **derived("jvp", params))
        count = len(jaxpr.out_avals)
        return results[:count], with_zeros(results[count:], nonzero_out, jaxpr.out_avals)

    @rules.define(transpose_rule, primitive)
    def _transpose(
        cotangents: Sequence[Any], *operands: Any, jaxpr: ClosedJaxpr, **params: Any
    ) -> list[Any]:
        linear = [is_undefined_primal(x) for x in operands]
        nonzero = [type(bar) is not Zero for bar in cotangents]
        program, nonzero_in = transpose_jaxpr(jaxpr, linear, nonzero)
        values = [x for x in operands if not is_undefined_primal(x)]
        given = [bar for bar in cotangents if type(bar) is not Zero]
        results = primitive.bind(*values, *given, jaxpr=program, **derived("transpose", params))
        found, wanted = iter(results), iter(nonzero_in)
        return [
            (next(found) if next(wanted) else Zero(x.aval)) if is_linear else None
            for x, is_linear in zip(operands, linear, strict=True)
        ]

    @rules.define(batching_rule, primitive)
    def _batching(
        axis: Axis,
        args: Sequence[Any],
        dims: Sequence[int | None],
        *,
        jaxpr: ClosedJaxpr,
        **params: Any,
    ) -> tuple[list[Any], list[int | None]]:
        kept = [d if isinstance(d, MappingSpec) else d is not None for d in dims]
        program, batched_out = batch_jaxpr(jaxpr, axis, kept)
        moved = [
            materialize(x, d, axis) if k is True else x
            for x, d, k in zip(args, dims, kept, strict=True)
        ]
        outs = primitive.bind(*moved, jaxpr=program, **derived("vmap", params))
        return outs, [leading_dim(b) for b in batched_out]

    @rules.define(dce_rule, primitive)
    def _dce(used: Sequence[bool], eqn: JaxprEqn) -> tuple[Sequence[bool], JaxprEqn | None]:
        program, needed = prune_closed(eqn.params["jaxpr"], tuple(used))
        invars = [v for v, n in zip(eqn.invars, needed, strict=True) if n]
        outvars = [v for v, u in zip(eqn.outvars, used, strict=True) if u]
        return needed, eqn.replace(
            invars=invars, outvars=outvars, params={**eqn.params, "jaxpr": program}
        )

    @rules.define(remat_rule, primitive)
    def _remat(policy: Policy, eqn: JaxprEqn) -> SplitEquation | None:
        split = split_by_policy(eqn.params["jaxpr"], policy)
        if not split.saved:
            return None
        saved = [Var(v.aval) for v in split.saved]
        forward = {**eqn.params, "jaxpr": split.forward}
        again = {**eqn.params, "jaxpr": split.again}
        return SplitEquation(
            eqn.replace(outvars=[*eqn.outvars, *saved], params=forward),
            saved,
            eqn.replace(invars=[*eqn.invars, *saved], params=again),
        )


define_call(rules, jit_p, lambda prefix, params: {**params, "name": f"{prefix}({params['name']})"})


@rules.define(linearize_rule, jit_p)
def _jit_linearize(
    primals: Sequence[Any], tangents: Sequence[Any], *, jaxpr: ClosedJaxpr, name: str
) -> tuple[list[Any], list[Any]]:
    split = linearize_jaxpr(jaxpr, [type(t) is not Zero for t in tangents])
    results = jit_p.bind(*primals, jaxpr=split.primal, name=name)
    count = len(jaxpr.out_avals)
    residuals = split.residuals(primals, results[count:])
    given = [t for t in tangents if type(t) is not Zero]
    found = jit_p.bind(*residuals, *given, jaxpr=split.linear, name=f"linear({name})")
    return results[:count], split.tangents(found)


@rules.define(discharge_rule, jit_p)
def _discharge(
    marked: Sequence[bool], operands: Sequence[Any], *, jaxpr: ClosedJaxpr, name: str
) -> tuple[list[Any], list[Any]]:
    outs = jit_p.bind(*operands, jaxpr=discharged(jaxpr, marked), name=name)
    count = len(jaxpr.out_avals)
    return outs[:count], outs[count:]


@rules.define(expand_rule, jit_p)
def _expand(*, jaxpr: ClosedJaxpr, **_: Any) -> Kept:
    return Kept(jaxpr)


@rules.define(lowered_rule, jit_p)
def _lowered(
    in_avals: Sequence[Any], arrays: Sequence[Any], *, jaxpr: ClosedJaxpr, name: str
) -> list[Any]:
    found: list[Any] = jit_p.bind(*arrays, jaxpr=lowered(jaxpr), name=name)
    return found
