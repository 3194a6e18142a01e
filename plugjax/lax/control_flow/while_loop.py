"""Loops with a condition: ``while_loop``.

The carry is updated while a condition holds. Forward derivatives carry tangents along; a reverse derivative would need
the carries of an unknown number of iterations, and is refused. Under ``vmap`` with a batched condition, finished
instances keep their carry until all are finished.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from plugjax.extend import dtypes, pytree
from plugjax.extend.core import (
    ClosedJaxpr,
    JaxprEqn,
    Primitive,
    ShapedArray,
    Zero,
    as_array,
    aval_of,
    eval_closed,
    instantiate,
    memoise,
)
from plugjax.extend.errors import ConcretizationTypeError
from plugjax.extend.meshes import varying_axes
from plugjax.extend.rules import (
    RuleSet,
    abstract_eval,
    batching_rule,
    dce_rule,
    jvp_rule,
    linearize_rule,
    transpose_rule,
)
from plugjax.extend.transforms import (
    Axis,
    MutableValueError,
    batch_jaxpr,
    jvp_jaxpr,
    materialize,
    prune_closed,
    stage,
    with_zeros,
)
from plugjax.lax.control_flow.bodies import (
    check_carry,
    fixpoint,
    promote_weak_carry,
    runs_as_python,
    trace_body,
)
from plugjax.lax.control_flow.choices import varying_with
from plugjax.lax.control_flow.mutables import while_opened
from plugjax.lax.control_flow.python_loops import python_while
from plugjax.lax.effects import any_has, io_effect, ordered_io_effect
from plugjax.lax.reduction import reduce_or
from plugjax.lax.selection import per_instance, select

rules = RuleSet(__name__)

while_p = Primitive("while", multiple_results=True, structured=True)


def while_loop(
    cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init_val: Any
) -> Any:
    """Repeat ``val = body_fun(val)`` while ``cond_fun(val)``.

    Args:
        cond_fun: from the carry to a bool scalar.
        body_fun: from the carry to a carry of the same structure, shapes and dtypes.
        init_val: pytree: the first value.

    Returns:
        The last value.

    Raises:
        TypeError: the condition is not a bool scalar, or the body changes the type of the carry.

    Example:
        >>> from plugjax import lax
        >>> lax.while_loop(lambda x: x < 10, lambda x: x * 2, 1)
        Array(16, dtype=int32, weak_type=True)
    """
    if not (callable(body_fun) and callable(cond_fun)):
        raise TypeError("lax.while_loop: cond_fun or body_fun is not callable.")
    if runs_as_python():
        try:
            return python_while(cond_fun, body_fun, init_val)
        except ConcretizationTypeError:
            # A transformation hides the condition's value. The loop is then one primitive.
            pass
    try:
        return _while(cond_fun, body_fun, init_val)
    except MutableValueError as met:
        return while_opened(met, _while, cond_fun, body_fun, init_val)


def _while(cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init_val: Any) -> Any:
    leaves, tree = pytree.flatten(init_val)
    init = [as_array(x, "while_loop") for x in leaves]
    in_tree = pytree.structure((init_val,))
    while True:
        avals = [aval_of(x) for x in init]
        body, body_consts, out_tree = trace_body(body_fun, in_tree, avals, "while_loop body")
        if out_tree != tree:
            break
        init, changed = promote_weak_carry(init, body.out_avals)
        if not changed:
            break
    check_carry("while_loop body", tree, out_tree, avals, body.out_avals, pytree.paths(init_val))
    cond, cond_consts, cond_tree = trace_body(cond_fun, in_tree, avals, "while_loop condition")
    if not cond_tree.is_leaf() or cond.out_avals[0].shape or cond.out_avals[0].dtype != dtypes.BOOL:
        found = ", ".join(a.str_short() for a in cond.out_avals)
        raise TypeError(f"lax.while_loop: cond_fun must return a boolean scalar, got {found}.")
    names = varying_axes(cond.out_avals[0].vma)
    varying = [varying_with(x, names) for x in init]
    if [aval_of(x) for x in varying] != avals:
        return _while(cond_fun, body_fun, pytree.unflatten(tree, varying))
    outs = while_p.bind(
        *cond_consts,
        *body_consts,
        *init,
        cond_jaxpr=cond,
        body_jaxpr=body,
        cond_nconsts=len(cond_consts),
        body_nconsts=len(body_consts),
    )
    return pytree.unflatten(tree, outs)


@rules.define(abstract_eval, while_p)
def _while_avals(*avals: ShapedArray, body_jaxpr: ClosedJaxpr, **_: Any) -> list[ShapedArray]:
    return body_jaxpr.out_avals


@rules.define(jvp_rule, while_p)
def _while_jvp(
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    cond_jaxpr: ClosedJaxpr,
    body_jaxpr: ClosedJaxpr,
    cond_nconsts: int,
    body_nconsts: int,
) -> tuple[list[Any], list[Any]]:
    split = cond_nconsts + body_nconsts
    cond_consts, body_consts, init = (
        primals[:cond_nconsts],
        primals[cond_nconsts:split],
        primals[split:],
    )
    consts_dot, init_dot = tangents[cond_nconsts:split], tangents[split:]
    consts_nz = [type(t) is not Zero for t in consts_dot]
    carry_nz = fixpoint(
        [type(t) is not Zero for t in init_dot],
        lambda nz: jvp_jaxpr(body_jaxpr, [*consts_nz, *nz], nz)[1],
    )
    derivative, _ = jvp_jaxpr(body_jaxpr, [*consts_nz, *carry_nz], carry_nz)
    count = len(init)
    consts_given = [t for t in consts_dot if type(t) is not Zero]
    carry_given = [instantiate(t) for t, nz in zip(init_dot, carry_nz, strict=True) if nz]
    n_consts, n_dots = len(body_consts), len(consts_given)

    # The derivative takes (consts, carry, consts_dot, carry_dot); a loop body takes constants first.
    def body(*xs: Any) -> list[Any]:
        consts, dots, rest = (
            xs[:n_consts],
            xs[n_consts : n_consts + n_dots],
            xs[n_consts + n_dots :],
        )
        return eval_closed(derivative, *consts, *rest[:count], *dots, *rest[count:])

    def cond(*xs: Any) -> list[Any]:
        return eval_closed(cond_jaxpr, *xs[: cond_nconsts + count])

    given_avals = [aval_of(t) for t in consts_given]
    carry_avals = [*body_jaxpr.in_avals[n_consts:], *(aval_of(t) for t in carry_given)]
    body_avals = [*body_jaxpr.in_avals[:n_consts], *given_avals, *carry_avals]
    cond_avals = [*cond_jaxpr.in_avals[:cond_nconsts], *carry_avals]
    key = ("while jvp", n_consts, n_dots, *carry_avals)
    body_program = memoise(derivative, key, lambda: stage(body, body_avals, "jvp(while_loop)"))
    cond_program = memoise(cond_jaxpr, key, lambda: stage(cond, cond_avals, "jvp(while_loop)"))
    results = while_p.bind(
        *cond_consts,
        *body_consts,
        *consts_given,
        *init,
        *carry_given,
        cond_jaxpr=cond_program,
        body_jaxpr=body_program,
        cond_nconsts=cond_nconsts,
        body_nconsts=n_consts + n_dots,
    )
    return results[:count], with_zeros(results[count:], carry_nz, body_jaxpr.out_avals)


@rules.define(linearize_rule, while_p)
def _while_linearize(
    primals: Sequence[Any], tangents: Sequence[Any], **params: Any
) -> tuple[list[Any], list[Any]]:
    # The loop computes the values. The loop that carries values and tangents is recorded on the
    # tape as a whole.
    outs = while_p.bind(*primals, **params)
    _, outs_dot = _while_jvp(primals, tangents, **params)
    return outs, outs_dot


@rules.define(transpose_rule, while_p)
def _while_transpose(cotangents: Sequence[Any], *operands: Any, **params: Any) -> list[Any]:
    raise ValueError(
        "Reverse-mode differentiation does not work for loops whose number of steps is not known: lax.while_loop, and "
        "lax.fori_loop with traced bounds. Use lax.scan, or lax.fori_loop with bounds that are Python ints."
    )


@rules.define(batching_rule, while_p)
def _while_batching(
    axis: Axis,
    args: Sequence[Any],
    dims: Sequence[int | None],
    *,
    cond_jaxpr: ClosedJaxpr,
    body_jaxpr: ClosedJaxpr,
    cond_nconsts: int,
    body_nconsts: int,
) -> tuple[list[Any], list[int | None]]:
    if any_has((cond_jaxpr, body_jaxpr), ordered_io_effect):
        raise ValueError(
            "lax.while_loop: ordered IO has no order under vmap. Pass ordered=False to io_callback."
        )
    split = cond_nconsts + body_nconsts
    batched = [d is not None for d in dims]
    cond_b, consts_b, init_b = batched[:cond_nconsts], batched[cond_nconsts:split], batched[split:]

    def pred_batched(carry: Sequence[bool]) -> bool:
        return batch_jaxpr(cond_jaxpr, axis, [*cond_b, *carry])[1][0]

    def step(carry: Sequence[bool]) -> Sequence[bool]:
        if pred_batched(carry):
            return [True] * len(carry)
        return batch_jaxpr(body_jaxpr, axis, [*consts_b, *carry], carry)[1]

    carry_b = fixpoint(init_b, step)
    cond, _ = batch_jaxpr(cond_jaxpr, axis, [*cond_b, *carry_b])
    body, _ = batch_jaxpr(body_jaxpr, axis, [*consts_b, *carry_b], carry_b)
    moved = [
        x if d is None else materialize(x, d, axis)
        for x, d in zip(args[:split], dims[:split], strict=True)
    ]
    init = [
        materialize(x, d, axis) if b else x
        for x, d, b in zip(args[split:], dims[split:], carry_b, strict=True)
    ]
    if pred_batched(carry_b):
        if any_has((cond, body), io_effect):
            raise NotImplementedError(
                "lax.while_loop: no vmap of IO in a loop whose condition is batched: instances that are done would "
                "go on calling."
            )
        cond, body, moved = _with_batched_predicate(cond, body, moved, cond_nconsts, body_nconsts)
        body_nconsts = split
    outs = while_p.bind(
        *moved,
        *init,
        cond_jaxpr=cond,
        body_jaxpr=body,
        cond_nconsts=cond_nconsts,
        body_nconsts=body_nconsts,
    )
    return outs, [0 if b else None for b in carry_b]


def _with_batched_predicate(
    cond: ClosedJaxpr,
    body: ClosedJaxpr,
    consts: list[Any],
    cond_nconsts: int,
    body_nconsts: int,
) -> tuple[ClosedJaxpr, ClosedJaxpr, list[Any]]:
    """Continue while any instance must; finished instances keep their carry."""

    def any_left(*xs: Any) -> list[Any]:
        (pred,) = eval_closed(cond, *xs)
        return [reduce_or(pred, (0,))]

    def guarded(*xs: Any) -> list[Any]:
        cond_consts, body_consts, carry = (
            xs[:cond_nconsts],
            xs[cond_nconsts : cond_nconsts + body_nconsts],
            xs[cond_nconsts + body_nconsts :],
        )
        (pred,) = eval_closed(cond, *cond_consts, *carry)
        updated = eval_closed(body, *body_consts, *carry)
        return [
            select(per_instance(pred, aval_of(new).shape), new, old)
            for new, old in zip(updated, carry, strict=True)
        ]

    avals = [*cond.in_avals[:cond_nconsts], *body.in_avals]
    guarded_program = memoise(
        body, ("guarded", cond), lambda: stage(guarded, avals, "vmap(while_loop)")
    )
    any_program = memoise(cond, "any", lambda: stage(any_left, cond.in_avals, "vmap(while_loop)"))
    # The body now needs the condition's constants too; they become its first inputs.
    return any_program, guarded_program, [*consts[:cond_nconsts], *consts]


@rules.define(dce_rule, while_p)
def _while_dce(used: Sequence[bool], eqn: JaxprEqn) -> tuple[Sequence[bool], JaxprEqn | None]:
    cond, body = eqn.params["cond_jaxpr"], eqn.params["body_jaxpr"]
    cond_nconsts, body_nconsts = eqn.params["cond_nconsts"], eqn.params["body_nconsts"]
    cond_needed = prune_closed(cond, (True,))[1]
    carry = fixpoint(
        [u or n for u, n in zip(used, cond_needed[cond_nconsts:], strict=True)],
        lambda kept: prune_closed(body, tuple(kept))[1][body_nconsts:],
    )
    # A carry that is only passed on must stay an input of both.
    condition, kept_cond = prune_closed(cond, (True,), (*[False] * cond_nconsts, *carry))
    update, kept_body = prune_closed(body, tuple(carry), (*[False] * body_nconsts, *carry))
    keep = [*kept_cond[:cond_nconsts], *kept_body]
    params = {
        "cond_jaxpr": condition,
        "body_jaxpr": update,
        "cond_nconsts": sum(kept_cond[:cond_nconsts]),
        "body_nconsts": sum(kept_body[:body_nconsts]),
    }
    invars = [v for v, k in zip(eqn.invars, keep, strict=True) if k]
    outvars = [v for v, k in zip(eqn.outvars, carry, strict=True) if k]
    return keep, eqn.replace(invars=invars, outvars=outvars, params=params)
