"""Values in a function that ``shard_map`` maps outside of compiled functions.

The function is traced. If it prints a value, shows it by ``debug.print`` or ``debug.callback``, or asks whether one that all devices have is
true, what is written so far of the program that leads to it is run, and gives the values of all devices.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from plugjax.extend.core import (
    ClosedJaxpr,
    Jaxpr,
    JaxprEqn,
    Primitive,
    ShapedArray,
    Var,
    as_array,
    aval_of,
    config,
    eval_closed,
    state,
)
from plugjax.extend.dtypes import ExtendedDType
from plugjax.extend.meshes import Mesh, PartitionSpec, differing_axes, manual_axis_type
from plugjax.extend.transforms import StagingTrace, StagingTracer, open_constants, stage
from plugjax.lax.callback import FlatCallback
from plugjax.lax.collectives import pvary_p
from plugjax.lax.debug_callback import debug_callback_p, debug_print_p, print_callback
from plugjax.lax.shape import expand_dims
from plugjax.lax.sharded.primitive import Specs, in_order, shard_map_p


class Devices:
    """The devices that run a function, with the arguments.

    Args:
        mesh: all of whose axes are manual.
        arrays: the arguments.
        in_specs: how they are spread.
        check_vma: whether types say where values differ.
    """

    def __init__(self, mesh: Mesh, arrays: Sequence[Any], in_specs: Specs, check_vma: bool) -> None:
        self.mesh = mesh
        self.arrays = arrays
        self.in_specs = in_specs
        self.check_vma = check_vma
        self._trace, self._axes = state.trace, state.axes
        self._options = {name: config.read(name) for name in ("abstract_mesh", "check_vma")}

    @contextmanager
    def outside(self) -> Iterator[None]:
        """Within the block nothing is traced, as before the function was called."""
        inner = state.trace, state.axes
        state.trace, state.axes = self._trace, self._axes
        try:
            with (
                config.override("abstract_mesh", self._options["abstract_mesh"]),
                config.override("check_vma", self._options["check_vma"]),
            ):
                yield
        finally:
            state.trace, state.axes = inner

    def values(self, program: ClosedJaxpr) -> np.ndarray[Any, Any]:
        """The one result of a program of the arguments' parts, for each device along the first axis."""
        names = self.mesh.axis_names

        def own(*parts: Any) -> list[Any]:
            (y,) = eval_closed(program, *parts)
            missing = (
                in_order(self.mesh, set(names) - manual_axis_type(aval_of(y)).vur)
                if self.check_vma
                else ()
            )
            return [expand_dims(pvary_p.bind(y, axes=missing) if missing else y, (0,))]

        opened, constants = open_constants(stage(own, program.in_avals, "a value that is shown"))
        with self.outside():
            (found,) = shard_map_p.bind(
                *constants,
                *self.arrays,
                jaxpr=opened,
                mesh=self.mesh,
                in_specs=(*[PartitionSpec()] * len(constants), *self.in_specs),
                out_specs=(PartitionSpec(names),),
                newly_manual_axes=frozenset(names),
                check_vma=self.check_vma,
            )
        return np.asarray(found)


class LookingTrace(StagingTrace):
    """Writes equations, and computes the values of those that are looked at."""

    __slots__ = ("devices",)

    def __init__(self, devices: Devices, origin: str) -> None:
        super().__init__(origin)
        self.devices = devices

    def shown(self, tracer: StagingTracer) -> str | None:
        """The values of all devices; ``None`` if they cannot be known without running an effect twice."""
        found = self._values(tracer)
        if found is None:
            return None
        mesh = self.devices.mesh
        names = ", ".join(map(str, mesh.axis_names))
        places = np.ndindex(*mesh.axis_sizes)
        return "\n".join(
            f"On {device.platform}:{device.id} at mesh coordinates ({names},) = {place}:\n{value}\n"
            for device, place, value in zip(mesh.flat_devices, places, found, strict=True)
        )

    def truth(self, tracer: StagingTracer) -> bool | None:
        """Whether a value is true that all devices have, as its type says; ``None`` for others."""
        aval = tracer.aval
        if not self.devices.check_vma or aval.shape or aval.vma:
            return None
        found = self._values(tracer)
        return None if found is None else bool(found[0])

    def process(self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Write an equation; one that shows values shows them at once."""
        if primitive is debug_print_p:
            callback: FlatCallback | None = print_callback(**params)
        else:
            callback = params["callback"] if primitive is debug_callback_p else None
        if callback is None or not self._show(callback, args):
            return super().process(primitive, args, params)
        return []

    def _show(self, callback: FlatCallback, args: Sequence[Any]) -> bool:
        """Call a function with the values of each device, once where types say that several have the same."""
        mesh = self.devices.mesh
        found: list[np.ndarray[Any, Any]] = []
        varying: set[Any] = set()
        for x in args:
            if isinstance(aval_of(x).dtype, ExtendedDType):
                return False
            own = isinstance(x, StagingTracer) and x._trace is self
            values = self._values(x) if own else np.broadcast_to(x, (mesh.size, *np.shape(x)))
            if values is None:
                return False
            found.append(values)
            varying |= differing_axes(aval_of(x).vma)
        for number, place in enumerate(np.ndindex(*mesh.axis_sizes)):
            pairs = zip(mesh.axis_names, place, strict=True)
            if self.devices.check_vma and any(i and name not in varying for name, i in pairs):
                continue
            with self.devices.outside():
                callback.call([as_array(values[number]) for values in found])
        return True

    def _values(self, tracer: StagingTracer) -> np.ndarray[Any, Any] | None:
        if not self.alive or type(tracer.aval) is not ShapedArray:
            return None
        if isinstance(tracer.aval.dtype, ExtendedDType):
            return None
        wanted: set[Any] = {tracer._var}
        eqns: list[JaxprEqn] = []
        for eqn in reversed(self.eqns):
            if not wanted.isdisjoint(eqn.outvars):
                if eqn.effects:
                    return None
                eqns.append(eqn)
                wanted.update(v for v in eqn.invars if isinstance(v, Var))
        constants = list(self.constants.values())
        jaxpr = Jaxpr(
            [v for v, _ in constants], self.invars, [tracer._var], eqns[::-1], self.origin
        )
        return self.devices.values(ClosedJaxpr(jaxpr, [value for _, value in constants]))
