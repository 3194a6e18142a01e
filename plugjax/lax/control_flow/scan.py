"""Loops over the leading axis of arrays: ``scan``.

``carry, y = f(carry, x)`` for each slice x of xs; the y are stacked. The derivative of a scan is a scan: forward mode
carries tangents along, and reverse mode runs the linear part backwards over residuals that the forward scan stacked. What
does not change from step to step (constants, and residuals that are constants) is not stacked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.exceptions import AxisError

from plugjax.core import pytree
from plugjax.core.array import as_array, aval_of
from plugjax.core.aval import ShapedArray
from plugjax.core.errors import ConcretizationTypeError
from plugjax.core.jaxpr import ClosedJaxpr, JaxprEqn, Literal, eval_closed, memoise
from plugjax.core.primitive import Primitive
from plugjax.core.rules import RuleSet, abstract_eval
from plugjax.core.trace import Tracer
from plugjax.core.transforms.batching import Axis, batch_jaxpr, batching_rule, materialize
from plugjax.core.transforms.dce import dce_rule, prune_closed, prune_outputs
from plugjax.core.transforms.jvp import jvp_jaxpr, jvp_rule
from plugjax.core.transforms.linearize import linearize_jaxpr, linearize_rule
from plugjax.core.transforms.staging import stage
from plugjax.core.vocabulary import Zero, instantiate, moveaxis
from plugjax.lax.control_flow.bodies import (
    check_carry,
    fixpoint,
    promote_weak_carry,
    runs_as_python,
    taking,
    trace_body,
)
from plugjax.lax.control_flow.python_loops import python_scan

rules = RuleSet(__name__)

scan_p = Primitive("scan", multiple_results=True, structured=True)

_DYNAMIC_LENGTH = (
    "lax.scan: the number of steps must be known before the loop runs, but length is traced. Use lax.while_loop or "
    "lax.fori_loop instead."
)


def scan(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    _split_transpose: bool = False,
) -> tuple[Any, Any]:
    """Carry a value along the leading axis of ``xs``, and stack what each step gives.

    Args:
        f: ``(carry, x) -> (carry, y)``; carries keep structure, shapes and dtypes.
        init: pytree: the first carry.
        xs: pytree of arrays ``[length, ...]``, or ``None``.
        length: number of steps; needed if ``xs`` has no leaves.
        reverse: whether to go from the last slice to the first; ``y`` keep the places of their ``x``.
        unroll: steps per iteration of the compiled loop; ``True`` or 0 for all.
        _split_transpose: accepted as in JAX; the derivative's loops are split as their residuals need in any case.

    Returns:
        ``(last carry, ys)`` with ``ys`` a pytree of arrays ``[length, ...]``.

    Raises:
        TypeError: ``f`` is not callable, gives no pair, or changes the type of the carry.
        ValueError: leading axes differ in size, or ``length`` is missing or disagrees.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax import lax
        >>> lax.scan(lambda c, x: (c + x, c), 0.0, jnp.arange(3.0))
        (Array(3., dtype=float32), Array([0., 0., 1.], dtype=float32, weak_type=True))
    """
    if not callable(f):
        raise TypeError("lax.scan: f is not callable.")
    xs_leaves, xs_tree = pytree.flatten(xs)
    xs_values = [as_array(x, "scan") for x in xs_leaves]
    steps = leading_size(xs_values, length, xs)
    if runs_as_python():
        return python_scan(f, init, xs_values, xs_tree, steps, reverse)
    init_leaves, carry_tree = pytree.flatten(init)
    carry = [as_array(x, "scan") for x in init_leaves]
    x_avals = [x.aval.update(shape=x.aval.shape[1:]) for x in xs_values]
    in_tree = pytree.structure((init, pytree.unflatten(xs_tree, xs_values)))
    while True:
        carry_avals = [x.aval for x in carry]
        program, consts, out_tree = trace_body(f, in_tree, [*carry_avals, *x_avals], "scan")
        found_tree, y_tree = _split_outputs(out_tree)
        if found_tree != carry_tree:
            break
        carry, changed = promote_weak_carry(carry, program.out_avals[: len(carry)])
        if not changed:
            break
    check_carry(
        "scan body",
        carry_tree,
        found_tree,
        carry_avals,
        program.out_avals[: found_tree.num_leaves],
        pytree.paths(init),
    )
    outs = scan_p.bind(
        *consts,
        *carry,
        *xs_values,
        jaxpr=program,
        length=steps,
        reverse=bool(reverse),
        unroll=_unroll(unroll, steps),
        num_consts=len(consts),
        num_carry=len(carry),
    )
    count = len(carry)
    return pytree.unflatten(carry_tree, outs[:count]), pytree.unflatten(y_tree, outs[count:])


def _unroll(unroll: int | bool, length: int) -> int:
    if isinstance(unroll, bool):
        return max(length, 1) if unroll else 1
    if unroll < 0:
        raise ValueError(f"lax.scan needs a bool or an int >= 0 as unroll, got {unroll}.")
    return int(unroll) or max(length, 1)


def leading_size(xs: Sequence[Any], length: int | None, tree: Any) -> int:
    """The number of steps: what the leading axes of ``xs``, the leaves of ``tree``, and ``length`` agree on."""
    for x, path in zip(xs, pytree.paths(tree), strict=True):
        if not x.aval.shape:
            raise AxisError(
                f"lax.scan goes along leading axes, but xs{path} has none: it is {x.aval.str_short()}."
            )
    sizes = {x.aval.shape[0] for x in xs}
    if length is not None:
        if isinstance(length, Tracer) and length._concrete() is None:
            raise ConcretizationTypeError(length, _DYNAMIC_LENGTH)
        length = int(length)
        if sizes - {length}:
            raise ValueError(
                f"lax.scan: length={length}, but the leading axes of xs have sizes {sorted(sizes)}."
            )
        return length
    if len(sizes) > 1:
        described = ", ".join(
            f"xs{path}: {x.aval.str_short()}"
            for x, path in zip(xs, pytree.paths(tree), strict=True)
        )
        raise ValueError(f"lax.scan: the leading axes of xs differ in size: {described}.")
    if not sizes:
        raise ValueError("lax.scan: xs has no arrays, so length must say how many steps to make.")
    return sizes.pop()


def _split_outputs(out_tree: Any) -> tuple[Any, Any]:
    children = out_tree.children()
    if len(children) != 2:
        raise TypeError(f"lax.scan: f must return (carry, y), got structure {out_tree}.")
    return children[0], children[1]


@rules.define(abstract_eval, scan_p)
def _scan_avals(
    *avals: ShapedArray, jaxpr: ClosedJaxpr, length: int, num_carry: int, **_: Any
) -> list[ShapedArray]:
    outs = jaxpr.out_avals
    return [
        *outs[:num_carry],
        *(y.update(shape=(length, *y.shape)) for y in outs[num_carry:]),
    ]


def parts(values: Sequence[Any], num_consts: int, num_carry: int) -> tuple[Any, Any, Any]:
    """What belongs to the constants, to the carry and to the xs."""
    split = num_consts + num_carry
    return values[:num_consts], values[num_consts:split], values[split:]


def _giving_inputs(program: ClosedJaxpr, indices: tuple[int, ...]) -> ClosedJaxpr:
    """The program with some of its inputs as further outputs; memoised."""
    if not indices:
        return program

    def give(*args: Any) -> list[Any]:
        return [*eval_closed(program, *args), *(args[i] for i in indices)]

    made: ClosedJaxpr = memoise(
        program,
        ("giving inputs", indices),
        lambda: stage(give, program.in_avals, program.jaxpr.debug_name),
    )
    return made


def _stage_reordered(
    key: Any,
    program: ClosedJaxpr,
    order: Callable[[Sequence[Any]], Sequence[Any]],
    avals: Sequence[ShapedArray],
    outputs: Callable[[list[Any]], list[Any]] = list,
) -> ClosedJaxpr:
    """A program whose inputs, and outputs, stand in another order; memoised under ``key``."""
    made: ClosedJaxpr = memoise(
        program,
        ("reordered", key),
        lambda: stage(
            lambda *xs: outputs(eval_closed(program, *order(xs))), avals, program.jaxpr.debug_name
        ),
    )
    return made


@rules.define(jvp_rule, scan_p)
def _scan_jvp(
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    jaxpr: ClosedJaxpr,
    num_consts: int,
    num_carry: int,
    **params: Any,
) -> tuple[list[Any], list[Any]]:
    nonzeros = [type(t) is not Zero for t in tangents]
    consts_nz, init_nz, xs_nz = parts(nonzeros, num_consts, num_carry)
    ys = len(jaxpr.out_avals) - num_carry

    def forced(carry: Sequence[bool]) -> list[bool]:
        return [*carry, *(False,) * ys]

    carry_nz = fixpoint(
        init_nz,
        lambda nz: jvp_jaxpr(jaxpr, [*consts_nz, *nz, *xs_nz], forced(nz))[1][:num_carry],
    )
    body, out_nz = jvp_jaxpr(jaxpr, [*consts_nz, *carry_nz, *xs_nz], forced(carry_nz))
    consts, init, xs = parts(primals, num_consts, num_carry)
    consts_t, init_t, xs_t = parts(tangents, num_consts, num_carry)
    consts_dot = [t for t in consts_t if type(t) is not Zero]
    init_dot = [instantiate(t) for t, nz in zip(init_t, carry_nz, strict=True) if nz]
    xs_dot = [t for t in xs_t if type(t) is not Zero]
    sizes = [len(consts), len(consts_dot), len(init), len(init_dot), len(xs), len(xs_dot)]

    def order(args: Sequence[Any]) -> list[Any]:
        groups, start = [], 0
        for size in sizes:
            groups.append(args[start : start + size])
            start += size
        return [*groups[0], *groups[2], *groups[4], *groups[1], *groups[3], *groups[5]]

    count, y_nz = len(jaxpr.out_avals), out_nz[num_carry:]

    def outputs(found: list[Any]) -> list[Any]:
        carry, y = found[:num_carry], found[num_carry:count]
        dots = found[count:]
        return [*carry, *dots[: len(init_dot)], *y, *dots[len(init_dot) :]]

    positions = order(range(sum(sizes)))
    avals: list[Any] = [None] * sum(sizes)
    for position, aval in zip(positions, body.in_avals, strict=True):
        avals[position] = aval
    results = scan_p.bind(
        *consts, *consts_dot, *init, *init_dot, *xs, *xs_dot,
        jaxpr=_stage_reordered((*sizes,), body, order, avals, outputs),
        num_consts=len(consts) + len(consts_dot),
        num_carry=len(init) + len(init_dot),
        **params,
    )  # fmt: skip
    split = num_carry + len(init_dot)
    carry_out, carry_dot = results[:num_carry], iter(results[num_carry:split])
    y_out, y_dot = results[split : split + ys], iter(results[split + ys :])
    avals_out = jaxpr.out_avals
    dots = [
        next(carry_dot) if nz else Zero(a.to_tangent_aval())
        for a, nz in zip(avals_out[:num_carry], carry_nz, strict=True)
    ]
    dots += [
        next(y_dot) if nz else Zero(aval_of(y).to_tangent_aval())
        for y, nz in zip(y_out, y_nz, strict=True)
    ]
    return [*carry_out, *y_out], dots


@dataclass(slots=True)
class _ResidualPlaces:
    """Where the residuals that a loop body computes are kept.

    Attributes:
        hoisted: a program of constants: the residuals that are the same in every step.
        needed: which inputs of the body ``hoisted`` takes.
        forward: the body, with the residuals to be stacked as further outputs.
        places: for each residual ``("hoisted", i)``, ``("y", i)`` if output i is the residual, or ``("stacked", i)``.
    """

    hoisted: ClosedJaxpr
    needed: list[bool]
    forward: ClosedJaxpr
    places: list[tuple[str, int]]


def _residual_places(
    primal: ClosedJaxpr, num_consts: int, num_carry: int, count: int
) -> _ResidualPlaces:
    """Sort the outputs of a body after the first ``count``; memoised."""

    def make() -> _ResidualPlaces:
        inner = primal.jaxpr
        constant: set[Any] = {*inner.constvars, *inner.invars[:num_consts]}
        if not inner.effects:
            for eqn in inner.eqns:
                if all(type(v) is Literal or v in constant for v in eqn.invars):
                    constant.update(eqn.outvars)
        ys = {v: i for i, v in enumerate(inner.outvars[:count]) if i >= num_carry}
        places: list[tuple[str, int]] = []
        counts = {"hoisted": 0, "stacked": 0}
        for v in inner.outvars[count:]:
            if v in ys:
                places.append(("y", ys[v]))
                continue
            kind = "hoisted" if v in constant and not inner.effects else "stacked"
            places.append((kind, counts[kind]))
            counts[kind] += 1
        own = [False] * count
        hoisted, needed = prune_closed(primal, (*own, *(k == "hoisted" for k, _ in places)))
        forward = prune_outputs(
            primal, (*(not f for f in own), *(k == "stacked" for k, _ in places))
        )
        return _ResidualPlaces(hoisted, needed, forward, places)

    found: _ResidualPlaces = memoise(primal, ("residual places", num_consts, count), make)
    return found


@rules.define(linearize_rule, scan_p)
def _scan_linearize(
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    jaxpr: ClosedJaxpr,
    num_consts: int,
    num_carry: int,
    **params: Any,
) -> tuple[list[Any], list[Any]]:
    nonzeros = [type(t) is not Zero for t in tangents]
    consts_nz, init_nz, xs_nz = parts(nonzeros, num_consts, num_carry)
    ys = len(jaxpr.out_avals) - num_carry

    def forced(carry: Sequence[bool]) -> list[bool]:
        return [*carry, *(False,) * ys]

    carry_nz = fixpoint(
        init_nz,
        lambda nz: linearize_jaxpr(jaxpr, [*consts_nz, *nz, *xs_nz], forced(nz)).nonzero_out[
            :num_carry
        ],
    )
    split = linearize_jaxpr(jaxpr, [*consts_nz, *carry_nz, *xs_nz], forced(carry_nz))
    # A residual is a constant of the loop or comes of constants alone, or is a slice of xs or of ys, or something that the
    # forward loop stacks. A carry that is needed as it enters a step is stacked too: the loop body then gives it back.
    carried = sorted(
        {s for s in split.sources if s is not None and num_consts <= s < num_consts + num_carry}
    )
    count = len(jaxpr.out_avals)
    kept = _residual_places(split.primal, num_consts, num_carry, count)
    results = scan_p.bind(
        *primals,
        jaxpr=_giving_inputs(kept.forward, tuple(carried)),
        num_consts=num_consts,
        num_carry=num_carry,
        **params,
    )
    extra = len(kept.forward.out_avals)
    outs, stacked = results[:count], results[count:extra]
    entering = dict(zip(carried, results[extra:], strict=True))
    consts, _, xs = parts(primals, num_consts, num_carry)
    # A body with effects has nothing hoisted, and must not be run once more.
    hoisted = (
        eval_closed(kept.hoisted, *(c for c, n in zip(primals, kept.needed, strict=True) if n))
        if kept.hoisted.out_avals
        else []
    )
    fixed: list[Any] = []
    per_step: list[Any] = []
    places: list[tuple[bool, int]] = []
    found_places = iter(kept.places)
    for source in split.sources:
        if source is None:
            kind, index = next(found_places)
            if kind == "hoisted":
                places.append((True, len(fixed)))
                fixed.append(hoisted[index])
                continue
        elif source < num_consts:
            places.append((True, len(fixed)))
            fixed.append(consts[source])
            continue
        places.append((False, len(per_step)))
        if source is None:
            per_step.append(outs[index] if kind == "y" else stacked[index])
        elif source in entering:
            per_step.append(entering[source])
        else:
            per_step.append(xs[source - num_consts - num_carry])
    consts_t, init_t, xs_t = parts(tangents, num_consts, num_carry)
    consts_dot = [t for t in consts_t if type(t) is not Zero]
    init_dot = [instantiate(t) for t, nz in zip(init_t, carry_nz, strict=True) if nz]
    xs_dot = [t for t in xs_t if type(t) is not Zero]
    n_fixed, n_step = len(fixed), len(per_step)
    n_consts, n_carry = len(consts_dot), len(init_dot)

    def order(args: Sequence[Any]) -> list[Any]:
        fixed_args = args[:n_fixed]
        dots = args[n_fixed : n_fixed + n_consts]
        carry = args[n_fixed + n_consts : n_fixed + n_consts + n_carry]
        rest = args[n_fixed + n_consts + n_carry :]
        step_args, x_dots = rest[:n_step], rest[n_step:]
        residuals = [fixed_args[i] if is_fixed else step_args[i] for is_fixed, i in places]
        return [*residuals, *dots, *carry, *x_dots]

    total = n_fixed + n_consts + n_carry + n_step + len(xs_dot)
    avals: list[Any] = [None] * total
    for position, aval in zip(order(range(total)), split.linear.in_avals, strict=True):
        avals[position] = aval
    found = scan_p.bind(
        *fixed, *consts_dot, *init_dot, *per_step, *xs_dot,
        jaxpr=_stage_reordered((*places, n_consts, n_carry), split.linear, order, avals),
        num_consts=n_fixed + n_consts,
        num_carry=n_carry,
        **params,
    )  # fmt: skip
    dots = iter(found)
    outs_dot = [
        next(dots) if nz else Zero(aval_of(y).to_tangent_aval())
        for y, nz in zip(outs, split.nonzero_out, strict=True)
    ]
    return list(outs), outs_dot


@rules.define(batching_rule, scan_p)
def _scan_batching(
    axis: Axis,
    args: Sequence[Any],
    dims: Sequence[int | None],
    *,
    jaxpr: ClosedJaxpr,
    num_consts: int,
    num_carry: int,
    **params: Any,
) -> tuple[list[Any], list[int | None]]:
    consts_b, init_b, xs_b = parts([d is not None for d in dims], num_consts, num_carry)
    ys = len(jaxpr.out_avals) - num_carry

    def batched(carry: Sequence[bool]) -> tuple[ClosedJaxpr, list[bool]]:
        return batch_jaxpr(jaxpr, axis, [*consts_b, *carry, *xs_b], [*carry, *(False,) * ys])

    carry_b = fixpoint(init_b, lambda b: batched(b)[1][:num_carry])
    program, out_b = batched(carry_b)
    consts, init, xs = parts(args, num_consts, num_carry)
    consts_d, init_d, xs_d = parts(dims, num_consts, num_carry)
    moved = [
        *(x if d is None else moveaxis(x, d, 0) for x, d in zip(consts, consts_d, strict=True)),
        *(
            materialize(x, d, axis) if b else x
            for x, d, b in zip(init, init_d, carry_b, strict=True)
        ),
        # Axis 0 of xs is the loop's; each slice has its batch axis in front.
        *(x if d is None else moveaxis(x, d, 1) for x, d in zip(xs, xs_d, strict=True)),
    ]
    outs = scan_p.bind(*moved, jaxpr=program, num_consts=num_consts, num_carry=num_carry, **params)
    return outs, [
        *(0 if b else None for b in out_b[:num_carry]),
        *(1 if b else None for b in out_b[num_carry:]),
    ]


@rules.define(dce_rule, scan_p)
def _scan_dce(used: Sequence[bool], eqn: JaxprEqn) -> tuple[Sequence[bool], JaxprEqn | None]:
    jaxpr: ClosedJaxpr = eqn.params["jaxpr"]
    num_consts, num_carry = eqn.params["num_consts"], eqn.params["num_carry"]
    ys_used, end = used[num_carry:], num_consts + num_carry
    carry_used = fixpoint(
        used[:num_carry],
        lambda kept: prune_closed(jaxpr, (*kept, *ys_used))[1][num_consts:end],
    )
    program, needed = prune_closed(jaxpr, (*carry_used, *ys_used))
    # A carry that is used but not read must stay an input of the body.
    keep = [
        *needed[:num_consts],
        *carry_used,
        *needed[end:],
    ]
    invars = [v for v, k in zip(eqn.invars, keep, strict=True) if k]
    outvars = [v for v, u in zip(eqn.outvars, [*carry_used, *ys_used], strict=True) if u]
    params = {
        **eqn.params,
        "jaxpr": taking(keep, jaxpr.in_avals, program, needed),
        "num_consts": sum(needed[:num_consts]),
        "num_carry": sum(carry_used),
    }
    return keep, eqn.replace(invars=invars, outvars=outvars, params=params)
