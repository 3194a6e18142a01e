"""The transpose of a scan: the same loop backwards.

Going backwards, the cotangent of the carry is the new carry, the cotangents of the constants are summed, and those of
the slices are stacked. Carries that do not depend on linear inputs (a counter) are computed first, forwards, and their
values are stacked for the linear part.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from plugjax.extend.core import (
    ClosedJaxpr,
    ShapedArray,
    Zero,
    add_any,
    eval_closed,
    memoise,
    zeros,
)
from plugjax.extend.rules import RuleSet, transpose_rule
from plugjax.extend.transforms import (
    UndefinedPrimal,
    cotangent_aval,
    cotangent_of,
    is_undefined_primal,
    stage,
    transpose_flat,
)
from plugjax.lax.control_flow.bodies import fixpoint
from plugjax.lax.control_flow.partial_eval import split_known
from plugjax.lax.control_flow.scan import in_groups, parts, scan_p

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
    linear = tuple(is_undefined_primal(x) for x in operands)
    consts_lin, init_lin, xs_lin = parts(linear, num_consts, num_carry)
    if not all(init_lin):
        split = _known_steps(jaxpr, linear, num_consts, num_carry)
        if split is not None:
            return _transpose_rest(
                split, cotangents, operands, num_consts, num_carry,
                length=length, reverse=reverse, unroll=unroll,
            )  # fmt: skip
    # Linear in some constants, all carries and some xs.
    consts, _, xs = parts(operands, num_consts, num_carry)
    y_nz = tuple(type(bar) is not Zero for bar in cotangents[num_carry:])
    fixed, const_avals = _chosen(consts, consts_lin, False), jaxpr.in_avals[:num_consts]
    sums = [cotangent_of(zeros(a), a) for a in _chosen(const_avals, consts_lin, True)]
    results = scan_p.bind(
        *fixed,
        *sums,
        *map(cotangent_of, cotangents[:num_carry], jaxpr.out_avals),
        *_chosen(xs, xs_lin, False),
        *_chosen(cotangents[num_carry:], y_nz, True),
        jaxpr=_backward_body(jaxpr, linear, y_nz, num_consts, num_carry),
        length=length,
        reverse=not reverse,
        unroll=unroll,
        num_consts=len(fixed),
        num_carry=len(sums) + num_carry,
    )
    const_bars, carry_bars, x_bars = parts(results, len(sums), num_carry)
    return [
        *_placed(const_bars, consts_lin, [None] * len(consts)),
        *(bar if lin else None for bar, lin in zip(carry_bars, init_lin, strict=True)),
        *_placed(x_bars, xs_lin, [None] * len(xs)),
    ]


def _chosen(values: Sequence[Any], flags: Sequence[bool], flag: bool) -> list[Any]:
    """The values whose flag is ``flag``."""
    return [x for x, f in zip(values, flags, strict=True) if f is flag]


def _placed(values: Sequence[Any], flags: Sequence[bool], others: Sequence[Any]) -> list[Any]:
    """The next of ``values`` where a flag is set, and what stands in ``others`` elsewhere."""
    given = iter(values)
    return [next(given) if f else other for f, other in zip(flags, others, strict=True)]


def _backward_body(
    jaxpr: ClosedJaxpr,
    linear: tuple[bool, ...],
    y_nz: tuple[bool, ...],
    num_consts: int,
    num_carry: int,
) -> ClosedJaxpr:
    """The body of the loop backwards; memoised.

    Its constants are the body's that are values. It carries the sums of the cotangents of the linear constants, and the
    cotangents of the carry; it reads slices of the xs that are values and of the cotangents of ys, and gives those of the
    linear xs.
    """
    consts_lin, _, xs_lin = parts(linear, num_consts, num_carry)
    const_avals, carry_avals, x_avals = parts(jaxpr.in_avals, num_consts, num_carry)
    y_avals = jaxpr.out_avals[num_carry:]
    summed_avals, stacked_avals = (
        _chosen(const_avals, consts_lin, True),
        _chosen(x_avals, xs_lin, True),
    )
    groups = [
        _chosen(const_avals, consts_lin, False),
        [*map(cotangent_aval, summed_avals)],
        [*map(cotangent_aval, carry_avals)],
        _chosen(x_avals, xs_lin, False),
        [*map(cotangent_aval, _chosen(y_avals, y_nz, True))],
    ]

    def unknown(avals: Sequence[ShapedArray]) -> list[UndefinedPrimal]:
        return [UndefinedPrimal(a) for a in avals]

    def pull(*args: Any) -> list[Any]:
        fixed, sums, bars, steps, y_bars = in_groups(args, [len(group) for group in groups])
        inner = [
            *_placed(fixed, [not lin for lin in consts_lin], unknown(const_avals)),
            *unknown(carry_avals),
            *_placed(steps, [not lin for lin in xs_lin], unknown(x_avals)),
        ]
        incoming = [*bars, *_placed(y_bars, y_nz, [Zero(a.to_tangent_aval()) for a in y_avals])]
        found = transpose_flat(lambda *zs: eval_closed(jaxpr, *zs), inner, incoming)
        found_consts, found_carry, found_xs = parts(found, num_consts, num_carry)
        new_consts = _chosen(found_consts, consts_lin, True)
        return [
            *map(cotangent_of, map(add_any, sums, new_consts), summed_avals),
            *map(cotangent_of, found_carry, carry_avals),
            *map(cotangent_of, _chosen(found_xs, xs_lin, True), stacked_avals),
        ]

    program: ClosedJaxpr = memoise(
        jaxpr,
        ("scan transpose", linear, y_nz),
        lambda: stage(pull, list(itertools.chain(*groups)), f"transpose({jaxpr.jaxpr.debug_name})"),
    )
    return program


@dataclass(frozen=True, slots=True)
class _KnownSteps:
    """A loop split into a known loop and a linear loop.

    Attributes:
        known: the body of the first loop, ``(known consts, known carry, known xs) -> (known carry, known ys,
            residuals)``.
        rest: the body of the second, ``(linear consts, shared consts, linear carry, linear xs, residuals) -> (linear
            carry, linear ys)``.
        is_known: which inputs of the whole loop the first one takes.
        ys_known: which ys the first loop returns.
        shared: which of the known consts the second loop reads as well.
        residuals: number of residuals that the first loop stacks.
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
    """Split a loop some of whose carries start as known values.

    ``None`` if all carries depend on the linear inputs.
    """
    consts_lin, init_lin, xs_lin = parts(linear, num_consts, num_carry)

    def reached(carry: Sequence[bool]) -> list[bool]:
        known = [not lin for lin in (*consts_lin, *carry, *xs_lin)]
        return [not k for k in split_known(jaxpr, known).known_out[:num_carry]]

    carry_lin = fixpoint(init_lin, reached)
    if all(carry_lin):
        return None
    is_known = [not lin for lin in (*consts_lin, *carry_lin, *xs_lin)]

    def make() -> _KnownSteps:
        # A carry whose first value is linear must be an output of the linear part, even if its
        # later values are known.
        forced = [*carry_lin, *(False,) * (len(jaxpr.out_avals) - num_carry)]
        split = split_known(jaxpr, is_known)
        known_out = [k and not f for k, f in zip(split.known_out, forced, strict=True)]
        count = sum(split.known_out)
        places = [i for i, k in enumerate(split.known_out) if k]
        moved = [n for n, i in enumerate(places) if forced[i]]
        staying = [n for n, i in enumerate(places) if not forced[i]]
        known = split.known
        # A residual that is a constant of the loop is passed as a constant, not stacked.
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
    # The second loop's operands are the linear ones, in their order, and others without cotangents.
    linear = iter([*found[:n_consts], *found[n_consts + len(split.shared) :]])
    return [None if k else next(linear) for k in split.is_known]
