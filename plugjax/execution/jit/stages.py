"""The stages of a jitted function ahead of time: traced, lowered, compiled."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, overload, runtime_checkable

from plugjax.core import pytree
from plugjax.core.array import as_array, transfer
from plugjax.core.aval import ShapedArray
from plugjax.core.device import Placement
from plugjax.core.jaxpr import ClosedJaxpr
from plugjax.core.operators import HasAval
from plugjax.core.primitive import Tracer
from plugjax.execution.compile import Compiled, lowered_text
from plugjax.execution.costs import program_costs, program_memory
from plugjax.execution.dialects import backend_for_hardware, backend_with_dialect
from plugjax.execution.jit.layout import array_signature
from plugjax.execution.jit.program import Program
from plugjax.execution.layouts import Format, row_by_row
from plugjax.execution.partitioned import Partitioned, lies_as
from plugjax.meshes.partition import Partition
from plugjax.transforms.shape_struct import ShapeDtypeStruct
from plugjax.transforms.tracebacks import api_boundary
from plugjax.transforms.tree_differences import first_difference

_P = ParamSpec("_P")
_Q = ParamSpec("_Q")
_R = TypeVar("_R", covariant=True)


@dataclass(frozen=True)
class ArgInfo(HasAval):
    """What is known of an argument before it is there.

    Attributes:
        aval: its aval.
        donated: whether its memory may be taken over.
    """

    aval: ShapedArray
    donated: bool


class MemoryStats(dict[str, int]):
    """Sizes in bytes by name; the names are attributes too, as in JAX."""

    def __getattr__(self, name: str) -> int:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


def _described(avals: Sequence[ShapedArray]) -> list[ShapeDtypeStruct]:
    return [
        ShapeDtypeStruct(
            a.shape, a.dtype, weak_type=a.weak_type, sharding=getattr(a, "spread", None)
        )
        for a in avals
    ]


def _lowered(avals: Sequence[ShapedArray]) -> list[ShapeDtypeStruct]:
    """Without weak types, of which a lowered program knows nothing."""
    return [ShapeDtypeStruct(a.shape, a.dtype) for a in avals]


class Traced:
    """A traced function: its jaxpr and shapes, ready to be lowered.

    Attributes:
        jaxpr: the program.
        fun_name: name of the function.
        in_tree: structure of ``(args, kwargs)``, without static arguments.
        out_tree: structure of the result.
    """

    def __init__(self, program: Program, target: Callable[[], Placement | Partition]) -> None:
        self.jaxpr = program.jaxpr
        self.in_tree = program.in_tree
        self.out_tree = program.out_tree
        self.fun_name = program.name
        self._program = program
        self._target = target

    @functools.cached_property
    def args_info(self) -> Any:
        """An ``ArgInfo`` per argument, in their structure; made when asked for, as not every class holds what is no array."""
        infos = [ArgInfo(a, i in self._program.donated) for i, a in enumerate(self.jaxpr.in_avals)]
        return pytree.unflatten(self.in_tree, infos)

    @property
    def in_avals(self) -> Any:
        """Avals of the arguments, in their structure."""
        return pytree.unflatten(self.in_tree, self.jaxpr.in_avals)

    @property
    def out_avals(self) -> Any:
        """Avals of the results, in their structure."""
        return pytree.unflatten(self.out_tree, self.jaxpr.out_avals)

    @property
    def donate_argnums(self) -> tuple[int, ...]:
        """Positions of the donated arguments among the leaves of ``(args, kwargs)``."""
        return tuple(sorted(self._program.donated))

    @property
    def out_info(self) -> Any:
        """Results as a pytree of ShapeDtypeStruct."""
        return pytree.unflatten(self.out_tree, _described(self.jaxpr.out_avals))

    @property
    def partition(self) -> Partition | None:
        """How all arguments and results are spread over the devices of a mesh; ``None`` if the function runs on one device.

        Differs from JAX:
            JAX has no such property.
        """
        target = self._target()
        if not isinstance(target, Partition) or target.mesh.size <= 1:
            return None
        # Nothing is said of an argument that nothing reads.
        arguments = dict(zip(self._program.plan.kept, target.arguments, strict=True))
        count = len(self.jaxpr.in_avals)
        return replace(target, arguments=tuple(arguments.get(i) for i in range(count)))

    @api_boundary
    def lower(self, *, lowering_platforms: Sequence[str] | None = None) -> Lowered:
        """Settle the device.

        Args:
            lowering_platforms: the hardware to lower for; by default that of the device, or of the default one if there is none. No
                device of it need be there: the text is written, and nothing can be compiled.

        Raises:
            ValueError: no installed backend lowers for it.
        """
        target = self._target()
        here = {name for d in target.backend.devices() for name in (d.hardware, d.platform)}
        if lowering_platforms is None or (
            lowering_platforms and here.issuperset(lowering_platforms)
        ):
            return Lowered(self, self._program, target)
        backend_for_hardware(lowering_platforms, target.backend)
        return Lowered(self, self._program, target, tuple(lowering_platforms))


class Lowered:
    """A traced function and the device that it will be compiled for.

    Attributes:
        in_tree, out_tree: as in :class:`Traced`.
        platforms: other hardware that it is lowered for, if it is.
    """

    def __init__(
        self,
        traced: Traced,
        program: Program,
        target: Placement | Partition,
        platforms: tuple[str, ...] = (),
    ) -> None:
        program.plan.warn()
        self.platforms = platforms
        self._traced = traced
        self._program = program
        self._target = target
        self._texts: dict[tuple[str | None, bool], str] = {}
        self.in_tree = traced.in_tree
        self.out_tree = traced.out_tree

    @property
    def args_info(self) -> Any:
        """An ``ArgInfo`` per argument, in their structure."""
        return self._traced.args_info

    @property
    def donate_argnums(self) -> tuple[int, ...]:
        """As in :class:`Traced`."""
        return self._traced.donate_argnums

    @property
    def in_avals(self) -> Any:
        """Avals of the arguments, in their structure."""
        return self._traced.in_avals

    @property
    def out_info(self) -> Any:
        """Results as a pytree of ShapeDtypeStruct."""
        found = _lowered(self._traced.jaxpr.out_avals)
        if isinstance(self._target, Partition):
            pairs = zip(found, self._target.results, strict=True)
            found = [each.update(sharding=sharding) for each, sharding in pairs]
        return pytree.unflatten(self.out_tree, found)

    def as_text(self, dialect: str | None = None, *, debug_info: bool = False) -> str:
        """The program in the form that the backend's compiler takes: StableHLO text, or generated Python for NumPy.

        Args:
            dialect: ``"stablehlo"``, ``"hlo"`` or another form that some installed backend writes; the device's own
                backend is asked first. ``None`` for that backend's usual one.
            debug_info: whether to write where in the user's program each operation comes from, with the names of
                the scopes around it.

        Raises:
            ValueError: no installed backend writes the dialect.
        """
        key = (dialect, debug_info)
        if key not in self._texts:
            options = {**self._program.options, "debug_info": debug_info}
            if isinstance(self._target, Partition):
                options["partition"] = self._target
            backend = self._target.backend
            if self.platforms:
                options["platforms"] = self.platforms
                backend = backend_for_hardware(self.platforms, backend)
            backend = backend_with_dialect(dialect, backend)
            self._texts[key] = lowered_text(self._program.plan.program, backend, options, dialect)
        return self._texts[key]

    def compiler_ir(self, dialect: str | None = None) -> Any:
        """The text of the program: see :meth:`as_text`."""
        text = self.as_text(dialect)
        return HloText(text) if dialect == "hlo" else text

    def cost_analysis(self) -> Any:
        """The estimated cost: see :meth:`CompiledFunction.cost_analysis`."""
        return self.compile().cost_analysis()

    @api_boundary
    def compile(self, compiler_options: Mapping[str, Any] | None = None) -> CompiledFunction:
        """Compile; the result takes the same arguments, without the static ones.

        Args:
            compiler_options: the backend's own options, beside those of ``jit``.
        """
        target, program = self._target, self._program
        if self.platforms:
            raise ValueError(
                f"compile: '{program.name}' was lowered for {', '.join(self.platforms)}, and {target.backend.name} has no such device. "
                "Lower it without lowering_platforms, jit it for a device of plugjax.experimental.topologies, or write an artifact by plugjax.export for "
                "the place where it runs."
            )
        compiled: Compiled | Partitioned
        options = {**program.options, **(compiler_options or {})}
        if isinstance(target, Partition):
            if compiler_options:
                compiled = Partitioned(program.plan.program, target, options)
            else:
                compiled = program.partitioned_for(target)
        elif compiler_options:
            compiled = Compiled(program.plan.program, target, options)
        else:
            compiled = program.compiled_for(target)
        return CompiledFunction(self, compiled)


class HloText(str):
    """A program in XLA's own form, with the name by which JAX gives the text of one."""

    __slots__ = ()

    def as_hlo_text(self, print_large_constants: bool = False) -> str:
        """The text itself; its constants are written out in any case."""
        return str(self)


class CompiledFunction:
    """A function compiled ahead of time for one signature.

    Attributes:
        in_tree, out_tree: as in :class:`Traced`.
    """

    def __init__(self, lowered: Lowered, compiled: Compiled | Partitioned) -> None:
        self._lowered = lowered
        self._compiled = compiled
        self._run = lowered._program.call(compiled)
        self.in_tree = lowered.in_tree
        self.out_tree = lowered.out_tree
        self._unflatten = pytree.in_key_order(self.out_tree).unflatten
        # Avals and placements of arrays that were taken as they are.
        self._taken: set[Any] = set()

    @property
    def args_info(self) -> Any:
        """An ``ArgInfo`` per argument, in their structure."""
        return self._lowered.args_info

    @property
    def donate_argnums(self) -> tuple[int, ...]:
        """As in :class:`Traced`."""
        return self._lowered.donate_argnums

    @api_boundary
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run.

        Raises:
            TypeError: structure or avals differ from those it was compiled for, or an argument is a tracer.
        """
        leaves, in_tree = pytree.flatten((args, kwargs))
        program = self._lowered._program
        if in_tree != self.in_tree:
            raise TypeError(
                f"Compiled {program.name}: the arguments have another structure than the input pytree that it was compiled for: "
                + first_difference(self.in_tree, in_tree)
            )
        try:
            signature: Any = array_signature(leaves)
        except AttributeError:
            signature = None
        if signature is not None and signature in self._taken:
            return self._unflatten(self._run(leaves))
        for i, x in enumerate(leaves):
            if isinstance(x, Tracer):
                raise TypeError(
                    f"Cannot apply JAX transformations to compiled {program.name}: argument `{program.names[i]}` is a tracer, {x!r}. Transform the "
                    "function, then lower and compile it."
                )
        arrays = [as_array(x) for x in leaves]
        expected = program.jaxpr.in_avals
        for i, (x, aval) in enumerate(zip(arrays, expected, strict=True)):
            if (x.aval.shape, x.aval.dtype) != (aval.shape, aval.dtype):
                raise TypeError(
                    f"Argument types differ from the types for which {program.name} was compiled: argument "
                    f"`{program.names[i]}` was {aval.str_short()} then, and is {x.aval.str_short()} now. Lower and compile for it, or call the jitted function."
                )
        for i, placement in zip(
            self._lowered._program.plan.kept, self._compiled.placements, strict=True
        ):
            if not lies_as(arrays[i], placement):
                arrays[i] = transfer(arrays[i], placement)
                signature = None
        if signature is not None:
            self._taken.add(signature)
        outs = self._run(arrays)
        for i in self._lowered._program.plan.donated:
            # A Python value, or an array that was elsewhere, gave a copy of its own away.
            if arrays[i] is not leaves[i] and hasattr(leaves[i], "delete"):
                leaves[i].delete()
        return self._unflatten(outs)

    @property
    def in_avals(self) -> Any:
        """Avals of the arguments, in their structure."""
        return self._lowered.in_avals

    @property
    def out_info(self) -> Any:
        """Results as a pytree of ShapeDtypeStruct with their shardings."""
        avals = self._lowered._program.jaxpr.out_avals
        found = [
            each.update(sharding=sharding)
            for each, sharding in zip(_lowered(avals), self._compiled.result_shardings, strict=True)
        ]
        return pytree.unflatten(self.out_tree, found)

    @property
    def input_shardings(self) -> Any:
        """Where each argument is wanted, ``None`` for those that nothing reads: ``(args, kwargs)``."""
        flat: list[Any] = [None] * self.in_tree.num_leaves
        kept = self._lowered._program.plan.kept
        for i, placement in zip(kept, self._compiled.placements, strict=True):
            flat[i] = placement.sharding
        return pytree.unflatten(self.in_tree, flat)

    @property
    def output_shardings(self) -> Any:
        """Where each result is."""
        return pytree.unflatten(self.out_tree, self._compiled.result_shardings)

    @property
    def input_formats(self) -> Any:
        """How each argument lies in memory and where; an empty format for those that nothing reads: ``(args, kwargs)``."""
        avals = self._lowered._program.jaxpr.in_avals
        flat = [Format()] * len(avals)
        kept = self._lowered._program.plan.kept
        for i, placement in zip(kept, self._compiled.placements, strict=True):
            flat[i] = Format(row_by_row(avals[i].shape), placement.sharding)
        return pytree.unflatten(self.in_tree, flat)

    @property
    def output_formats(self) -> Any:
        """How each result lies in memory and where."""
        shardings, avals = self._compiled.result_shardings, self._lowered._program.jaxpr.out_avals
        flat = [
            Format(row_by_row(a.shape), sharding)
            for a, sharding in zip(avals, shardings, strict=True)
        ]
        return pytree.unflatten(self.out_tree, flat)

    def as_text(self) -> str:
        """The program as the backend's compiler left it."""
        return self._compiled.executable.as_text()

    def runtime_executable(self) -> Any:
        """The backend's executable."""
        return self._compiled.executable

    @property
    def verification(self) -> Any:
        """What is known of its results (`plugjax.guard.Verification`); ``None`` if they are not verified on this backend.

        Differs from JAX:
            JAX has no such property.
        """
        return self._compiled.executable.verification

    def cost_analysis(self) -> Any:
        """The estimated cost, by name: ``flops``, ``transcendentals``, ``bytes accessed``.

        Differs from JAX:
            Where the backend's compiler makes no estimate, it is that of the program, each operation run by itself.
        """
        return self._compiled.executable.cost_analysis() or program_costs(self._program)

    def memory_analysis(self) -> MemoryStats:
        """Sizes of arguments, results and temporaries in bytes.

        Differs from JAX:
            Where the backend's compiler does not tell, temporaries are those of the program, each operation run by itself.
        """
        found = self._compiled.executable.memory_analysis()
        return MemoryStats({**program_memory(self._program), **(found or {})})

    @property
    def _program(self) -> ClosedJaxpr:
        return self._lowered._program.plan.program


@runtime_checkable
class Wrapped(Protocol[_P, _R]):
    """What ``jit`` returns: a function that can be traced and lowered ahead of time.

    Example:
        >>> import plugjax
        >>> isinstance(plugjax.jit(abs), plugjax.stages.Wrapped)
        True
    """

    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        """Run the function, compiled."""

    @overload
    def __get__(self, instance: None, owner: Any = None, /) -> Wrapped[_P, _R]: ...
    @overload
    def __get__(
        self: Wrapped[Concatenate[Any, _Q], _R], instance: object, owner: Any = None, /
    ) -> Wrapped[_Q, _R]: ...
    def __get__(self, instance: Any, owner: Any = None, /) -> Any:
        """The function as a method."""

    def trace(self, *args: Any, **kwargs: Any) -> Traced:
        """Trace for given arguments, without compiling."""

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """Trace and lower for given arguments."""
