"""Programs compiled for devices that are not there."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from plugjax.extend.backend import Executable
from plugjax.extend.core import ClosedJaxpr, Device
from plugjax.extend.meshes import Partition
from plugjax_xla.cuda_plugin import cuda_data_folder
from plugjax_xla.failures import raise_as_ours
from plugjax_xla.fingerprint import compiled_for, digest
from plugjax_xla.jaxlib_shim import compile_only
from plugjax_xla.mesh_runtime import spread_options
from plugjax_xla.modules import PLATFORM, LoweringBackend, compile_flags, lowered_for
from plugjax_xla.partitioned import (
    chosen_partition,
    is_open,
    with_described_results,
)

# Candidates for kernels of a GPU are compared by running them.
_FLAGS = {"cuda": {"xla_gpu_autotune_level": 0}}


class AheadBackend(LoweringBackend):
    """Compiles programs with XLA for the devices of one topology.

    Args:
        kind: ``"tpu"`` or ``"cuda"``.
        topology: its name, for errors.
        found: the devices as XLA knows them.
    """

    name = PLATFORM
    compiles_only = True

    def __init__(self, kind: str, topology: str, found: Sequence[Any]) -> None:
        self.topology = topology
        self._raw = {
            Device(
                self, kind, raw.id, raw.device_kind,
                process_index=raw.process_index, host_visible=False,
            ): raw
            for raw in found
        }  # fmt: skip

    def devices(self) -> Sequence[Device]:
        """The devices of the topology."""
        return list(self._raw)

    def put(self, value: np.ndarray[Any, Any], device: Any) -> Any:
        """Refused.

        Raises:
            RuntimeError: always.
        """
        raise _not_there(self)

    def compile(self, jaxpr: ClosedJaxpr, device: Device, options: Mapping[str, Any]) -> Executable:
        """Lower and compile.

        Args:
            jaxpr: the program.
            device: one of `devices`.
            options: ``name``, ``donated``, ``partition``, and debug flags of XLA by name.

        Raises:
            LoweringError: a primitive has no lowering; calls to Python cannot be in what is compiled ahead.
            JaxRuntimeError: XLA refuses the program or an option.
        """
        partition: Partition | None = options.get("partition")
        if partition is None:
            return self._compiled(jaxpr, [device], None, options)
        return with_described_results(
            partition, lambda p: self._compiled(jaxpr, p.devices, p, options)
        )

    def _compiled(
        self,
        jaxpr: ClosedJaxpr,
        devices: Sequence[Device],
        partition: Partition | None,
        options: Mapping[str, Any],
    ) -> AheadExecutable:
        kind = devices[0].kind
        spread: tuple[Sequence[bool], Sequence[bool]] = ((), ())
        if partition is not None:
            options = {**options, "partition": partition}
            arguments, results = partition.arguments, partition.results
            spread = [s is None for s in arguments], [s is None or is_open(s) for s in results]
        lowered = lowered_for(jaxpr, devices[0], options)
        flags = {**_FLAGS.get(kind, {}), **compile_flags(options)}
        settings = spread_options([each.id for each in devices], flags, *spread)
        if kind == "cuda" and (folder := cuda_data_folder()) is not None:
            settings.executable_build_options.debug_options.xla_gpu_cuda_data_dir = str(folder)
        try:
            raw = compile_only(lowered.module, [self._raw[each] for each in devices], settings)
        except RuntimeError as error:
            raise_as_ours(error)
        settled = None if partition is None else chosen_partition(raw, jaxpr, partition)
        described = compiled_for(
            kind, self._raw[devices[0]].client.platform_version, devices[0].description,
            os.environ.get("XLA_FLAGS", ""),
        )  # fmt: skip
        return AheadExecutable(self, raw, settled, options.get("donated", ()), digest(described))


class AheadExecutable(Executable):
    """A program compiled by XLA for devices that are not there.

    Args:
        backend: of the devices.
        raw: XLA's executable.
        partition: how it is spread over devices, nothing left open; ``None`` for one device.
        donated: indices of donated arguments.
        head: the digest of what it depends on.
    """

    def __init__(
        self,
        backend: AheadBackend,
        raw: Any,
        partition: Partition | None,
        donated: Sequence[int],
        head: bytes,
    ) -> None:
        self._backend, self._raw, self._head = backend, raw, head
        self.partition = partition
        self.donated = frozenset(donated)

    def run(self, buffers: Sequence[Any]) -> Sequence[Any]:
        """Refused.

        Raises:
            RuntimeError: always.
        """
        raise _not_there(self._backend)

    @property
    def code(self) -> bytes:
        """What PJRT loads: the serialized executable."""
        return bytes(self._raw.serialize())

    def serialize(self) -> bytes:
        """The same, with what it depends on: what the backend loads where such devices are."""
        return self._head + self.code

    def as_text(self) -> str:
        """The optimised program of one device, as HLO text."""
        return "\n\n".join(module.to_string() for module in self._raw.hlo_modules())

    def cost_analysis(self) -> Mapping[str, float]:
        """XLA's estimates for one device; its compiler for GPUs makes none."""
        costs = _if_implemented(self._raw.cost_analysis) or {}
        return dict(costs[0] if isinstance(costs, list) else costs)

    def memory_analysis(self) -> Mapping[str, int] | None:
        """Sizes in bytes, on one device."""
        stats = _if_implemented(self._raw.get_compiled_memory_stats)
        if stats is None:
            return None
        fields = {n: getattr(stats, n) for n in dir(stats) if n.endswith("_in_bytes")}
        return {name: value for name, value in fields.items() if isinstance(value, int)}


def _if_implemented(ask: Callable[[], Any]) -> Any:
    """What a runtime answers, ``None`` if its library has no answer."""
    try:
        return ask()
    except RuntimeError as error:
        if not str(error).startswith("UNIMPLEMENTED"):
            raise
        return None


def _not_there(backend: AheadBackend) -> RuntimeError:
    return RuntimeError(
        f"{backend.topology} is a topology, whose devices are not on this machine: programs are compiled for it and do not run. "
        "Write the executable with plugjax.experimental.serialize_executable, and load it where the devices are."
    )
