"""``custom_vjp`` with ``optimize_remat``: a forward rule whose residuals nothing reads is the function itself.

The forward rule of a derivative gives results and residuals. One that is a single operation, such as a foreign call, computes both
also where only the results are read: there the function takes its place, which may be cheaper. The equation ``remat_opt`` holds both
programs. It stands for the forward rule until dead code is removed, which tells what is read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from plugjax.calls.call import jit_p
from plugjax.core.array import aval_of
from plugjax.core.aval import ShapedArray
from plugjax.core.jaxpr import ClosedJaxpr, JaxprEqn, eval_closed
from plugjax.core.primitive import Primitive
from plugjax.core.rules import RuleSet, abstract_eval
from plugjax.transforms.batching import Axis, batch_jaxpr, batching_rule, leading_dim, materialize
from plugjax.transforms.dce import dce_rule, prune_closed, prune_outputs
from plugjax.transforms.expansion import expand_rule
from plugjax.transforms.jvp import jvp_flat, jvp_rule
from plugjax.transforms.staging import open_constants, stage

rules = RuleSet(__name__)

remat_opt_p = Primitive("remat_opt", multiple_results=True, structured=True)

# Operands are the constants of both programs, then the arguments; results are the residuals, then those of the function.


def optimized_forward(
    fwd: Callable[[Sequence[Any]], tuple[Sequence[Any], Sequence[Any], Any]],
    fun: Callable[..., Sequence[Any]],
    primals: Sequence[Any],
    name: str,
) -> tuple[list[Any], list[Any], Any]:
    """What a forward rule gives, computed by an equation ``remat_opt`` if residuals are computed.

    Args:
        fwd: gives results and residuals of a list of arrays, and a description of the residuals.
        fun: gives the results alone.
        primals: the arguments.
        name: of the function.
    """
    avals = [aval_of(x) for x in primals]
    told: list[Any] = []

    def residuals_first(*xs: Any) -> list[Any]:
        outs, residuals, description = fwd(xs)
        told[:] = [len(residuals), description]
        return [*residuals, *outs]

    forward = stage(residuals_first, avals, name)
    places: dict[Any, int] = {v: i for i, v in enumerate(forward.jaxpr.invars)}
    # A residual that is an argument need not be computed.
    found = [places.get(v) for v in forward.jaxpr.outvars[: told[0]]]
    needed = (*(place is None for place in found), *(True,) * (len(forward.out_avals) - told[0]))
    forward = prune_outputs(forward, needed)
    program = stage(fun, avals, name)
    count = found.count(None)
    if not count:
        outs = eval_closed(program, *primals)
    else:
        fwd_jaxpr, fwd_consts = open_constants(forward)
        fun_jaxpr, fun_consts = open_constants(program)
        outs = remat_opt_p.bind(
            *fwd_consts,
            *fun_consts,
            *primals,
            fwd_jaxpr=fwd_jaxpr,
            fun_jaxpr=fun_jaxpr,
            num_consts=(len(fwd_consts), len(fun_consts)),
            num_res=count,
        )
    computed = iter(outs[:count])
    residuals = [next(computed) if p is None else primals[p] for p in found]
    return outs[count:], residuals, told[1]


def _forward_operands(num_consts: tuple[int, int], operands: Sequence[Any]) -> list[Any]:
    own, others = num_consts
    return [*operands[:own], *operands[own + others :]]


@rules.define(abstract_eval, remat_opt_p)
def _avals(*_: ShapedArray, fwd_jaxpr: ClosedJaxpr, **__: Any) -> list[ShapedArray]:
    return fwd_jaxpr.out_avals


def _forward(
    *, fwd_jaxpr: ClosedJaxpr, num_consts: tuple[int, int], **_: Any
) -> Callable[..., list[Any]]:
    return lambda *operands: eval_closed(fwd_jaxpr, *_forward_operands(num_consts, operands))


rules.define(expand_rule, remat_opt_p)(_forward)


@rules.define(jvp_rule, remat_opt_p)
def _jvp(
    primals: Sequence[Any], tangents: Sequence[Any], **params: Any
) -> tuple[list[Any], list[Any]]:
    return jvp_flat(_forward(**params), primals, tangents)


@rules.define(dce_rule, remat_opt_p)
def _dce(used: Sequence[bool], eqn: JaxprEqn) -> tuple[Sequence[bool], JaxprEqn | None]:
    count, own = eqn.params["num_res"], eqn.params["num_consts"][0]
    if any(used[:count]):
        return [True] * len(eqn.invars), eqn
    program, needed = prune_closed(eqn.params["fun_jaxpr"], tuple(used[count:]))
    given = [False] * own + needed
    replaced = eqn.replace(
        primitive=jit_p,
        invars=[v for v, n in zip(eqn.invars, given, strict=True) if n],
        outvars=[v for v, u in zip(eqn.outvars, used, strict=True) if u],
        params={"jaxpr": program, "name": program.jaxpr.debug_name},
        effects=program.effects,
    )
    return given, replaced


@rules.define(batching_rule, remat_opt_p)
def _batching(
    axis: Axis,
    args: Sequence[Any],
    dims: Sequence[Any],
    *,
    fwd_jaxpr: ClosedJaxpr,
    fun_jaxpr: ClosedJaxpr,
    num_consts: tuple[int, int],
    num_res: int,
) -> tuple[list[Any], list[Any]]:
    batched = [d is not None for d in dims]
    for_forward, for_fun = _forward_operands(num_consts, batched), batched[num_consts[0] :]
    _, by_fun = batch_jaxpr(fun_jaxpr, axis, for_fun)
    forward, out_batched = batch_jaxpr(fwd_jaxpr, axis, for_forward, [False] * num_res + by_fun)
    program, _ = batch_jaxpr(fun_jaxpr, axis, for_fun, out_batched[num_res:])
    moved = [x if d is None else materialize(x, d, axis) for x, d in zip(args, dims, strict=True)]
    outs = remat_opt_p.bind(
        *moved, fwd_jaxpr=forward, fun_jaxpr=program, num_consts=num_consts, num_res=num_res
    )
    return outs, [leading_dim(b) for b in out_batched]
