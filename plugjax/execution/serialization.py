"""Compiled functions taken apart, and made again from their parts: what serialization writes and reads.

A backend may write what it compiled: its executables then have a method ``serialize() -> bytes``, which raises ValueError if the program
calls Python, and its ``compile`` takes the option ``compiled``, a :class:`CompiledForm`, from which it loads the program. What a backend
does not write is compiled again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from plugjax.core import pytree, registry
from plugjax.core.array import from_host
from plugjax.core.aval import ShapedArray
from plugjax.core.config import config
from plugjax.core.device import Executable, Placement
from plugjax.core.jaxpr import ClosedJaxpr, Jaxpr, Var
from plugjax.execution.compile import Compiled
from plugjax.execution.jit.arguments import ArgumentPlan
from plugjax.execution.jit.program import Program
from plugjax.execution.jit.stages import CompiledFunction, Lowered, Traced
from plugjax.execution.partitioned import Partitioned
from plugjax.meshes.named import NamedSharding
from plugjax.meshes.partition import Partition
from plugjax.meshes.spec import PartitionSpec


@dataclass(frozen=True, eq=False)
class CompiledForm:
    """What a backend wrote of a program.

    Attributes:
        jaxpr: the program; the form is of no other one.
        blob: the bytes.
    """

    jaxpr: ClosedJaxpr
    blob: bytes


@runtime_checkable
class Serializable(Protocol):
    """An executable that can be written."""

    def serialize(self) -> bytes:
        """The compiled program.

        Raises:
            ValueError: it calls Python objects of this process.
        """


@dataclass(frozen=True, eq=False)
class CompiledParts:
    """A compiled function as data.

    Attributes:
        name: of the function.
        in_avals: avals of all arguments.
        out_avals: avals of the results.
        kept: which arguments the program takes.
        donated: which arguments it takes the memory of.
        program: what the backend got, with large constants as its first inputs; ``None`` if it is not known.
        constants: those constants.
        blob: what the backend wrote; ``None`` if it writes nothing.
        costs: the estimated cost.
    """

    name: str
    in_avals: Sequence[ShapedArray]
    out_avals: Sequence[ShapedArray]
    kept: tuple[int, ...]
    donated: tuple[int, ...]
    program: ClosedJaxpr | None
    constants: Sequence[np.ndarray[Any, Any]]
    blob: bytes | None
    costs: Mapping[str, float]


def parts_of(function: CompiledFunction) -> CompiledParts:
    """The parts of a compiled function.

    Raises:
        ValueError: it calls Python objects of this process.
    """
    compiled, program = function._compiled, function._lowered._program
    executable: Any = compiled.executable
    while hasattr(executable, "inner"):
        # What verifies results wraps what the backend made.
        executable = executable.inner
    return CompiledParts(
        program.name,
        program.jaxpr.in_avals,
        program.jaxpr.out_avals,
        program.plan.kept,
        program.plan.donated,
        compiled.jaxpr,
        [np.asarray(x._fetch()) for x in compiled.leading],
        executable.serialize() if isinstance(executable, Serializable) else None,
        function.cost_analysis(),
    )


def placement_of(function: CompiledFunction) -> Placement | Partition:
    """Where a compiled function runs: a placement, or how it is spread over the devices of a mesh."""
    compiled = function._compiled
    return compiled.partition if isinstance(compiled, Partitioned) else compiled.placement


def function_of(
    parts: CompiledParts, in_tree: Any, out_tree: Any, target: Placement | Partition
) -> CompiledFunction:
    """The compiled function that parts describe.

    Args:
        parts: the parts.
        in_tree: structure of ``(args, kwargs)``.
        out_tree: structure of the result.
        target: where it runs, nothing left open.

    Raises:
        ValueError: the structures have another number of leaves, or the backend cannot load the program.
    """
    for what, tree, avals in (
        ("in_tree", in_tree, parts.in_avals),
        ("out_tree", out_tree, parts.out_avals),
    ):
        if tree.num_leaves != len(avals):
            raise ValueError(
                f"{what} has {tree.num_leaves} leaves, and the compiled function {len(avals)}. Give the structure that serialize "
                "returned with the bytes."
            )
    shift = len(parts.constants)
    taken = [shift + parts.kept.index(i) for i in parts.donated]
    whole = _of_avals(parts.in_avals, parts.out_avals)
    executable = _executable(parts, taken, target)
    known, out_avals = parts.program or whole, list(parts.out_avals)
    compiled: Compiled | Partitioned
    if isinstance(target, Partition):
        everywhere = NamedSharding(target.mesh, PartitionSpec()).committed
        leading = [from_host(x, placement=everywhere) for x in parts.constants]
        compiled = Partitioned.of(known, executable, leading, out_avals, target)
    else:
        leading = [from_host(x, placement=target) for x in parts.constants]
        compiled = Compiled.of(known, executable, leading, out_avals, target)
    program = Program(
        parts.name,
        (config.fingerprint, in_tree, (), tuple(parts.in_avals), ()),
        whole,
        pytree.paths_of(in_tree),
        out_tree,
        parts.donated,
        True,
        {},
    )
    program.plan = ArgumentPlan(whole, parts.kept, len(parts.in_avals), parts.donated, ())
    lowered = Lowered(Traced(program, lambda: target), program, target)
    return CompiledFunction(lowered, compiled)


def _of_avals(in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray]) -> ClosedJaxpr:
    """A program of which the types alone are known."""
    return ClosedJaxpr(Jaxpr([], [Var(a) for a in in_avals], [Var(a) for a in out_avals], []))


class _Loaded(Executable):
    """A loaded program, with the cost that was estimated before it was written."""

    def __init__(self, inner: Executable, costs: Mapping[str, float]) -> None:
        self.inner = inner
        self.host, self.donated, self.verification = inner.host, inner.donated, inner.verification
        self.run = inner.run  # type: ignore[method-assign]  # an attribute is called at less cost
        self.as_text = inner.as_text  # type: ignore[method-assign]
        self.memory_analysis = inner.memory_analysis  # type: ignore[method-assign]
        self._costs = dict(costs)

    def cost_analysis(self) -> Mapping[str, float]:
        """The estimate that came with it."""
        return self._costs


def _executable(
    parts: CompiledParts, donated: Sequence[int], target: Placement | Partition
) -> Executable:
    options: dict[str, Any] = {"name": parts.name, "donated": tuple(donated)}
    if isinstance(target, Partition):
        device = target.devices[0]
        if device.backend.partitions and len(target.devices) > 1:
            everywhere = NamedSharding(target.mesh, PartitionSpec())
            arguments = (*[everywhere] * len(parts.constants), *target.arguments)
            options["partition"] = Partition(target.mesh, arguments, target.results)
    else:
        device = target.device
    if parts.program is not None:
        if parts.blob is not None:
            options["compiled"] = CompiledForm(parts.program, parts.blob)
        found = registry.active().hook.plugjax_compile(
            jaxpr=parts.program, device=device, options=options
        )
    elif parts.blob is not None:
        avals = [
            *(ShapedArray(x.shape, x.dtype) for x in parts.constants),
            *(parts.in_avals[i] for i in parts.kept),
        ]
        unknown = _of_avals(avals, parts.out_avals)
        options["compiled"] = CompiledForm(unknown, parts.blob)
        found = device.backend.compile(unknown, device, options)
    else:
        raise ValueError("neither the program nor what a backend compiled of it is known.")
    return _Loaded(found, parts.costs)


__all__ = [
    "CompiledForm",
    "CompiledParts",
    "Serializable",
    "function_of",
    "parts_of",
    "placement_of",
]
