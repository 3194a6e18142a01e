"""The stages of a jitted function ahead of time: traced, lowered, compiled."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, runtime_checkable

from plugjax.core import pytree
from plugjax.core.array import as_array, on_device
from plugjax.core.aval import ShapedArray
from plugjax.core.device import Placement
from plugjax.core.jaxpr import ClosedJaxpr
from plugjax.core.operators import HasAval
from plugjax.core.primitive import Tracer
from plugjax.execution.compile import Compiled, lowered_text
from plugjax.execution.costs import program_costs, program_memory
from plugjax.execution.dialects import backend_with_dialect
from plugjax.execution.jit.program import Program
from plugjax.execution.layouts import Format, row_by_row
from plugjax.transforms.shape_struct import ShapeDtypeStruct
from plugjax.transforms.tree_differences import first_difference

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


def _described(avals: Sequence[ShapedArray], sharding: Any = None) -> list[ShapeDtypeStruct]:
    return [
        ShapeDtypeStruct(a.shape, a.dtype, weak_type=a.weak_type, sharding=sharding) for a in avals
    ]


class Traced:
    """A traced function: its jaxpr and shapes, ready to be lowered.

    Attributes:
        jaxpr: the program.
        fun_name: name of the function.
        in_tree: structure of ``(args, kwargs)``, without static arguments.
        out_tree: structure of the result.
    """

    def __init__(self, program: Program, placement: Callable[[], Placement]) -> None:
        self.jaxpr = program.jaxpr
        self.in_tree = program.in_tree
        self.out_tree = program.out_tree
        self.fun_name = program.name
        self._program = program
        self._placement = placement

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
    def out_info(self) -> Any:
        """Results as a pytree of ShapeDtypeStruct."""
        return pytree.unflatten(self.out_tree, _described(self.jaxpr.out_avals))

    def lower(self) -> Lowered:
        """Settle the device."""
        return Lowered(self, self._program, self._placement())


class Lowered:
    """A traced function and the device that it will be compiled for.

    Attributes:
        in_tree, out_tree: as in :class:`Traced`.
    """

    def __init__(self, traced: Traced, program: Program, placement: Placement) -> None:
        program.plan.warn()
        self._traced = traced
        self._program = program
        self._placement = placement
        self._texts: dict[tuple[str | None, bool], str] = {}
        self.in_tree = traced.in_tree
        self.out_tree = traced.out_tree

    @property
    def args_info(self) -> Any:
        """An ``ArgInfo`` per argument, in their structure."""
        return self._traced.args_info

    @property
    def in_avals(self) -> Any:
        """Avals of the arguments, in their structure."""
        return self._traced.in_avals

    @property
    def out_info(self) -> Any:
        """Results as a pytree of ShapeDtypeStruct."""
        return self._traced.out_info

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
            backend = backend_with_dialect(dialect, self._placement.backend)
            options = {**self._program.options, "debug_info": debug_info}
            self._texts[key] = lowered_text(self._program.plan.program, backend, options, dialect)
        return self._texts[key]

    def compiler_ir(self, dialect: str | None = None) -> Any:
        """The text of the program: see :meth:`as_text`."""
        return self.as_text(dialect)

    def cost_analysis(self) -> Any:
        """The estimated cost: see :meth:`CompiledFunction.cost_analysis`."""
        return self.compile().cost_analysis()

    def compile(self, compiler_options: Mapping[str, Any] | None = None) -> CompiledFunction:
        """Compile; the result takes the same arguments, without the static ones.

        Args:
            compiler_options: the backend's own options, beside those of ``jit``.
        """
        if not compiler_options:
            return CompiledFunction(self, self._program.compiled_for(self._placement))
        options = {**self._program.options, **compiler_options}
        return CompiledFunction(
            self, Compiled(self._program.plan.program, self._placement, options)
        )


class CompiledFunction:
    """A function compiled ahead of time for one signature.

    Attributes:
        in_tree, out_tree: as in :class:`Traced`.
    """

    def __init__(self, lowered: Lowered, compiled: Compiled) -> None:
        self._lowered = lowered
        self._compiled = compiled
        self._run = lowered._program.call(compiled)
        self.in_tree = lowered.in_tree
        self.out_tree = lowered.out_tree

    @property
    def args_info(self) -> Any:
        """An ``ArgInfo`` per argument, in their structure."""
        return self._lowered.args_info

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run.

        Raises:
            TypeError: structure or avals differ from those it was compiled for, or an argument is a tracer.
        """
        leaves, in_tree = pytree.flatten((args, kwargs))
        if in_tree != self.in_tree:
            raise TypeError(
                "Compiled: the arguments do not have the structure that the program was compiled for: "
                + first_difference(self.in_tree, in_tree)
            )
        for x in leaves:
            if isinstance(x, Tracer):
                raise TypeError(
                    f"Compiled: a compiled program cannot be transformed, but an argument is a tracer, {x!r}. Transform the "
                    "function, then lower and compile it."
                )
        placement = self._compiled.placement
        arrays = [on_device(as_array(x), placement) for x in leaves]
        expected = self._lowered._program.jaxpr.in_avals
        for i, (x, aval) in enumerate(zip(arrays, expected, strict=True)):
            if (x.aval.shape, x.aval.dtype) != (aval.shape, aval.dtype):
                path = pytree.paths((args, kwargs))[i]
                raise TypeError(
                    f"Compiled: argument {path} was {aval.str_short()} when the program was compiled, and is "
                    f"{x.aval.str_short()} now. Lower and compile for it, or call the jitted function."
                )
        outs = self._run(arrays)
        for i in self._lowered._program.plan.donated:
            # A Python value, or an array that was elsewhere, gave a copy of its own away.
            if arrays[i] is not leaves[i] and hasattr(leaves[i], "delete"):
                leaves[i].delete()
        return pytree.unflatten(self.out_tree, outs)

    @property
    def in_avals(self) -> Any:
        """Avals of the arguments, in their structure."""
        return self._lowered.in_avals

    @property
    def out_info(self) -> Any:
        """Results as a pytree of ShapeDtypeStruct with their shardings."""
        found = _described(
            self._lowered._program.jaxpr.out_avals, self._compiled.placement.sharding
        )
        return pytree.unflatten(self.out_tree, found)

    @property
    def input_shardings(self) -> Any:
        """Where each argument is wanted, ``None`` for those that nothing reads: ``(args, kwargs)``."""
        kept, sharding = self._lowered._program.plan.kept, self._compiled.placement.sharding
        flat = [sharding if i in kept else None for i in range(self.in_tree.num_leaves)]
        return pytree.unflatten(self.in_tree, flat)

    @property
    def output_shardings(self) -> Any:
        """Where each result is."""
        flat = [self._compiled.placement.sharding] * self.out_tree.num_leaves
        return pytree.unflatten(self.out_tree, flat)

    @property
    def input_formats(self) -> Any:
        """How each argument lies in memory and where; an empty format for those that nothing reads: ``(args, kwargs)``."""
        kept, sharding = self._lowered._program.plan.kept, self._compiled.placement.sharding
        avals = self._lowered._program.jaxpr.in_avals
        flat = [
            Format(row_by_row(a.shape), sharding) if i in kept else Format()
            for i, a in enumerate(avals)
        ]
        return pytree.unflatten(self.in_tree, flat)

    @property
    def output_formats(self) -> Any:
        """How each result lies in memory and where."""
        sharding, avals = self._compiled.placement.sharding, self._lowered._program.jaxpr.out_avals
        flat = [Format(row_by_row(a.shape), sharding) for a in avals]
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
class Wrapped(Protocol[_R]):
    """What ``jit`` returns: a function that can be traced and lowered ahead of time.

    Example:
        >>> import plugjax
        >>> isinstance(plugjax.jit(abs), plugjax.stages.Wrapped)
        True
    """

    def __call__(self, *args: Any, **kwargs: Any) -> _R:
        """Run the function, compiled."""

    def trace(self, *args: Any, **kwargs: Any) -> Traced:
        """Trace for given arguments, without compiling."""

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """Trace and lower for given arguments."""
