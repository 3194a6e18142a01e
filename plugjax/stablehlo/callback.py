"""Lowerings of callbacks: each is a call to Python by the backend's mechanism."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from plugjax.extend.core import ShapedArray
from plugjax.extend.errors import LoweringError
from plugjax.extend.rules import RuleSet, lowering
from plugjax.lax.callback import FlatCallback, io_callback_p, pure_callback_p
from plugjax.lax.debug_callback import debug_callback_p, debug_print_p, print_callback
from plugjax.lax.inspection import inspect_sharding_p
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.host_call import called_from
from plugjax.stablehlo.mlir import Value

rules = RuleSet(__name__)


@rules.define(lowering, pure_callback_p, io_callback_p)
def _callback(
    ctx: EqnContext,
    *operands: Value,
    callback: FlatCallback,
    result_avals: tuple[ShapedArray, ...],
    **_: Any,
) -> list[Value]:
    return _call(ctx, operands, callback, lambda arrays: callback.results(arrays, result_avals))


@rules.define(lowering, debug_callback_p)
def _debug_callback(
    ctx: EqnContext, *operands: Value, callback: FlatCallback, **_: Any
) -> list[Value]:
    return _emit_side_effect(ctx, operands, callback)


@rules.define(lowering, debug_print_p)
def _debug_print(ctx: EqnContext, *operands: Value, **params: Any) -> list[Value]:
    return _emit_side_effect(ctx, operands, print_callback(**params))


def _emit_side_effect(
    ctx: EqnContext, operands: Sequence[Value], callback: FlatCallback
) -> list[Value]:
    def run(arrays: Sequence[np.ndarray[Any, Any]]) -> list[Any]:
        callback.run(arrays)
        return []

    return _call(ctx, operands, callback, run)


def _call(
    ctx: EqnContext,
    operands: Sequence[Value],
    callback: FlatCallback,
    run: Callable[[Sequence[np.ndarray[Any, Any]]], Sequence[Any]],
) -> list[Value]:
    if ctx.module.emit_host_call is None:
        raise LoweringError(
            f"primitive '{ctx.primitive.name}' calls the Python function {callback.name!r}, and the program cannot call "
            "Python here. Leave the call out of what is exported."
        )

    def kernel(*arrays: np.ndarray[Any, Any]) -> tuple[Any, ...]:
        # The runtime owns this memory and reuses it after the call; the function may keep its
        # arguments.
        return tuple(run([x if x.flags.owndata else x.copy() for x in arrays]))

    return ctx.host_call(called_from(ctx.eqn, kernel, cacheable=False), operands)


@rules.define(lowering, inspect_sharding_p)
def _told_before(ctx: EqnContext, x: Value, **_: Any) -> list[Value]:
    return []
