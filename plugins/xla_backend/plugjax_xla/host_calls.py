"""Calls to Python in programs of XLA: the operation, and the function behind it.

There are two kinds: XLA copies what the function returns, or hands it the memory of the results (``HostCall.in_place``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from plugjax.stablehlo import mlir
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.custom_call import custom_call
from plugjax.stablehlo.host_call import HostCall, InPlace
from plugjax.stablehlo.meshes import on_first_device
from plugjax.stablehlo.mlir import Value
from plugjax_xla.host_callbacks import HostCallback

# Hardware whose programs can call Python, with what XLA's calls are named after.
CALLS_PYTHON = {"cpu": "cpu", "cuda": "gpu", "rocm": "gpu"}


def emit_host_call(
    kind: str, ctx: EqnContext, index: int, call: HostCall, operands: Sequence[Value]
) -> list[Value]:
    """Write the operation.

    Args:
        kind: of the device.
        ctx: the equation.
        index: of the call in the program.
        call: the call.
        operands: values.
    """
    types = [mlir.type_of(aval) for aval in call.out_avals]
    number = mlir.attribute(f"{index} : ui64")
    hardware = CALLS_PYTHON[kind]
    place = call.in_place
    if place is None:
        attributes = {
            "call_target_name": mlir.string(f"xla_ffi_python_{hardware}_callback"),
            "api_version": mlir.attribute("4 : i32"),
            "backend_config": mlir.dictionary({"index": number}),
            "has_side_effect": mlir.boolean(call.effectful),
        }
        if ctx.module.meshes and not ctx.module.manual_axes:
            # Outside of programs of one device, the first device calls Python.
            attributes["sdy.sharding"] = on_first_device(ctx.module, len(call.out_avals))
        return list(mlir.op("stablehlo.custom_call", types, operands, attributes).results)
    replayed = "_cmd_buffer" if place.replayed and hardware == "gpu" else ""
    found = custom_call(
        f"xla_buffer_python_{hardware}_callback{replayed}",
        types,
        operands,
        backend_config={"index": number},
        has_side_effect=call.effectful,
        operand_output_aliases=dict(place.aliases),
        operand_layouts=[range(a.ndim)[::-1] for a in call.in_avals],
        result_layouts=[range(a.ndim)[::-1] for a in call.out_avals],
    )
    return list(found.results)


def host_callback(kind: str, call: HostCall) -> HostCallback:
    """The function behind the operation."""
    name = f"host kernel of {call.name}"
    if call.in_place is not None:
        function = _in_memory(call.in_place, len(call.in_avals), on_host=kind == "cpu")
        return HostCallback(function, [], name=name)
    return HostCallback(call.kernel, [(a.shape, a.dtype) for a in call.out_avals], name=name)


def _in_memory(place: InPlace, count: int, *, on_host: bool) -> Any:
    def run(context: Any, *buffers: Any) -> None:
        memory = [np.asarray(b) for b in buffers] if on_host else list(buffers)
        if on_host:
            for operand in memory[:count]:
                operand.flags.writeable = False
        place.run(context, memory[count:], memory[:count])

    return run
