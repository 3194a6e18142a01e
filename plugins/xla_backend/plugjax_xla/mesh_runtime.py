"""Values and programs that are spread over the devices of one client.

A spread buffer is jaxlib's array object with a part on each device. How it is spread is given by blocks: into how many each
axis is cut, and which one each device holds.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, NoReturn

import numpy as np

from plugjax_xla.host_callbacks import raise_original
from plugjax_xla.host_views import PACKED_BITS
from plugjax_xla.jaxlib_shim import Aval, collect_garbage, garbage_due, jaxlib, version_before

Buffer = Any
HostArray = np.ndarray[Any, Any]

# Bytes of an array from which threads that copy its parts are worth their start.
_MANY_BYTES = 1 << 24


class Blocks(NamedTuple):
    """How an array is spread.

    Attributes:
        counts: into how many blocks each axis is cut.
        positions: the block that each device holds.
    """

    counts: tuple[int, ...]
    positions: tuple[tuple[int, ...], ...]

    def indices(self, shape: Sequence[int]) -> list[tuple[slice, ...]]:
        """The index of each device's block."""
        sizes = [n // count for n, count in zip(shape, self.counts, strict=True)]
        return [
            tuple(slice(i * size, (i + 1) * size) for i, size in zip(position, sizes, strict=True))
            for position in self.positions
        ]


def blocks_from_proto(proto: Any, ndim: int, devices: int) -> Blocks | None:
    """The blocks that XLA's serialized description of a sharding means; ``None`` for what is no tiling."""
    return blocks_from_hlo(jaxlib().xla_client.HloSharding.from_proto(proto), ndim, devices)


def blocks_from_hlo(hlo: Any, ndim: int, devices: int) -> Blocks | None:
    """The blocks that XLA's description of a sharding means; ``None`` for what is no tiling."""
    if hlo.is_replicated():
        return Blocks((1,) * ndim, ((0,) * ndim,) * devices)
    if not hlo.is_tiled() or hlo.subgroup_types():
        return None
    dims = list(hlo.tile_assignment_dimensions())
    order = np.array(hlo.tile_assignment_devices()).reshape(dims)
    positions: list[tuple[int, ...]] = [()] * devices
    for index in np.ndindex(*dims):
        positions[int(order[index])] = tuple(int(i) for i in index[:ndim])
    return Blocks(tuple(dims[:ndim]), tuple(positions))


def described(blocks: Blocks) -> Any:
    """Blocks as XLA's ``HloSharding``."""
    client = jaxlib().xla_client
    if all(count == 1 for count in blocks.counts):
        return client.HloSharding.replicate()
    holders: dict[tuple[int, ...], list[int]] = {}
    for device, position in enumerate(blocks.positions):
        holders.setdefault(position, []).append(device)
    copies = len(next(iter(holders.values())))
    proto = client.OpSharding()
    proto.type = client.OpSharding.Type.OTHER
    order = [device for index in np.ndindex(*blocks.counts) for device in holders[index]]
    proto.tile_assignment_dimensions = [*blocks.counts, *([copies] if copies > 1 else [])]
    proto.tile_assignment_devices = order
    proto.replicate_on_last_tile_dim = copies > 1
    return client.HloSharding.from_proto(proto)


def _each(place: Callable[[int], Buffer], indices: Sequence[int], size: int) -> list[Buffer]:
    """Place parts, of large arrays several at a time: one thread copies half as fast as memory takes it."""
    if size < _MANY_BYTES or len(indices) < 2:
        return list(map(place, indices))
    with ThreadPoolExecutor(min(len(indices), os.cpu_count() or 1)) as threads:
        return list(threads.map(place, indices))


def spread_options(
    devices: Sequence[int],
    options: Mapping[str, Any],
    open_arguments: Sequence[bool],
    open_results: Sequence[bool],
) -> Any:
    """Options of the compiler for a program over some devices.

    Args:
        devices: their numbers.
        options: XLA's debug flags by name.
        open_arguments: for each argument whether the compiler chooses how it is spread.
        open_results: likewise.
    """
    client = jaxlib().xla_client
    found = client.CompileOptions()
    found.num_replicas = 1
    found.num_partitions = len(devices)
    found.device_assignment = client.DeviceAssignment.create(np.array([list(devices)]))
    found.env_option_overrides = sorted(options.items())
    build = found.executable_build_options
    build.use_spmd_partitioning = True
    build.use_shardy_partitioner = True
    build.allow_spmd_sharding_propagation_to_parameters = list(open_arguments) or [False]
    build.allow_spmd_sharding_propagation_to_output = list(open_results) or [False]
    return found


class MeshRuntime:
    """Devices of one client that hold values together and run programs together.

    Args:
        devices: the runtime's devices, in the order of the mesh.
    """

    def __init__(self, devices: Sequence[Any]) -> None:
        self.devices = tuple(devices)
        self.client = devices[0].client
        # Positions of the devices of this process.
        self.local = [i for i, device in enumerate(devices) if device in self.client.devices]
        self._raw = [device.raw for device in devices]
        self._shardings: dict[Blocks, Any] = {}
        self._blocks: weakref.WeakKeyDictionary[Any, Blocks] = weakref.WeakKeyDictionary()
        self._handlers: dict[Any, Any] = {}

    def sharding(self, blocks: Blocks) -> Any:
        """The runtime's sharding of blocks, one object for equal ones."""
        found = self._shardings.get(blocks)
        if found is None:
            found = jaxlib().mesh_sharding(self._raw, described(blocks))
            self._shardings[blocks] = found
            self._blocks[found] = blocks
        return found

    def put(self, value: HostArray, blocks: Blocks, *, owned: bool = True) -> Buffer:
        """A spread buffer with the values of an array.

        Args:
            value: the array.
            blocks: how it is spread.
            owned: ``value`` is never written to again, so that its memory may be used; otherwise it is copied before this returns.
        """
        value = np.asarray(value)
        indices = blocks.indices(value.shape)
        first: dict[tuple[int, ...], int] = {}
        shared: dict[int, int] = {}
        for i in self.local:
            found = first.setdefault(blocks.positions[i], i)
            if found != i and self.devices[i].host_memory and value.dtype not in PACKED_BITS:
                # Devices that share the host's memory share a copy in it too: runtimes do not write to borrowed memory.
                shared[i] = found

        def placed(i: int) -> Buffer:
            part = np.asarray(value[indices[i]])
            if owned:
                part = np.ascontiguousarray(part).reshape(part.shape)
            return self.devices[i].put(part, owned=owned)

        own = [i for i in self.local if i not in shared]
        at = dict(zip(own, _each(placed, own, value.nbytes), strict=True))
        for i, other in shared.items():
            part = value[indices[i]]
            held = self.devices[other].get(at[other], part.shape, part.dtype)
            at[i] = self.devices[i].put(held, owned=True)
        buffers = [at[i] for i in self.local]
        return self.joined(buffers, value.shape, value.dtype, blocks)

    def join(
        self, parts: Sequence[HostArray | None], shape: Sequence[int], dtype: Any, blocks: Blocks
    ) -> Buffer:
        """A spread buffer of the part on each device; parts of other processes are left out."""
        buffers = []
        for i in self.local:
            part = np.asarray(parts[i])
            buffers.append(
                self.devices[i].put(np.ascontiguousarray(part).reshape(part.shape), owned=True)
            )
        return self.joined(buffers, shape, dtype, blocks)

    def joined(
        self, buffers: list[Buffer], shape: Sequence[int], dtype: Any, blocks: Blocks
    ) -> Buffer:
        """A spread buffer of the buffers on the devices of this process."""
        aval = Aval(tuple(shape), np.dtype(dtype))
        found = jaxlib().extension.ArrayImpl(aval, self.sharding(blocks), list(buffers), True, True)
        found.plugjax_parts = list(buffers)
        return found

    def holds(self, buffer: Buffer) -> bool:
        """Whether a buffer is spread over these devices."""
        return buffer._sharding in self._blocks

    def part(self, buffer: Buffer, index: int) -> Buffer:
        """The buffer on one of the devices."""
        index = self.local.index(index)
        own = getattr(buffer, "plugjax_parts", None)
        if own is not None:
            return own[index]
        aval = buffer.aval
        counts = self._blocks[buffer._sharding].counts
        shape = tuple(n // count for n, count in zip(aval.shape, counts, strict=True))
        # Before jaxlib 0.11 this imports jax, if that is installed; without jax, its results have no shape.
        part = buffer._arrays[index]
        return self.devices[self.local[index]].adopt_part(part, Aval(shape, aval.dtype))

    def get(self, buffer: Buffer, shape: Sequence[int], dtype: np.dtype[Any]) -> HostArray:
        """The values of a spread buffer as one read-only array.

        Raises:
            Exception: the exception of a host callback during the computation.
        """
        if next(garbage_due):
            collect_garbage()
        try:
            buffer.block_until_ready()
        except RuntimeError as error:
            raise_original(error)
        blocks = self._blocks[buffer._sharding]
        indices = blocks.indices(shape)
        if all(count == 1 for count in blocks.counts):
            return self._part_value(buffer, self.local[0], indices[0], shape, dtype)
        here = {blocks.positions[i] for i in self.local}
        if here != set(blocks.positions):
            raise RuntimeError(
                "Fetching value for an array that spans non-addressable (non process local) devices is not possible. Read its "
                "addressable_shards, or gather it with plugjax.experimental.multihost_utils.process_allgather."
            )
        found = np.empty(shape, dtype)
        seen = set()
        for number in self.local:
            position = blocks.positions[number]
            if position not in seen:
                seen.add(position)
                index = indices[number]
                found[index] = self._part_value(buffer, number, index, shape, dtype)
        found.flags.writeable = False
        return found

    def _part_value(
        self,
        buffer: Buffer,
        number: int,
        index: tuple[slice, ...],
        shape: Sequence[int],
        dtype: np.dtype[Any],
    ) -> HostArray:
        part_shape = tuple(len(range(*s.indices(n))) for s, n in zip(index, shape, strict=True))
        value: HostArray = self.devices[number].get(self.part(buffer, number), part_shape, dtype)
        return value

    def result_handler(self, shape: tuple[int, ...], dtype: np.dtype[Any], blocks: Blocks) -> Any:
        """What makes a spread buffer of one result."""
        library = jaxlib()
        return library.extension.array_result_handler(
            Aval(shape, dtype),
            self.sharding(blocks),
            committed=True,
            **library.result_handler_options,
        )

    def compile_options(
        self,
        options: Mapping[str, Any],
        open_arguments: Sequence[bool],
        open_results: Sequence[bool],
    ) -> Any:
        """Options of the compiler for a program over the devices; arguments as of `spread_options`."""
        numbers = [device.id for device in self.devices]
        return spread_options(numbers, options, open_arguments, open_results)

    def compile(self, module: Any, options: Any, host_callbacks: Sequence[Any] = ()) -> Any:
        """The runtime's executable of a module."""
        self.client.revive()
        return self.client.raw.compile_and_load(
            module,
            executable_devices=jaxlib().extension.DeviceList(tuple(self._raw)),
            compile_options=options,
            host_callbacks=list(host_callbacks),
        )

    def serialize(self, raw: Any) -> bytes:
        """The machine code of an executable."""
        return bytes(
            raw.serialize()
            if hasattr(raw, "serialize")
            else self.client.raw.serialize_executable(raw)
        )

    def deserialize(self, blob: bytes, options: Any) -> Any:
        """The executable that :meth:`serialize` wrote.

        Raises:
            ValueError: the bytes are no executable of this version of XLA.
        """
        self.client.revive()
        devices = jaxlib().extension.DeviceList(tuple(self._raw))
        try:
            return self.client.raw.deserialize_executable(blob, devices, options)
        except RuntimeError as error:
            raise ValueError(f"not a loadable XLA executable: {error}") from error

    def runner(
        self,
        raw: Any,
        handlers: Sequence[Any],
        on_error: Callable[[RuntimeError], NoReturn],
        *,
        collective: bool,
    ) -> Callable[[Sequence[Buffer]], Sequence[Buffer]]:
        """A function that runs an executable on spread buffers.

        Args:
            raw: the executable.
            handlers: for each result what makes a buffer of it.
            on_error: raises the error that stands for one of XLA's.
            collective: whether its devices wait for one another.
        """
        execute = raw.execute_sharded
        # Before jaxlib 0.12 the processor's threads may all wait within different runs, and the process is aborted. A run
        # therefore begins when the one before has ended.
        in_turn = (
            collective
            and self.client.platform == "cpu"
            and version_before(jaxlib().version, (0, 12))
        )
        latest = self.client.latest_collective

        def run(buffers: Sequence[Buffer]) -> Sequence[Buffer]:
            if next(garbage_due):
                collect_garbage()
            try:
                found: Sequence[Buffer] = execute(buffers).consume_with_handlers(handlers)
            except RuntimeError as error:
                on_error(error)
            return found

        def run_in_turn(buffers: Sequence[Buffer]) -> Sequence[Buffer]:
            try:
                for buffer in latest:
                    if not buffer.is_deleted():
                        buffer.block_until_ready()
            except RuntimeError as error:
                on_error(error)
            results = run(buffers)
            latest[:] = results[:1]
            return results

        return run_in_turn if in_turn else run
