"""Programs over the devices of a mesh."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, TypeVar

import numpy as np

from plugjax.extend.backend import Executable
from plugjax.extend.core import ClosedJaxpr, ShapedArray, Sharding
from plugjax.extend.dtypes import float0
from plugjax.extend.meshes import AbstractMesh, Mesh, NamedSharding, Partition, PartitionSpec
from plugjax_xla.mesh_runtime import Blocks, MeshRuntime, blocks_from_proto
from plugjax_xla.written import write_spread_executable

_T = TypeVar("_T")


def blocks_of(sharding: Sharding, ndim: int) -> Blocks:
    """How values of a rank are spread, as the runtime takes it."""
    return Blocks(sharding.counts(ndim), tuple(sharding.positions(ndim)))


def named(mesh: Mesh | AbstractMesh, blocks: Blocks) -> NamedSharding | None:
    """The sharding by a mesh's names that spreads values into given blocks; ``None`` if there is none."""
    sizes = dict(mesh.shape_tuple)
    choices = []
    for count in blocks.counts:
        fitting = [
            names
            for length in range(len(sizes) + 1)
            for names in itertools.permutations(sizes, length)
            if np.prod([sizes[n] for n in names], dtype=int) == count
            and all(sizes[n] > 1 for n in names)
        ]
        choices.append(fitting)
    for entries in itertools.product(*choices):
        used = [name for names in entries for name in names]
        if len(set(used)) < len(used):
            continue
        spec = [names[0] if len(names) == 1 else (names or None) for names in entries]
        while spec and spec[-1] is None:
            spec.pop()
        sharding = NamedSharding(mesh, PartitionSpec(*spec))
        if tuple(sharding.positions(len(blocks.counts))) == blocks.positions:
            return sharding
    return None


class UndescribedError(Exception):
    """XLA spreads results in a way that no partition spec describes.

    Attributes:
        results: their positions.
    """

    def __init__(self, results: Sequence[int]) -> None:
        super().__init__(results)
        self.results = results


def with_described_results(partition: Partition, compile_for: Callable[[Partition], _T]) -> _T:
    """What is compiled for a partition. All devices get the results whole that XLA spreads in a way that no sharding describes."""
    try:
        return compile_for(partition)
    except UndescribedError as error:
        results = error.results
    # One that a single device computes, for example.
    whole = NamedSharding(partition.mesh, PartitionSpec())
    changed = tuple(whole if i in results else s for i, s in enumerate(partition.results))
    return compile_for(Partition(partition.mesh, partition.arguments, changed))


class PartitionedExecutable(Executable):
    """A program over several devices, compiled by XLA.

    Args:
        runtime: the devices.
        raw: the runtime's executable.
        jaxpr: the program.
        partition: how it was asked to be spread.
        donated: indices of donated arguments.
        on_error: raises the error that stands for one of XLA's.
        calls_python: whether it calls Python objects of this process.
        blob: the bytes that it was loaded from, if it was.

    Raises:
        UndescribedError: the compiler spreads a result that was left open in a way of its own.
    """

    def __init__(
        self,
        runtime: MeshRuntime,
        raw: Any,
        jaxpr: ClosedJaxpr,
        partition: Partition,
        donated: Sequence[int],
        on_error: Callable[[RuntimeError], NoReturn],
        *,
        calls_python: bool = False,
        blob: bytes | None = None,
    ) -> None:
        self._raw = raw
        self._runtime = runtime
        self._calls_python = calls_python
        self._blob = blob
        self.donated = frozenset(donated)
        self.partition = chosen_partition(raw, jaxpr, partition)
        handlers = [
            runtime.result_handler(
                aval.shape,
                np.dtype(np.bool_) if aval.dtype == float0 else aval.dtype,
                blocks_of(sharding, aval.ndim),
            )
            for aval, sharding in zip(jaxpr.out_avals, self.partition.results, strict=True)
            if sharding is not None
        ]
        self._text: str | None = None
        collective = any(word in self.as_text() for word in _COLLECTIVES)
        self.run = runtime.runner(raw, handlers, on_error, collective=collective)  # type: ignore[assignment,method-assign]  # one frame less

    def serialize(self) -> bytes:
        """The machine code, with what it depends on.

        Raises:
            ValueError: it calls Python objects of this process.
        """
        if self._calls_python:
            raise ValueError("XLA: an executable that calls Python cannot be written.")
        # XLA does not write completely what it has loaded.
        return self._blob or write_spread_executable(self._runtime, self._raw)

    def as_text(self) -> str:
        """The optimised program of one device, as HLO text."""
        if self._text is None:
            self._text = "\n\n".join(module.to_string() for module in self._raw.hlo_modules())
        return self._text

    def cost_analysis(self) -> Mapping[str, float]:
        """XLA's estimates for one device."""
        costs = self._raw.cost_analysis()
        return dict(costs[0] if isinstance(costs, list) else costs)


_COLLECTIVES = (
    "all-reduce", "all-gather", "all-to-all", "collective-permute", "reduce-scatter", "collective-broadcast",
)  # fmt: skip


def chosen_partition(raw: Any, jaxpr: ClosedJaxpr, partition: Partition) -> Partition:
    """How an executable is spread, nothing left open.

    Raises:
        UndescribedError: the compiler spreads a result that was left open in a way of its own.
    """
    mesh, count = partition.mesh, len(partition.devices)
    arguments = _settled(
        mesh, partition.arguments, jaxpr.in_avals, raw.get_parameter_shardings, count
    )
    results = _settled(mesh, partition.results, jaxpr.out_avals, raw.get_output_shardings, count)
    if None in results:
        raise UndescribedError([i for i, s in enumerate(results) if s is None])
    return Partition(mesh, tuple(arguments), tuple(results))


def _settled(
    mesh: Mesh | AbstractMesh,
    asked: Sequence[Sharding | None],
    avals: Sequence[ShapedArray],
    read: Any,
    count: int,
) -> list[Sharding | None]:
    """Shardings, where they were left open as the compiler chose them; ``None`` for those that no spec describes."""
    if all(s is not None and not is_open(s) for s in asked):
        return [s for s in asked if s is not None]
    found: list[Sharding | None] = []
    chosen = read() or []
    for i, (sharding, aval) in enumerate(zip(asked, avals, strict=True)):
        if sharding is not None and not is_open(sharding):
            found.append(sharding)
            continue
        blocks = blocks_from_proto(chosen[i], aval.ndim, count) if i < len(chosen) else None
        found.append(None if blocks is None else named(mesh, blocks))
    return found


def is_open(sharding: Sharding) -> bool:
    """Whether a sharding leaves some axes to the compiler."""
    return PartitionSpec.UNCONSTRAINED in tuple(getattr(sharding, "spec", ()))
