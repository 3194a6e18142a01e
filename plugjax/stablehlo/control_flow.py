"""Lowerings of calls, branches and loops.

Bodies of branches and loops are inlined; called programs, and bodies that a scan unrolls, are functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from plugjax.extend.calls import jit_p
from plugjax.extend.core import ClosedJaxpr, Literal, ShapedArray
from plugjax.extend.dtypes import INT32
from plugjax.extend.rules import RuleSet, lowering
from plugjax.lax.control_flow import cond_p, platform_branch, scan_p, while_p
from plugjax.stablehlo import mlir
from plugjax.stablehlo.comparison import compare
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.mlir import Value

rules = RuleSet(__name__)

_COUNTER = ShapedArray((), INT32)


@rules.define(lowering, jit_p)
def _jit(ctx: EqnContext, *operands: Value, jaxpr: ClosedJaxpr, name: str) -> list[Value]:
    return ctx.call(jaxpr, operands, name)


@rules.define(lowering, cond_p)
def _cond(
    ctx: EqnContext,
    index: Value,
    *operands: Value,
    branches: tuple[ClosedJaxpr, ...],
    branches_platforms: Any = None,
) -> list[Value]:
    if branches_platforms is not None:
        hardware = ctx.module.device_kind or "cpu"
        chosen = platform_branch(branches_platforms, ctx.platform, hardware)
        return ctx.inline(branches[chosen], operands)
    known = ctx.eqn.invars[0]
    if isinstance(known, Literal):
        # IREE 3.13 loses results of a branch that a constant chooses, if another one calls Python.
        return ctx.inline(branches[min(max(int(known.val), 0), len(branches) - 1)], operands)
    types = [mlir.type_of(aval) for aval in ctx.avals_out]
    case = mlir.op("stablehlo.case", types, [index], None, len(branches))
    for region, branch in zip(case.regions, branches, strict=True):
        # A branch takes no arguments: it uses values of the enclosing block.
        mlir.fill_region(region, [], lambda branch=branch: ctx.inline(branch, operands))
    return list(case.results)


@rules.define(lowering, while_p)
def _while(
    ctx: EqnContext,
    *operands: Value,
    cond_jaxpr: ClosedJaxpr,
    body_jaxpr: ClosedJaxpr,
    cond_nconsts: int,
    body_nconsts: int,
) -> list[Value]:
    split = cond_nconsts + body_nconsts
    types = [mlir.type_of(aval) for aval in ctx.avals_in]

    def condition(*args: Value) -> list[Value]:
        return ctx.inline(cond_jaxpr, [*args[:cond_nconsts], *args[split:]])

    def body(*args: Value) -> list[Value]:
        return [*args[:split], *ctx.inline(body_jaxpr, args[cond_nconsts:])]

    return list(write_loop(types, operands, condition, body)[split:])


def write_loop(
    types: Sequence[Any], operands: Sequence[Value], condition: Any, body: Any
) -> Sequence[Value]:
    """A while loop; condition and body are written by functions of the carry."""
    loop = mlir.op("stablehlo.while", types, operands, None, 2)
    mlir.fill_region(loop.regions[0], types, condition)
    mlir.fill_region(loop.regions[1], types, body)
    results: Sequence[Value] = loop.results
    return results


class _Scan:
    """One scan: its constant parts, and how a step is written."""

    def __init__(
        self,
        ctx: EqnContext,
        jaxpr: ClosedJaxpr,
        length: int,
        reverse: bool,
        num_consts: int,
        num_carry: int,
        copies: int,
        write: Callable[..., Sequence[Value]],
    ) -> None:
        self.ctx = ctx
        self.write = write
        self.jaxpr = jaxpr
        self.length = length
        self.reverse = reverse
        self.num_consts = num_consts
        self.num_carry = num_carry
        self.x_avals = jaxpr.in_avals[num_consts + num_carry :]
        self.y_avals = jaxpr.out_avals[num_carry:]
        self.copies = copies

    def step(
        self, consts: Sequence[Value], carry: Sequence[Value], xs: Sequence[Value]
    ) -> tuple[list[Value], list[Value]]:
        """The carry and the outputs of one step, from slices."""
        operands = [*consts, *carry, *xs]
        if self.copies == 1:
            results = self.ctx.inline(self.jaxpr, operands)
        else:
            results = self.ctx.call(self.jaxpr, operands, "scan_body")
        return results[: self.num_carry], results[self.num_carry :]

    def sliced(self, xs: Sequence[Value], index: Value) -> list[Value]:
        """Slices of a step at a computed position."""
        return [
            self._reshaped(_dynamic_slice(x, a, index), a)
            for x, a in zip(xs, self.x_avals, strict=True)
        ]

    def sliced_at(self, xs: Sequence[Value], index: int) -> list[Value]:
        """Slices of a step at a known position."""
        found = []
        for x, aval in zip(xs, self.x_avals, strict=True):
            start, limit = [index] + [0] * aval.ndim, [index + 1, *aval.shape]
            found.append(self._reshaped(mlir.static_slice(x, _row(aval), start, limit), aval))
        return found

    @staticmethod
    def _reshaped(row: Value, aval: ShapedArray) -> Value:
        return mlir.value("stablehlo.reshape", aval, [row])

    def stored(self, ys: Sequence[Value], new: Sequence[Value], index: Value) -> list[Value]:
        """The stacked outputs, updated by those of a step."""
        found = []
        for stack, y, aval in zip(ys, new, self.y_avals, strict=True):
            row = mlir.value("stablehlo.reshape", _row(aval), [y])
            operands = [stack, row, *_corner(aval, index)]
            found.append(mlir.op("stablehlo.dynamic_update_slice", [stack.type], operands).result)
        return found

    def position(self, index: Value) -> Value:
        """Position of the slice of the ``index``-th step."""
        if not self.reverse:
            return index
        last = mlir.size(self.length - 1, INT32)
        return mlir.value("stablehlo.subtract", _COUNTER, [last, index])

    def straight(
        self, consts: Sequence[Value], carry: Sequence[Value], xs: Sequence[Value]
    ) -> list[Value]:
        """All steps in sequence, without a loop."""
        rows: list[list[Value]] = [[] for _ in self.y_avals]
        for step in range(self.length):
            index = self.length - 1 - step if self.reverse else step
            carry, ys = self.step(consts, carry, self.sliced_at(xs, index))
            for found, y, aval in zip(rows, ys, self.y_avals, strict=True):
                found.append(mlir.value("stablehlo.reshape", _row(aval), [y]))
        return [*carry, *map(self._stacked, rows, self.y_avals)]

    def _stacked(self, rows: list[Value], aval: ShapedArray) -> Value:
        stack = _stack(aval, self.length)
        if not rows:
            return self.ctx.constant(0, stack)
        if self.reverse:
            rows = rows[::-1]
        return mlir.value("stablehlo.concatenate", stack, rows, {"dimension": mlir.i64(0)})

    def loop(
        self, consts: Sequence[Value], carry: Sequence[Value], xs: Sequence[Value], unroll: int
    ) -> list[Value]:
        """A loop with ``unroll`` steps per iteration; the remaining steps follow it."""
        fixed = [*consts, *xs]
        stacks = [self.ctx.constant(0, _stack(a, self.length)) for a in self.y_avals]
        operands = [mlir.constant(np.int32(0)), *fixed, *carry, *stacks]
        first_stack = len(fixed) + len(carry)
        looped = self.length - self.length % unroll

        def condition(*args: Value) -> list[Value]:
            return [compare("LT", _COUNTER, args[0], mlir.size(looped, INT32))]

        def advance(index: Value, *args: Value) -> list[Value]:
            """One step; the arguments are those of the loop without the counter."""
            inner_fixed = args[: len(fixed)]
            inner_consts, inner_xs = inner_fixed[: len(consts)], inner_fixed[len(consts) :]
            position = self.position(index)
            inner_carry, ys = self.step(
                inner_consts, args[len(fixed) : first_stack], self.sliced(inner_xs, position)
            )
            filled = self.stored(args[first_stack:], ys, position)
            return [*inner_fixed, *inner_carry, *filled]

        def body(first: Value, *args: Value) -> Sequence[Value]:
            # One sum for each counter: compilers see how many steps the loop has.
            for step in range(unroll):
                args = tuple(advance(_later(first, step), *args))
            return [_later(first, unroll), *args]

        _, *results = self.write([x.type for x in operands], operands, condition, body)
        for index in range(looped, self.length) if unroll > 1 else ():
            results = advance(mlir.constant(np.int32(index)), *results)
        return results[len(fixed) :]


def _later(index: Value, steps: int) -> Value:
    """The counter some steps later."""
    if not steps:
        return index
    return mlir.value("stablehlo.add", _COUNTER, [index, mlir.constant(np.int32(steps))])


def _row(aval: ShapedArray) -> ShapedArray:
    return ShapedArray((1, *aval.shape), aval.dtype)


def _stack(aval: ShapedArray, length: int) -> ShapedArray:
    return ShapedArray((length, *aval.shape), aval.dtype)


def _corner(aval: ShapedArray, index: Value) -> list[Value]:
    """Start of a slice: ``index`` on the leading axis, 0 on the others."""
    return [index, *[mlir.constant(np.int32(0))] * aval.ndim] if aval.ndim else [index]


def _dynamic_slice(x: Value, aval: ShapedArray, index: Value) -> Value:
    row = _row(aval)
    attributes = {"slice_sizes": mlir.i64s(row.shape)}
    return mlir.value("stablehlo.dynamic_slice", row, [x, *_corner(aval, index)], attributes)


@rules.define(lowering, scan_p)
def _scan(
    ctx: EqnContext,
    *operands: Value,
    jaxpr: ClosedJaxpr,
    length: int,
    reverse: bool,
    unroll: int,
    num_consts: int,
    num_carry: int,
) -> list[Value]:
    return write_scan(
        ctx, operands, jaxpr, length, reverse, unroll, num_consts, num_carry, write_loop
    )


def write_scan(
    ctx: EqnContext,
    operands: Sequence[Value],
    jaxpr: ClosedJaxpr,
    length: int,
    reverse: bool,
    unroll: int,
    num_consts: int,
    num_carry: int,
    write: Callable[..., Sequence[Value]],
) -> list[Value]:
    """Write a scan as unrolled steps or as a loop, with ``write`` for the body."""
    split = num_consts + num_carry
    consts, carry, xs = operands[:num_consts], operands[num_consts:split], operands[split:]
    # The steps that remain after an unrolled loop are written one by one.
    unroll = 1 if mlir.is_symbolic(length) else min(unroll, length)
    copies = length if unroll == length else unroll + length % unroll
    scan = _Scan(ctx, jaxpr, length, reverse, num_consts, num_carry, copies, write)
    if unroll == length:
        return scan.straight(consts, carry, xs)
    return scan.loop(consts, carry, xs, unroll)
