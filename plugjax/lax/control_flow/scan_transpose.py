"""The transpose of a scan: the same loop backwards.

Going backwards, the cotangent of the carry is the new carry, the cotangents of the constants are summed along the way, and
those of the slices are stacked. Carries that the linear inputs do not reach (a counter) are computed first, forwards, and
what the linear part reads of them is stacked for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from plugjax.core.array import aval_of
from plugjax.core.jaxpr import ClosedJaxpr, eval_closed, memoise
from plugjax.core.rules import RuleSet
from plugjax.core.transforms.partial_eval import split_known
from plugjax.core.transforms.staging import stage
from plugjax.core.transforms.transpose import (
    UndefinedPrimal,
    is_undefined_primal,
    transpose_flat,
    transpose_rule,
)
from plugjax.core.vocabulary import Zero, add_any, instantiate, zeros
from plugjax.lax.control_flow.bodies import fixpoint
from plugjax.lax.control_flow.scan import parts, scan_p

rules = RuleSet(__name__)


@rules.define(transpose_rule, scan_p)
def _scan_transpose(
    cotangents: Sequence[Any],
    *operands: Any,
    jaxpr: ClosedJaxpr,
    length: int,
    reverse: bool,
    unroll: int,
    num_consts: int,
    num_carry: int,
) -> list[Any]:
    # Linear in (some constants, all carries, some xs). Going backwards, the cotangent of the carry is the new carry, the
    # cotangents of the constants are summed along the way, and those of the xs are stacked.
    linear = [is_undefined_primal(x) for x in operands]
    consts_lin, init_lin, xs_lin = parts(linear, num_consts, num_carry)
    consts, _, xs = parts(operands, num_consts, num_carry)
    if not all(init_lin):
        split = _known_steps(jaxpr, linear, num_consts, num_carry)
        if split is not None:
            return _transpose_rest(
                split, cotangents, operands, num_consts, num_carry,
                length=length, reverse=reverse, unroll=unroll,
            )  # fmt: skip
    body_avals = jaxpr.in_avals
    const_avals, carry_avals, x_avals = parts(body_avals, num_consts, num_carry)
    fixed = [c for c, lin in zip(consts, consts_lin, strict=True) if not lin]
    steps = [x for x, lin in zip(xs, xs_lin, strict=True) if not lin]
    carry_bar = [instantiate(bar) for bar in cotangents[:num_carry]]
    y_nz = [type(bar) is not Zero for bar in cotangents[num_carry:]]
    y_bar = [bar for bar in cotangents[num_carry:] if type(bar) is not Zero]
    lin_const_avals = [a for a, lin in zip(const_avals, consts_lin, strict=True) if lin]
    n_fixed, n_lin = len(fixed), len(lin_const_avals)

    def pull(*args: Any) -> list[Any]:
        fixed_args = iter(args[:n_fixed])
        sums = args[n_fixed : n_fixed + n_lin]
        bars = args[n_fixed + n_lin : n_fixed + n_lin + num_carry]
        rest = args[n_fixed + n_lin + num_carry :]
        step_args, y_bars = iter(rest[: len(steps)]), iter(rest[len(steps) :])
        inner = [
            *(
                UndefinedPrimal(a) if lin else next(fixed_args)
                for a, lin in zip(const_avals, consts_lin, strict=True)
            ),
            *(UndefinedPrimal(a) for a in carry_avals),
            *(
                UndefinedPrimal(a) if lin else next(step_args)
                for a, lin in zip(x_avals, xs_lin, strict=True)
            ),
        ]
        incoming = [
            *bars,
            *(
                next(y_bars) if nz else Zero(a.to_tangent_aval())
                for a, nz in zip(jaxpr.out_avals[num_carry:], y_nz, strict=True)
            ),
        ]
        found = transpose_flat(lambda *zs: eval_closed(jaxpr, *zs), inner, incoming)
        found_consts, found_carry, found_xs = parts(found, num_consts, num_carry)
        new_consts = [b for b, lin in zip(found_consts, consts_lin, strict=True) if lin]
        new_xs = [b for b, lin in zip(found_xs, xs_lin, strict=True) if lin]
        return [
            *(instantiate(add_any(s, b)) for s, b in zip(sums, new_consts, strict=True)),
            *(instantiate(b) for b in found_carry),
            *(instantiate(b) for b in new_xs),
        ]

    avals = [
        *(aval_of(c) for c in fixed),
        *lin_const_avals,
        *carry_avals,
        *(a for a, lin in zip(x_avals, xs_lin, strict=True) if not lin),
        *(a for a, nz in zip(jaxpr.out_avals[num_carry:], y_nz, strict=True) if nz),
    ]
    program = memoise(
        jaxpr,
        ("scan transpose", tuple(linear), tuple(y_nz)),
        lambda: stage(pull, avals, f"transpose({jaxpr.jaxpr.debug_name})"),
    )
    results = scan_p.bind(
        *fixed, *(zeros(a) for a in lin_const_avals), *carry_bar, *steps, *y_bar,
        jaxpr=program,
        length=length,
        reverse=not reverse,
        unroll=unroll,
        num_consts=n_fixed,
        num_carry=n_lin + num_carry,
    )  # fmt: skip
    const_bars = iter(results[:n_lin])
    carry_bars = results[n_lin : n_lin + num_carry]
    x_bars = iter(results[n_lin + num_carry :])
    return [
        *(next(const_bars) if lin else None for lin in consts_lin),
        *(bar if lin else None for bar, lin in zip(carry_bars, init_lin, strict=True)),
        *(next(x_bars) if lin else None for lin in xs_lin),
    ]


@dataclass(frozen=True, slots=True)
class _KnownSteps:
    """A loop split into what is known and what is linear.

    Attributes:
        known: the body of the first loop, ``(known consts, known carry, known xs) -> (known carry, known ys, residuals)``.
        rest: the body of the second, ``(linear consts, shared consts, linear carry, linear xs, residuals) -> (linear carry,
            linear ys)``.
        is_known: which inputs of the whole loop the first one takes.
        ys_known: which ys it gives.
        shared: which of the known consts the second loop reads as well.
        residuals: how many slices the first loop hands on.
    """

    known: ClosedJaxpr
    rest: ClosedJaxpr
    is_known: list[bool]
    ys_known: tuple[bool, ...]
    shared: list[int]
    residuals: int


def _known_steps(
    jaxpr: ClosedJaxpr, linear: Sequence[bool], num_consts: int, num_carry: int
) -> _KnownSteps | None:
    """Split a loop some of whose carries start as values; ``None`` if the linear inputs reach all carries."""
    consts_lin, init_lin, xs_lin = parts(linear, num_consts, num_carry)

    def reached(carry: Sequence[bool]) -> list[bool]:
        known = [not lin for lin in (*consts_lin, *carry, *xs_lin)]
        return [not k for k in split_known(jaxpr, known).known_out[:num_carry]]

    carry_lin = fixpoint(init_lin, reached)
    if all(carry_lin):
        return None
    is_known = [not lin for lin in (*consts_lin, *carry_lin, *xs_lin)]

    def make() -> _KnownSteps:
        # A carry that only starts as a value is linear, though what it becomes may be known: it must be an output of the
        # linear part all the same.
        forced = [*carry_lin, *(False,) * (len(jaxpr.out_avals) - num_carry)]
        split = split_known(jaxpr, is_known)
        known_out = [k and not f for k, f in zip(split.known_out, forced, strict=True)]
        count = sum(split.known_out)
        places = [i for i, k in enumerate(split.known_out) if k]
        moved = [n for n, i in enumerate(places) if forced[i]]
        staying = [n for n, i in enumerate(places) if not forced[i]]
        known = split.known
        # A residual that is a constant of the loop is read as one, not stacked.
        constants = {v: i for i, v in enumerate(known.jaxpr.invars[: num_consts - sum(consts_lin)])}
        residuals = known.jaxpr.outvars[count:]
        shared = [constants[v] for v in residuals if v in constants]
        stacked = [count + n for n, v in enumerate(residuals) if v not in constants]

        def first(*xs: Any) -> list[Any]:
            outs = eval_closed(known, *xs)
            return [outs[n] for n in (*staying, *stacked, *moved)]

        n_consts = sum(consts_lin)
        n_linear = n_consts + len(shared) + sum(carry_lin) + sum(xs_lin)

        def second(*xs: Any) -> list[Any]:
            consts, fixed = xs[:n_consts], iter(xs[n_consts : n_consts + len(shared)])
            inputs, slices = xs[n_consts + len(shared) : n_linear], iter(xs[n_linear:])
            values = [next(fixed) if v in constants else next(slices) for v in residuals]
            found = iter(eval_closed(split.unknown, *values, *consts, *inputs))
            given = slices
            return [
                next(given) if k else next(found)
                for k, kept in zip(split.known_out, known_out, strict=True)
                if not kept
            ]

        first_program = stage(first, known.in_avals, jaxpr.jaxpr.debug_name)
        linear_avals = [a for a, k in zip(jaxpr.in_avals, is_known, strict=True) if not k]
        avals = [
            *linear_avals[:n_consts],
            *(known.in_avals[i] for i in shared),
            *linear_avals[n_consts:],
            *first_program.out_avals[len(staying) :],
        ]
        return _KnownSteps(
            first_program,
            stage(second, avals, jaxpr.jaxpr.debug_name),
            is_known,
            tuple(known_out[num_carry:]),
            shared,
            len(stacked) + len(moved),
        )

    found: _KnownSteps = memoise(jaxpr, ("known steps", tuple(is_known)), make)
    return found


def _transpose_rest(
    split: _KnownSteps,
    cotangents: Sequence[Any],
    operands: Sequence[Any],
    num_consts: int,
    num_carry: int,
    **params: Any,
) -> list[Any]:
    """Run the known loop, then transpose the linear one."""
    consts_known, carry_known, _ = parts(split.is_known, num_consts, num_carry)
    known = [x for x, k in zip(operands, split.is_known, strict=True) if k]
    first = scan_p.bind(
        *known,
        jaxpr=split.known,
        num_consts=sum(consts_known),
        num_carry=sum(carry_known),
        **params,
    )
    slices = first[len(first) - split.residuals :]
    rest = [x for x, k in zip(operands, split.is_known, strict=True) if not k]
    n_consts = len(consts_known) - sum(consts_known)
    bars = [
        *(bar for bar, k in zip(cotangents[:num_carry], carry_known, strict=True) if not k),
        *(bar for bar, k in zip(cotangents[num_carry:], split.ys_known, strict=True) if not k),
    ]
    found = _scan_transpose(
        bars,
        *rest[:n_consts],
        *(known[i] for i in split.shared),
        *rest[n_consts:],
        *slices,
        jaxpr=split.rest,
        num_consts=n_consts + len(split.shared),
        num_carry=num_carry - sum(carry_known),
        **params,
    )
    # The second loop's operands are the linear ones, in their order, and others, which have no cotangent.
    linear = iter([*found[:n_consts], *found[n_consts + len(split.shared) :]])
    return [None if k else next(linear) for k in split.is_known]
