"""Programs as the StableHLO modules that XLA gets, and the options beside them."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from plugjax.extend.backend import Backend
from plugjax.extend.core import ClosedJaxpr, Device, config
from plugjax.extend.dtypes import float0
from plugjax.stablehlo.artifacts import artifact_module, exported_module
from plugjax.stablehlo.lower import LoweredModule, lower_module, matching_results
from plugjax_xla import pjrt
from plugjax_xla.host_calls import CALLS_PYTHON, emit_host_call
from plugjax_xla.pjrt import Option

# Whose lowering rules are used, for the devices of all clients.
PLATFORM = "xla"

# plugjax's options of `jit`; the others are XLA's debug flags.
_OWN_OPTIONS = frozenset({"name", "donated", "partition", "compiled", "constants", "debug_info"})

_NUMERICS: dict[str, dict[str, Option]] = {
    "strict": {"xla_allow_excess_precision": False},
    "default": {},
    "fast": {"xla_cpu_enable_fast_math": True},
}


def compile_flags(options: Mapping[str, Any]) -> dict[str, Option]:
    """XLA's debug flags for a program with options of ``jit``."""
    own = {name: value for name, value in options.items() if name not in _OWN_OPTIONS}
    return {**_NUMERICS[config.read("numerics")], **own}


def lowered_for(
    jaxpr: ClosedJaxpr, device: Device, options: Mapping[str, Any], hardware: str = ""
) -> LoweredModule:
    """The module for a device, or for other hardware.

    Raises:
        LoweringError: a primitive has neither a lowering nor a host kernel that programs of the hardware can call.
    """
    hardware = hardware or device.hardware
    reached = hardware in CALLS_PYTHON and not device.backend.compiles_only
    return lower_module(
        jaxpr,
        PLATFORM,
        name=f"jit_{options.get('name', 'f')}",
        emit_host_call=functools.partial(emit_host_call, hardware) if reached else None,
        reused=_reused(jaxpr, options),
        device_kind=hardware,
        locations=bool(options.get("debug_info")),
        partition=options.get("partition"),
        hints=True,
    )


def _reused(jaxpr: ClosedJaxpr, options: Mapping[str, Any]) -> dict[int, int | None]:
    donated = options.get("donated", ())
    if options.get("partition") is not None:
        # How results are spread is not known yet.
        return dict.fromkeys(donated)
    return matching_results(jaxpr, donated)


class LoweringBackend(Backend):
    """A backend whose programs are modules of StableHLO for XLA, for hardware of any kind."""

    partitions = True
    lowers_for = ("cpu", "cuda", "rocm", "tpu")
    dialects = ("stablehlo", "hlo")

    def lower(self, jaxpr: ClosedJaxpr, options: Mapping[str, Any], dialect: str) -> str:
        """The program as StableHLO text, or as the HLO that XLA makes of it.

        Args:
            jaxpr: the program.
            options: of ``jit``; ``platforms`` names hardware other than that of the devices.
            dialect: ``"stablehlo"`` or ``"hlo"``.
        """
        platforms: Sequence[str] = options.get("platforms", ())
        if len(platforms) > 1:
            # With the number of a platform as the first argument, and the program for each.
            name, partition = str(options.get("name", "f")), options.get("partition")
            programs = dict.fromkeys(platforms, jaxpr)
            artifact, _ = exported_module(programs, name, partition=partition)
            return str(artifact_module(artifact))
        lowered = lowered_for(jaxpr, self.devices()[0], options, *platforms)
        if dialect == "hlo":
            return pjrt.hlo_text(lowered.module)
        return lowered.as_text(debug_info=bool(options.get("debug_info")))


def result_specs(jaxpr: ClosedJaxpr) -> list[tuple[Sequence[int], Any]]:
    """Shapes and dtypes of the results, as XLA has them."""
    return [
        (aval.shape, np.dtype(np.bool_) if aval.dtype == float0 else aval.dtype)
        for aval in jaxpr.out_avals
    ]
