"""XLA as a backend: devices, buffers, and the compilation of programs."""

from __future__ import annotations

import functools
import importlib.metadata
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from plugjax.extend.backend import Executable
from plugjax.extend.core import ClosedJaxpr, Device, ShapedArray, Sharding, config
from plugjax.extend.dtypes import float0
from plugjax.extend.execution import CompilationCache, default_cache
from plugjax.extend.meshes import Partition
from plugjax.stablehlo.lower import LoweredModule
from plugjax_xla import pjrt
from plugjax_xla.argument_slots import has_slots, with_slots
from plugjax_xla.failures import largest, raise_as_ours
from plugjax_xla.hlo_transformations import any_registered
from plugjax_xla.host_calls import host_callback
from plugjax_xla.jaxlib_shim import register_shipped_targets
from plugjax_xla.mesh_runtime import MeshRuntime
from plugjax_xla.modules import LoweringBackend, compile_flags, lowered_for, result_specs
from plugjax_xla.partitioned import (
    PartitionedExecutable,
    blocks_of,
    is_open,
    with_described_results,
)
from plugjax_xla.pjrt import Buffer, Option, PjrtDevice, PjrtExecutable
from plugjax_xla.processes import ProcessGroup
from plugjax_xla.transfer_server import TransferServer
from plugjax_xla.written import (
    load_executable,
    load_spread_executable,
    write_executable,
)

if TYPE_CHECKING:
    from plugjax.extend.serialization import CompiledForm

HostArray = np.ndarray[Any, Any]

# Elements of operands and results together from which compiled elementwise operations are faster than NumPy's. On two cores
# with float32: exp and tanh from 2**18 per array, add and mul from 2**20; sin and pow never.
_EAGER_LIMIT = 1 << 19


class ClientBackend(LoweringBackend):
    """Compiles programs with XLA for the devices of its runtimes. A subclass says which devices there are.

    Attributes:
        group: the processes whose devices run programs together, if this is one of several.
    """

    partitions = True
    lowers_for = ("cpu", "cuda", "rocm", "tpu")
    dialects = ("stablehlo", "hlo")

    def __init__(self) -> None:
        # Devices as their runtimes know them.
        self._runtime: dict[Device, Any] = {}
        self._meshes: dict[tuple[Device, ...], MeshRuntime] = {}
        self.group: ProcessGroup | None = None

    def device_of(self, kind: str, index: int, description: str, process_index: int = 0) -> Device:
        """A device of this backend; the host sees a processor's memory, and runs small eager primitives there."""
        if kind != "cpu":
            # An eager primitive on the host would copy its operands there.
            return Device(
                self, kind, index, description, process_index=process_index, host_visible=False
            )
        return Device(
            self, kind, index, description, process_index=process_index, eager_limit=_EAGER_LIMIT
        )

    def join(self, parts: Sequence[Any], aval: ShapedArray, sharding: Sharding) -> Buffer:
        """A spread buffer of the parts on the devices of this process, ``None`` for those of others."""
        mesh = self.mesh_runtime(sharding.devices)
        return mesh.join(parts, aval.shape, aval.dtype, blocks_of(sharding, aval.ndim))

    def runtime_device(self, device: Device) -> PjrtDevice:
        """The device as its runtime knows it."""
        found: PjrtDevice = self._runtime[device]
        return found

    def start_transfer_server(self, address: str, *settings: Any) -> TransferServer:
        """A server that other processes fetch arrays from; arguments as for `TransferServer`."""
        return TransferServer(self, self.runtime_device(self.devices()[0]), address, *settings)

    def mesh_runtime(self, devices: Sequence[Device]) -> MeshRuntime:
        """Several devices as the runtime knows them."""
        key = tuple(devices)
        found = self._meshes.get(key)
        if found is None:
            found = MeshRuntime([self.runtime_device(device) for device in key])
            self._meshes[key] = found
        return found

    def put(self, value: HostArray, device: Device) -> Buffer:
        """A buffer with the values of an array, in its own memory where the alignment allows."""
        if value.dtype == float0:
            value = np.zeros(value.shape, np.bool_)
        if isinstance(device, Sharding):
            mesh = self.mesh_runtime(device.devices)
            return mesh.put(value, blocks_of(device, np.ndim(value)))
        runtime = self._runtime.get(device) or self.runtime_device(device)
        return runtime.put(value, owned=True)

    def spread(self, value: HostArray, sharding: Sharding) -> Buffer:
        """A spread buffer with a copy of the values of an array, which may be written to later."""
        mesh = self.mesh_runtime(sharding.devices)
        return mesh.put(value, blocks_of(sharding, value.ndim), owned=False)

    def block(self, buffer: Buffer, index: int) -> Buffer:
        """The part on one of the devices."""
        return self._mesh_of(buffer).part(buffer, index)

    def _mesh_of(self, buffer: Buffer) -> MeshRuntime:
        return next(each for each in self._meshes.values() if each.holds(buffer))

    def get(self, buffer: Buffer, aval: ShapedArray, device: Device) -> HostArray:
        """The values as a read-only array, in the buffer's own memory on a processor."""
        if aval.dtype == float0:
            return np.zeros(aval.shape, float0)
        runtime: Any = next((r for r in self._runtime.values() if r.holds(buffer)), None)
        runtime = runtime or self._mesh_of(buffer)
        try:
            return runtime.get(buffer, aval.shape, aval.dtype)
        except RuntimeError as error:
            raise_as_ours(error, self.group, str(aval))

    def delete(self, buffer: Buffer) -> None:
        """Free the memory now, or with its last view."""
        pjrt.delete(buffer)

    def block_until_ready(self, buffer: Buffer) -> None:
        """Wait until the values are computed; raises the errors of the computation."""
        try:
            pjrt.block_until_ready([buffer])
        except RuntimeError as error:
            spec = (buffer.aval.shape, buffer.aval.dtype)
            raise_as_ours(error, self.group, largest([spec]))

    def is_ready(self, buffer: Buffer) -> bool:
        """Whether the values are computed."""
        return pjrt.is_ready(buffer)

    def compile(self, jaxpr: ClosedJaxpr, device: Device, options: Mapping[str, Any]) -> Executable:
        """Lower and compile, or load the executable from the cache.

        Args:
            jaxpr: the program.
            device: one of `devices`.
            options: ``name``, ``donated``, ``compiled`` (load this), and debug flags of XLA by name.

        Raises:
            ValueError: what is to be loaded is not of this machine or version.
            LoweringError: a primitive has neither a lowering nor a usable host kernel.
            JaxRuntimeError: XLA refuses the program or an option.
        """
        partition: Partition | None = options.get("partition")
        if partition is not None:
            return with_described_results(
                partition, lambda p: self._compile_partitioned(jaxpr, p, options)
            )
        runtime = self.runtime_device(device)
        specs = result_specs(jaxpr)
        form: CompiledForm | None = options.get("compiled")
        if form is not None and form.jaxpr is jaxpr:
            found = load_executable(runtime, form.blob, specs)
            return XlaExecutable(found, options.get("donated", ()), effectful=False)
        lowered = lowered_for(jaxpr, device, options)
        flags = compile_flags(options)
        bytecode = lowered.bytecode()
        register_shipped_targets(bytecode)
        try:
            if lowered.host_calls:
                callbacks = [host_callback(device.kind, call) for call in lowered.host_calls]
                compiled = runtime.compile(
                    lowered.module, specs, host_callbacks=callbacks, options=flags
                )
            else:
                compiled = _compile_or_load(runtime, lowered, bytecode, specs, flags)
        except RuntimeError as error:
            raise_as_ours(error)
        effectful = any(call.effectful for call in lowered.host_calls)
        return XlaExecutable(compiled, options.get("donated", ()), effectful=effectful)

    def _compile_partitioned(
        self,
        jaxpr: ClosedJaxpr,
        partition: Partition,
        options: Mapping[str, Any],
    ) -> PartitionedExecutable:
        mesh = self.mesh_runtime(partition.devices)
        settings = mesh.compile_options(
            compile_flags(options),
            [s is None for s in partition.arguments],
            [s is None or is_open(s) for s in partition.results],
        )
        on_error = functools.partial(raise_as_ours, group=self.group)
        donated = options.get("donated", ())
        form: CompiledForm | None = options.get("compiled")
        if form is not None and form.jaxpr is jaxpr:
            raw = load_spread_executable(mesh, form.blob, settings)
            return PartitionedExecutable(
                mesh, raw, jaxpr, partition, donated, on_error, blob=form.blob
            )
        options = {**options, "partition": partition}
        lowered = lowered_for(jaxpr, partition.devices[0], options)
        bytecode = lowered.bytecode()
        register_shipped_targets(bytecode)
        if self.group is not None:
            self.group.check_program(
                str(options.get("name")),
                bytecode,
                options.get("constants", b""),
                {each.process_index for each in partition.devices},
            )
        kind = partition.devices[0].kind
        callbacks = [host_callback(kind, call) for call in lowered.host_calls]
        try:
            raw = mesh.compile(lowered.module, settings, callbacks)
        except RuntimeError as error:
            raise_as_ours(error)
        return PartitionedExecutable(
            mesh, raw, jaxpr, partition, donated, on_error, calls_python=bool(callbacks)
        )


class XlaExecutable(Executable):
    """A program compiled by XLA.

    Args:
        compiled: the runtime's executable.
        donated: indices of donated arguments.
        effectful: whether it calls Python for side effects; ``run`` then waits for these calls.
    """

    def __init__(
        self, compiled: PjrtExecutable, donated: Sequence[int], *, effectful: bool
    ) -> None:
        self._compiled = compiled
        self.donated = frozenset(donated)
        # The hot path is an attribute of the instance, so that a call is one Python frame.
        runner = _effectful_runner if effectful else _runner
        self.run = runner(compiled)  # type: ignore[assignment,method-assign]  # as above

    def taking_values(
        self, avals: Mapping[int, ShapedArray]
    ) -> Callable[[list[Any]], Sequence[Buffer]] | None:
        """``run`` that writes small values into memory of the device; ``None`` on a GPU."""
        compiled = self._compiled
        if not (compiled.device.host_memory and compiled.out_specs and has_slots(avals)):
            return None
        return with_slots(self.run, compiled, avals)

    def serialize(self) -> bytes:
        """The machine code, with what it depends on.

        Raises:
            ValueError: it calls Python objects of this process.
        """
        return write_executable(self._compiled)

    def as_text(self) -> str:
        """The optimised program, as HLO text."""
        return self._compiled.hlo_text()

    def cost_analysis(self) -> Mapping[str, float]:
        """XLA's estimates."""
        return self._compiled.cost_analysis()

    def memory_analysis(self) -> Mapping[str, int]:
        """Sizes in bytes."""
        return self._compiled.memory_analysis()


Run = Callable[[Sequence[Buffer]], Sequence[Buffer]]


def _runner(compiled: PjrtExecutable) -> Run:
    execute, handlers = compiled.execute, compiled.handlers
    garbage_due, collect_garbage = pjrt.garbage_due, pjrt.collect_garbage

    def run(buffers: Sequence[Buffer]) -> Sequence[Buffer]:
        if next(garbage_due):
            collect_garbage()
        try:
            return execute(buffers).consume_with_handlers(handlers)
            # jaxlib's type.
        except RuntimeError as error:
            raise_as_ours(error, value=largest(compiled.out_specs))

    def set_execute(found: Callable[..., Any]) -> None:
        nonlocal execute
        execute = found

    compiled.link(set_execute)
    # A reference to `run` keeps the executable alive, so that a forked process finds it.
    run.compiled = compiled  # type: ignore[attr-defined]  # functions have attributes
    return run


def _effectful_runner(compiled: PjrtExecutable) -> Run:
    def run(buffers: Sequence[Buffer]) -> Sequence[Buffer]:
        try:
            results, token = compiled.call_with_token(buffers)
            pjrt.block_until_ready([token])
        except RuntimeError as error:
            raise_as_ours(error)
        return results

    return run


def _compile_or_load(
    runtime: PjrtDevice,
    lowered: LoweredModule,
    bytecode: bytes,
    specs: Sequence[tuple[Sequence[int], Any]],
    flags: Mapping[str, Option],
) -> PjrtExecutable:
    cache = _cache()
    if cache is None:
        return runtime.compile(lowered.module, specs, options=flags)
    key = cache.key(
        bytecode,
        runtime.compile_options_fingerprint(flags),
        *runtime.runtime_fingerprint(),
        _own_version(),
    )
    blob = cache.get(key)
    if blob is not None:
        try:
            return runtime.deserialize(blob, specs)
        except ValueError:
            # The entry is intact, as its checksum shows, but this runtime cannot load it. The
            # result below replaces it.
            pass
    compiled = runtime.compile(lowered.module, specs, options=flags)
    cache.put(key, compiled.serialize())
    return compiled


def _cache() -> CompilationCache | None:
    if not config.read("enable_compilation_cache") or any_registered():
        return None
    environment = (os.environ.get(f"PLUGJAX_CACHE_{name}") for name in ("DIR", "MAX_BYTES"))
    return _cache_of(*environment, config.read("compilation_cache_dir"))


@functools.cache
def _cache_of(*_settings: str | None) -> CompilationCache | None:
    # One object per setting, because it counts its writes.
    return default_cache()


@functools.cache
def _own_version() -> str:
    try:
        return importlib.metadata.version("plugjax-xla")
    except importlib.metadata.PackageNotFoundError:
        return "not installed"
