"""StableHLO of a recurrence: a ``while`` that counts steps, slices the xs and fills the ys."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from plugjax.extend import RuleSet, ShapedArray, lowering
from plugjax.extend.dtypes import INT32
from plugjax.extend.mlir import ir
from plugjax.extend.mlir.dialects import stablehlo as hlo
from plugjax_recurrence.recurrence import Loop, recurrence_p

rules = RuleSet(__name__)


@rules.define(lowering, recurrence_p)
def _recurrence(ctx: Any, *operands: Any, **params: Any) -> list[Any]:
    loop = Loop(**params)
    consts, carry, xs = loop.parts(operands)
    stacks = [ctx.constant(0, aval) for aval in ctx.avals_out[loop.num_carry :]]
    if not loop.length:
        return [*carry, *stacks]

    def number(value: int) -> Any:
        return ctx.scalar(value, INT32)

    def corner(index: Any, aval: ShapedArray) -> list[Any]:
        """Start of a slice: ``index`` on the leading axis, 0 on those of ``aval``."""
        return [index, *(number(0) for _ in aval.shape)]

    def condition(index: Any, *_: Any) -> list[Any]:
        less = hlo.ComparisonDirectionAttr.get("LT")
        return [hlo.compare(index, number(loop.length), less)]

    def body(index: Any, *values: Any) -> list[Any]:
        operands, stacks = values[: len(ctx.avals_in)], values[len(ctx.avals_in) :]
        inner_consts, inner_carry, inner_xs = loop.parts(operands)
        at = hlo.subtract(number(loop.length - 1), index) if loop.reverse else index
        slices = []
        for x, aval in zip(inner_xs, loop.parts(loop.jaxpr.in_avals)[2], strict=True):
            row = hlo.dynamic_slice(x, corner(at, aval), _integers((1, *aval.shape)))
            slices.append(hlo.reshape(_tensor(aval.shape, x), row))
        outs = ctx.inline(loop.jaxpr, [*inner_consts, *inner_carry, *slices])
        filled = []
        for stack, y, aval in zip(
            stacks, outs[loop.num_carry :], loop.jaxpr.out_avals[loop.num_carry :], strict=True
        ):
            row = hlo.reshape(_tensor((1, *aval.shape), y), y)
            filled.append(hlo.dynamic_update_slice(stack, row, corner(at, aval)))
        following = hlo.add(index, number(1))
        return [following, *inner_consts, *outs[: loop.num_carry], *inner_xs, *filled]

    results = _while([number(0), *consts, *carry, *xs, *stacks], condition, body)[1:]
    return [*loop.parts(results[: len(operands)])[1], *results[len(operands) :]]


def _while(
    operands: Sequence[Any],
    condition: Callable[..., Sequence[Any]],
    body: Callable[..., Sequence[Any]],
) -> list[Any]:
    """A loop with its two regions written by functions of what it carries."""
    types = [x.type for x in operands]
    loop = hlo.WhileOp(types, operands)
    for region, write in zip(loop.regions, (condition, body), strict=True):
        block = ir.Block.create_at_start(region, types)
        with ir.InsertionPoint(block):
            hlo.return_(write(*block.arguments))
    return list(loop.results)


def _tensor(shape: Sequence[int], like: Any) -> Any:
    return ir.RankedTensorType.get(shape, ir.RankedTensorType(like.type).element_type)


def _integers(values: Sequence[int]) -> Any:
    return ir.DenseI64ArrayAttr.get(np.asarray(values, np.int64))
