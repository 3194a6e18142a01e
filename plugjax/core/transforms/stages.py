"""The stages of a jitted function ahead of time: traced, lowered, compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from plugjax.core import pytree
from plugjax.core.array import as_array, concrete, transfer
from plugjax.core.aval import ShapeDtypeStruct
from plugjax.core.backend import get_backend
from plugjax.core.device import Placement
from plugjax.core.jaxpr import ClosedJaxpr
from plugjax.core.transforms.compile import Compiled, lowered_text

if TYPE_CHECKING:
    from plugjax.core.transforms.jit import JitFunction


class Traced:
    """A traced function: its jaxpr and shapes, ready to be lowered."""

    def __init__(
        self,
        function: JitFunction,
        jaxpr: ClosedJaxpr,
        in_tree: Any,
        out_tree: Any,
        statics: Any,
        placements: list[Placement],
    ) -> None:
        self.jaxpr = jaxpr
        self.in_tree = in_tree
        self.out_tree = out_tree
        self.fun_name = function.__name__
        self._function = function
        self._statics = statics
        self._placements = placements

    @property
    def out_info(self) -> Any:
        """Results as a pytree of ShapeDtypeStruct."""
        structs = [
            ShapeDtypeStruct(a.shape, a.dtype, weak_type=a.weak_type) for a in self.jaxpr.out_avals
        ]
        return pytree.unflatten(self.out_tree, structs)

    def lower(self) -> Lowered:
        """Settle the device."""
        return Lowered(self, self._function._placement(self._placements))


class Lowered:
    """A traced function and the device that it will be compiled for."""

    def __init__(self, traced: Traced, placement: Placement) -> None:
        self._traced = traced
        self._placement = placement
        self.in_tree = traced.in_tree
        self.out_tree = traced.out_tree
        self.out_info = traced.out_info

    def _options(self) -> dict[str, Any]:
        function = self._traced._function
        donated = function._donated(self.in_tree, self._traced._statics)
        return {"name": function.__name__, "donated": donated, **function._options}

    def as_text(self, dialect: str | None = None) -> str:
        """The program in the form that the backend's compiler takes: StableHLO text, or generated Python for NumPy."""
        backend = self._placement.backend
        if dialect == "stablehlo" and backend.name == "numpy":
            backend = get_backend("xla")
        return lowered_text(self._traced.jaxpr, backend, self._options())

    def compile(self) -> CompiledFunction:
        """Compile; the result takes the same arguments, without the static ones."""
        compiled = Compiled(self._traced.jaxpr, self._placement, self._options())
        return CompiledFunction(self, compiled)


class CompiledFunction:
    """A function compiled ahead of time for one signature."""

    def __init__(self, lowered: Lowered, compiled: Compiled) -> None:
        self._lowered = lowered
        self._compiled = compiled
        self.in_tree = lowered.in_tree
        self.out_tree = lowered.out_tree
        self._donated = lowered._options()["donated"]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run.

        Raises:
            TypeError: structure or avals differ from those it was compiled for.
        """
        leaves, in_tree = pytree.flatten((args, kwargs))
        if in_tree != self.in_tree:
            raise TypeError(
                "Function compiled with input pytree does not match the input pytree it was called with: "
                + pytree.first_difference(self.in_tree, in_tree)
            )
        placement = self._compiled.placement
        arrays = [transfer(concrete(as_array(x)), placement) for x in leaves]
        expected = self._lowered._traced.jaxpr.in_avals
        for i, (x, aval) in enumerate(zip(arrays, expected, strict=True)):
            if (x.aval.shape, x.aval.dtype) != (aval.shape, aval.dtype):
                path = pytree.paths((args, kwargs))[i]
                raise TypeError(
                    f"Argument types differ from the types for which this computation was compiled: argument {path} was "
                    f"compiled with {aval.str_short()} and called with {x.aval.str_short()}"
                )
        outs = self._compiled.call(arrays)
        for i in self._donated:
            arrays[i].delete()
        return pytree.unflatten(self.out_tree, outs)

    def as_text(self) -> str:
        """The program as the backend's compiler left it."""
        return self._compiled.executable.as_text()

    def cost_analysis(self) -> Any:
        """The backend's estimate of the cost."""
        return self._compiled.executable.cost_analysis()

    def memory_analysis(self) -> Any:
        """Sizes of arguments, results and temporaries, if the backend tells."""
        return self._compiled.executable.memory_analysis()
