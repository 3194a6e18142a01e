"""Programs over several devices."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from plugjax.core import registry
from plugjax.core.array import Array, transfer
from plugjax.core.aval import ShapedArray
from plugjax.core.device import Executable, Placement, Sharding
from plugjax.core.jaxpr import ClosedJaxpr
from plugjax.execution.compile import (
    as_constant,
    copied_donations,
    make_ending,
    make_single,
    prepare,
)
from plugjax.meshes.named import NamedSharding
from plugjax.meshes.partition import Partition
from plugjax.meshes.propagation import result_shardings, tell_shardings
from plugjax.meshes.spec import PartitionSpec
from plugjax.transforms.named_axes import axes_inside


class Partitioned:
    """A program compiled for the devices of a mesh.

    Backends that do not partition run the program of whole arrays on the first device, whose memory the others share.

    Attributes:
        jaxpr: the program as the backend got it.
        executable: what the backend made of it.
        partition: how it is spread, nothing left open.
        call: runs it on a sequence of Arrays at the placements, and gives a list of Arrays.
        leading: constants that are passed as arguments before those of the call.
        out_avals: avals of the results.
        placements: where the arguments must be.
        single: like ``call``, giving the one result itself; ``None`` where there is no such fast path.
        ending: like ``single`` for a program whose only argument is donated.
    """

    single: Callable[[Sequence[Array]], Array] | None = None
    ending: Callable[[Sequence[Array]], Array] | None = None

    def __init__(
        self, jaxpr: ClosedJaxpr, partition: Partition, options: Mapping[str, Any]
    ) -> None:
        devices = partition.devices
        backend = devices[0].backend
        self.out_avals = [
            aval if sharding is None else sharding.typed(aval)
            for aval, sharding in zip(jaxpr.out_avals, partition.results, strict=True)
        ]
        self.jaxpr, constants, options = prepare(jaxpr, devices[0], options)
        whole = NamedSharding(partition.mesh, PartitionSpec())
        asked = Partition(
            partition.mesh, (*[whole] * len(constants), *partition.arguments), partition.results
        )
        if backend.partitions and len(devices) > 1:
            options = {**options, "partition": asked}
        if backend.processes[1] > 1:
            # Processes compare what they compile.
            options = {**options, "constants": b"".join(np.asarray(c).tobytes() for c in constants)}
        with axes_inside(self.jaxpr):
            executable: Executable = registry.active().hook.plugjax_compile(
                jaxpr=self.jaxpr, device=devices[0], options=options
            )
        found = executable.partition
        if found is None:
            arguments = [s or whole for s in asked.arguments]
            spread = arguments[len(constants) :]
            tell_shardings(jaxpr, partition.mesh, spread)
            results = result_shardings(jaxpr, partition.mesh, spread, partition.results)
            found = Partition(partition.mesh, tuple(arguments), tuple(results))
        results_found = [
            s if s is None or wanted is not None else _in_kind(s, kind)
            for s, wanted, kind in zip(
                found.results, partition.results, _kinds(partition), strict=True
            )
        ]
        settled = Partition(found.mesh, found.arguments[len(constants) :], tuple(results_found))
        leading = [
            transfer(as_constant(value, whole.committed), whole.committed) for value in constants
        ]
        self._settle(executable, settled, leading)

    @classmethod
    def of(
        cls,
        jaxpr: ClosedJaxpr,
        executable: Executable,
        leading: list[Array],
        out_avals: Sequence[ShapedArray],
        partition: Partition,
    ) -> Partitioned:
        """What was compiled before, by its attributes; the partition leaves nothing open."""
        made: Partitioned = object.__new__(cls)
        made.jaxpr = jaxpr
        made.out_avals = [
            aval if sharding is None else sharding.typed(aval)
            for aval, sharding in zip(out_avals, partition.results, strict=True)
        ]
        made._settle(executable, partition, leading)
        return made

    def _settle(self, executable: Executable, partition: Partition, leading: list[Array]) -> None:
        out_avals = self.out_avals
        self.executable = executable
        self.partition = partition
        self.placements = [_placement(s) for s in partition.arguments]
        self.leading = leading
        results_at = [_placement(s) for s in partition.results]
        self.call = _make_call(executable, leading, out_avals, results_at)
        if len(out_avals) == 1 and not leading:
            self.single = make_single(executable, out_avals[0], results_at[0])
            if executable.donated and len(self.jaxpr.in_avals) == 1:
                self.ending = make_ending(executable, out_avals[0], results_at[0])

    @property
    def result_shardings(self) -> list[Sharding]:
        """How the results are spread."""
        return [s for s in self.partition.results if s is not None]

    def moving(self, arrays: Sequence[Array]) -> Callable[[Sequence[Array]], list[Array]]:
        """``call`` for arrays that lie as given ones, moving those that lie otherwise than they must."""
        places = [(i, place) for i, place in enumerate(self.moves(arrays)) if place is not None]
        if not places:
            return self.call
        call = self.call

        def run(given: Sequence[Array]) -> list[Array]:
            placed = list(given)
            for i, place in places:
                placed[i] = transfer(placed[i], place)
            return call(placed)

        return run

    def moves(self, arrays: Sequence[Array]) -> list[Placement | None]:
        """For each argument where it must be moved, ``None`` if it lies as it must."""
        return [
            None if lies_as(x, placement) else placement
            for x, placement in zip(arrays, self.placements, strict=True)
        ]


def _kinds(partition: Partition) -> Sequence[str]:
    return partition.kinds or ["device"] * len(partition.results)


def _in_kind(sharding: Sharding, kind: str) -> Sharding:
    if sharding.memory_kind == kind:
        return sharding
    found: Sharding = sharding.with_memory_kind(kind)
    return found


def _placement(sharding: Sharding | None) -> Placement:
    if sharding is None:
        raise TypeError("a backend left open how an argument or result is spread")
    return sharding.committed


def lies_as(array: Array, placement: Placement) -> bool:
    """Whether an array lies on devices as it would at a placement."""
    held = array._placement
    if held is placement or held.device is placement.device:
        return True
    if not (held.several and placement.several):
        return False
    same: bool = held.sharding.is_equivalent_to(placement.sharding, array.aval.ndim)
    return same


def _make_call(
    executable: Executable,
    leading: list[Array],
    out_avals: Sequence[Any],
    placements: Sequence[Placement],
) -> Callable[[Sequence[Array]], list[Array]]:
    run = executable.run
    if executable.host:
        fixed = [x._fetch() for x in leading]

        def call_host(arrays: Sequence[Array]) -> list[Array]:
            values = [x._host if x._host is not None else x._fetch() for x in arrays]
            results = run(fixed + values if fixed else values)
            return [
                Array(aval, placement, value)
                for aval, placement, value in zip(out_avals, placements, results, strict=True)
            ]

        return call_host
    resident = [x._resident() for x in leading]
    donated = sorted(i - len(resident) for i in executable.donated)
    new = object.__new__

    def call(arrays: Sequence[Array]) -> list[Array]:
        buffers = [x._buffer if x._buffer is not None else x._resident() for x in arrays]
        if donated:
            copied_donations(arrays, buffers, donated)
        results = run(resident + buffers if resident else buffers)
        found = []
        for aval, placement, buffer in zip(out_avals, placements, results, strict=True):
            array = new(Array)
            array.aval, array._placement, array._host, array._buffer = aval, placement, None, buffer
            found.append(array)
        return found

    return call
