"""A jitted function traced for one signature, and what it was compiled to."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from plugjax.core import pytree
from plugjax.core.array import Array, on_device, transfer
from plugjax.core.aval import ShapedArray
from plugjax.core.device import Placement
from plugjax.core.jaxpr import ClosedJaxpr
from plugjax.execution.compile import Compiled
from plugjax.execution.host_arguments import call_with_values
from plugjax.execution.instruments import instrumented
from plugjax.execution.jit.arguments import ArgumentPlan, plan_arguments
from plugjax.execution.jit.misses import TraceKey
from plugjax.execution.partitioned import Partitioned
from plugjax.execution.tiered import Tiered, tiered as begin_tiered
from plugjax.meshes.partition import Partition
from plugjax.transforms.discharge import discharge
from plugjax.transforms.staging import open_constants

_LEAF = pytree.structure(0)

# From the leaves of a call's arguments to what the function returns.
Run = Callable[[Sequence[Any]], Any]


class Program:
    """A function traced for one signature.

    Attributes:
        name: of the function.
        key: the signature.
        jaxpr: the program of all arguments.
        names: of the leaves of the arguments.
        in_tree: structure of ``(args, kwargs)``, without static arguments.
        out_tree: structure of the result.
        donated: which leaves of the arguments the user gives away.
        options: for the backend.
        tiered: whether the host computes it while it is compiled; ``None`` leaves it to the option.
        compiled: what it was compiled to without further options, by placement.
        meanwhile: what runs until it is, by placement.
        partitioned: likewise for the devices of a mesh.
    """

    def __init__(
        self,
        name: str,
        key: TraceKey,
        jaxpr: ClosedJaxpr,
        names: Sequence[str],
        out_tree: Any,
        donated: Sequence[int],
        keep_unused: bool,
        options: Mapping[str, Any],
        tiered: bool | None = None,
    ) -> None:
        self.name = name
        self.key = key
        self.jaxpr = jaxpr
        self.names = names
        self.in_tree = key[1]
        self.out_tree = out_tree
        self.donated = donated
        self.compiled: dict[Placement, Compiled] = {}
        self.meanwhile: dict[Placement, Tiered] = {}
        self._tiered = tiered
        self.partitioned: dict[Partition, Partitioned] = {}
        self._keep_unused = keep_unused
        self._options = options

    @functools.cached_property
    def plan(self) -> ArgumentPlan:
        """What of the arguments reaches the compiled program."""
        return plan_arguments(discharge(self.jaxpr), self.donated, self._keep_unused)

    @functools.cached_property
    def opened(self) -> tuple[ClosedJaxpr, list[Any]]:
        """The program with its constants as leading inputs, and their values."""
        return open_constants(self.jaxpr)

    @property
    def options(self) -> dict[str, Any]:
        """What the program is compiled with."""
        return {"name": self.name, "donated": self.plan.donated_inputs, **self._options}

    def compiled_for(self, placement: Placement) -> Compiled:
        """The program compiled for a placement, now or before."""
        found = self.compiled.get(placement)
        if found is None:
            found = Compiled(self.plan.program, placement, self.options)
            self.compiled[placement] = found
        return found

    def called_at(self, placement: Placement) -> Compiled | Tiered:
        """What runs calls at a placement: the compiled program, or the host until it is there."""
        if placement in self.compiled or self.donated:
            return self.compiled_for(placement)
        found = self.meanwhile.get(placement)
        if found is None:
            found = begin_tiered(
                self.name, self.plan.program, placement, self._tiered,
                lambda: self.compiled_for(placement),
            )  # fmt: skip
            if found is None:
                return self.compiled_for(placement)
            self.meanwhile[placement] = found
        return found

    @property
    def count(self) -> int:
        """For how many placements it was compiled, or is."""
        return len({*self.compiled, *self.meanwhile}) + len(self.partitioned)

    def partitioned_for(self, partition: Partition) -> Partitioned:
        """The program compiled for the devices of a mesh, now or before."""
        found = self.partitioned.get(partition)
        if found is None:
            found = Partitioned(self.plan.program, partition, self.options)
            self.partitioned[partition] = found
        return found

    def call(
        self, compiled: Compiled | Partitioned | Tiered
    ) -> Callable[[Sequence[Array]], list[Array]]:
        """A compiled form as a function of all arguments, which must be at its placement: it ends those that are donated."""
        return instrumented(self.plan.call(compiled.call), self._jaxpr)

    def _jaxpr(self) -> ClosedJaxpr:
        return self.jaxpr

    def run(self, placement: Placement, moves: bool) -> Run:
        """The function of leaves that are Arrays.

        Args:
            placement: where the program runs.
            moves: whether some of the arrays are on other devices.
        """
        compiled = self.called_at(placement)
        if moves:
            return self._moving(self.call(compiled), placement)
        return self._in_place(compiled)

    def _in_place(self, compiled: Compiled | Partitioned | Tiered) -> Run:
        """The function of leaves that are Arrays where they must be."""
        if self.out_tree == _LEAF:
            if compiled.ending is not None and self.plan.total == 1:
                return instrumented(compiled.ending, self._jaxpr)
            if compiled.single is not None:
                return instrumented(self.plan.call(compiled.single), self._jaxpr)
        call, unflatten = self.call(compiled), self.out_tree.unflatten
        return lambda leaves: unflatten(call(leaves))

    def _moving(self, call: Callable[[Sequence[Array]], list[Array]], placement: Placement) -> Run:
        donated, unflatten = self.plan.donated, self.out_tree.unflatten
        read = set(self.plan.kept)

        def run(leaves: Sequence[Array]) -> Any:
            results = call(
                [on_device(x, placement) if i in read else x for i, x in enumerate(leaves)]
            )
            for i in donated:
                leaves[i].delete()
            return unflatten(results)

        return run

    def run_partitioned(
        self, partition: Partition, arrays: Sequence[Array], as_arrays: Callable[..., Any] | None
    ) -> Run:
        """The function of leaves that lie as given arrays do, over the devices of a mesh.

        Args:
            partition: how it is spread, by the program's inputs.
            arrays: the leaves of a call.
            as_arrays: makes Arrays of all leaves, or raises; ``None`` if they are Arrays.
        """
        compiled = self.partitioned_for(partition)
        kept, donated = self.plan.kept, self.plan.donated
        moves = compiled.moves([arrays[i] for i in kept])
        places = [(i, place) for i, place in zip(kept, moves, strict=True) if place is not None]
        if not places and as_arrays is None:
            return self._in_place(compiled)
        call, unflatten = self.call(compiled), self.out_tree.unflatten

        def run(leaves: Sequence[Any]) -> Any:
            given = list(leaves if as_arrays is None else as_arrays(leaves))
            placed = list(given)
            for i, place in places:
                placed[i] = transfer(given[i], place)
            results = call(placed)
            for i in donated:
                given[i].delete()
            return unflatten(results)

        return run

    def run_with_values(
        self, placement: Placement, values: Mapping[int, ShapedArray], as_arrays: Callable[..., Any]
    ) -> Run:
        """The function of leaves that are Arrays at its placement, NumPy arrays, or numbers.

        Args:
            placement: where the program runs.
            values: avals of the leaves that are no Arrays, by position.
            as_arrays: makes Arrays of all leaves, or raises.
        """
        compiled = self.called_at(placement)
        plain = self.plan.call(compiled.call)
        call = instrumented(plain, self._jaxpr)
        fast = None
        if call is plain and not self.donated and not isinstance(compiled, Tiered):
            fast = call_with_values(compiled, self.plan.kept, values)
        if fast is None:
            run = self._moving(call, placement)
            return lambda leaves: run(as_arrays(leaves))
        call = fast
        finish = operator.itemgetter(0) if self.out_tree == _LEAF else self.out_tree.unflatten

        def run_fast(leaves: Sequence[Any]) -> Any:
            try:
                return finish(call(leaves))
            except OverflowError:
                as_arrays(leaves)  # Raises with the name of the argument.
                raise

        return run_fast
