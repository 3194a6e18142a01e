"""The IREE backend: StableHLO compiled in a helper process, run by IREE's runtime in this one.

Devices: ``iree:local:0`` runs in the calling thread (best for small programs), ``iree:task:0`` on a pool of threads (best
from about 200 us of work); Vulkan, CUDA and HIP devices appear where a driver finds one. Compiled modules are kept in the
persistent cache, since a compilation takes 0.3 s to seconds.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from plugjax.core import Backend, ClosedJaxpr, Device, Executable, ShapedArray
from plugjax.core.compilation_cache import default_cache
from plugjax.core.config import config
from plugjax.core.errors import JaxRuntimeError
from plugjax.core.source_info import register_internal
from plugjax.stablehlo.lower import LoweredModule, lower_module
from plugjax_iree.aliasing import shared_results, unshared
from plugjax_iree.compiler import (
    CompileError,
    CompileTarget,
    compile_stablehlo,
    compiler_fingerprint,
)
from plugjax_iree.donation import reused_arguments
from plugjax_iree.foreign import GuardedRules
from plugjax_iree.host_call import emit_host_call, host_functions
from plugjax_iree.overwriting import with_copies
from plugjax_iree.runtime import RuntimeDevice, available_devices, available_drivers, open_device

register_internal(os.path.dirname(__file__))

# Other options are flags of the compiler.
_OWN_OPTIONS = ("name", "donated", "debug_info", "subprocess", "apart", "without")

_LOCAL = {"local": "local-sync", "task": "local-task"}
_WORDS = {
    "local": "IREE on the CPU, in the calling thread",
    "task": "IREE on the CPU, a pool of threads",
}


class IreeProgram(Executable):
    """A loaded module.

    Attributes:
        cache_key: of its entry in the persistent cache; empty if it has none.
    """

    def __init__(
        self, function: Any, vmfb: bytes, donated: Sequence[int], cache_key: str = ""
    ) -> None:
        self.run = function  # type: ignore[method-assign]  # no layer between the hot path and the call
        self.vmfb = vmfb
        self.cache_key = cache_key
        self.donated = frozenset(donated)

    def memory_analysis(self) -> Any:
        """Size of the compiled module, in bytes."""
        return {"generated_code_size_in_bytes": len(self.vmfb)}


class IreeBackend(Backend):
    """Compiles programs with IREE."""

    name = "iree"
    dialects = ("stablehlo",)
    careful_options: Mapping[str, Any] = MappingProxyType({"apart": True})

    def __init__(self) -> None:
        devices = [Device(self, kind, 0, _WORDS[kind], "cpu") for kind in _LOCAL]
        self._uris = {device: _LOCAL[device.kind] for device in devices}
        for driver in available_drivers():
            if driver in _LOCAL.values():
                continue
            for index, uri in enumerate(available_devices(driver)):
                device = Device(self, driver, index, f"IREE on {uri}")
                self._uris[device] = uri
                devices.append(device)
        self._devices = tuple(devices)
        self.host_visible = True

    def devices(self) -> Sequence[Device]:
        """``iree:local:0``, ``iree:task:0``, and accelerators that are there."""
        return self._devices

    def runtime(self, device: Device) -> RuntimeDevice:
        """The runtime's device; opened on first use."""
        return open_device(self._uris[device])

    def put(self, value: np.ndarray[Any, Any], device: Device) -> Any:
        """A buffer; shares the memory if that is aligned as compiled code needs."""
        return self.runtime(device).put(np.asarray(value), owned=True)

    def get(self, buffer: Any, aval: ShapedArray) -> np.ndarray[Any, Any]:
        """The values, without a copy where the memory can be mapped."""
        return _any_local_device().get(buffer, aval.dtype, aval.shape)

    def compile(self, jaxpr: ClosedJaxpr, device: Device, options: Mapping[str, Any]) -> Executable:
        """Lower, compile or find in the cache, and load."""
        donated = tuple(options.get("donated", ()))
        lowered = self._lower(jaxpr, device, options)
        vmfb, cache_key = self._vmfb(lowered, self._target(device, options), options)
        runtime = self.runtime(device)
        function = runtime.load(vmfb, host_functions(lowered.host_calls)).function("main")
        results = shared_results(jaxpr)
        if results:
            avals = jaxpr.out_avals

            def copy(buffer: Any, index: int) -> Any:
                return runtime.put(self.get(buffer, avals[index]))

            function = unshared(function, results, donated, copy)
        return IreeProgram(function, vmfb, donated, cache_key)

    def _target(self, device: Device, options: Mapping[str, Any]) -> CompileTarget:
        """What the compiler compiles for, with the user's flags."""
        flags = {k: v for k, v in options.items() if k not in _OWN_OPTIONS}
        unknown = [k for k in flags if not k.startswith("iree-")]
        if unknown:
            raise JaxRuntimeError(
                f"INVALID_ARGUMENT: No such compile option: {', '.join(map(repr, unknown))}. IREE takes flags of its compiler "
                "by name ('iree-opt-level': 'O2'), and 'subprocess'."
            )
        extra = tuple(
            f"--{k}={str(v).lower() if isinstance(v, bool) else v}"
            for k, v in sorted(flags.items())
        )
        return (
            dataclasses.replace(self.target(device), extra=extra) if extra else self.target(device)
        )

    def target(self, device: Device) -> CompileTarget:
        """What the compiler compiles for."""
        return CompileTarget("local" if device.kind in _LOCAL else device.kind)

    def lower(self, jaxpr: ClosedJaxpr, options: Mapping[str, Any], dialect: str) -> str:
        """The StableHLO text that IREE gets."""
        lowered = self._lower(jaxpr, self._devices[0], options)
        return lowered.as_text(debug_info=bool(options.get("debug_info")))

    def _lower(
        self, jaxpr: ClosedJaxpr, device: Device, options: Mapping[str, Any]
    ) -> LoweredModule:
        donated = tuple(options.get("donated", ()))
        return lower_module(
            with_copies(jaxpr, donated),
            self.name,
            name=str(options.get("name", "program")),
            emit_host_call=emit_host_call,
            reused=reused_arguments(jaxpr, donated),
            device_kind=device.hardware,
            locations=bool(options.get("debug_info")),
            rules=GuardedRules(),
        )

    def _vmfb(
        self, lowered: LoweredModule, target: CompileTarget, options: Mapping[str, Any]
    ) -> tuple[bytes, str]:
        """The module, and its key in the cache."""
        text = lowered.as_text(generic=True)
        extra = {k: str(v) for k, v in options.items() if k not in ("name", "donated")}
        keep = config.read("use_compilation_cache") and all(c.cacheable for c in lowered.host_calls)
        cache = default_cache() if keep else None
        key = ""
        if cache is not None:
            # Calls of host kernels included: the text has their names and types, and whoever loads the
            # module supplies the functions.
            parts = (text, *target.flags(), *compiler_fingerprint(), repr(sorted(extra.items())))
            key = cache.key("iree", *parts)
            stored = cache.get(key)
            if stored is not None:
                return stored, key
        try:
            vmfb = compile_stablehlo(
                text,
                target,
                has_contraction="dot_general" in text or "stablehlo.convolution" in text,
                f64="f64" in text,
                subprocess=bool(options.get("subprocess", True)),
                apart=bool(options.get("apart", False)),
                without=tuple(options.get("without", ())),
            )
        except CompileError as error:
            refused = JaxRuntimeError(f"IREE could not compile '{options.get('name')}': {error}")
            refused.is_refusal = error.stage != "flags"  # type: ignore[attr-defined]  # read by the guards
            raise refused from error
        if key and cache is not None:
            cache.put(key, vmfb)
        return vmfb, key


def _any_local_device() -> RuntimeDevice:
    return open_device("local-sync")
