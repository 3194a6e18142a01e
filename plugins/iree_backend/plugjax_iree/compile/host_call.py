"""Calls from compiled programs to Python: the declaration in the module, and the function behind it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plugjax.stablehlo import mlir
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.host_call import HostCall
from plugjax_iree.runtime.host_module import ArraySpec, HostFunction


def _name(index: int, call: HostCall) -> str:
    stem = "".join(c if c.isalnum() else "_" for c in call.name)
    return f"{stem}_{index}"


def emit_host_call(
    ctx: EqnContext, index: int, call: HostCall, operands: Sequence[mlir.Value]
) -> Sequence[mlir.Value]:
    """Declare ``@host.NAME`` and call it."""
    symbol = f"host.{_name(index, call)}"
    arguments = [mlir.type_of(aval) for aval in call.in_avals]
    results = [mlir.type_of(aval) for aval in call.out_avals]
    mlir.declare_function(ctx.module.module, symbol, arguments, results)
    found = mlir.op("func.call", results, operands, {"callee": mlir.symbol(symbol)})
    return list(found.results)


def host_functions(calls: Sequence[HostCall]) -> list[HostFunction]:
    """The functions that a module calls, in the order of their indices."""
    return [
        HostFunction(
            _name(index, call),
            tuple(_spec(aval) for aval in call.in_avals),
            tuple(_spec(aval) for aval in call.out_avals),
            call.kernel,
        )
        for index, call in enumerate(calls)
    ]


def _spec(aval: Any) -> ArraySpec:
    return ArraySpec(aval.shape, aval.dtype)
