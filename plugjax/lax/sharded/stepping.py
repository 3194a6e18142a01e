"""``shard_map`` under ``disable_jit``: one device after the other, as plain Python on real arrays.

Each device's program has a thread of its own, and only one runs at a time. At a collective a thread hands over to the next; when
all have come there, each gets its result and goes on in turn. The first device's program runs in the calling thread, so
that a debugger steps through it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from plugjax.extend import registry
from plugjax.extend.core import (
    Array,
    Primitive,
    ShapedArray,
    Trace,
    Tracer,
    as_array,
    aval_of,
    config,
    device_put,
    from_host,
    state,
)
from plugjax.extend.execution import settings_of_this_thread
from plugjax.extend.meshes import AbstractMesh, Mesh, NamedSharding, PartitionSpec, block_indices
from plugjax.extend.rules import abstract_eval, axis_names_rule
from plugjax.extend.transforms import Axis, batch_flat, materialize, with_varying
from plugjax.lax.collectives import axis_index_p
from plugjax.lax.sharded.primitive import AnyMesh, Axes, in_order, inside, local_aval, whole_aval


def step_through(
    f: Callable[..., list[Any]],
    arrays: Sequence[Array],
    mesh: AnyMesh,
    axes: Axes,
    in_specs: Sequence[PartitionSpec],
    out_specs: Sequence[PartitionSpec],
    check_vma: bool,
) -> list[Array]:
    """Run a function of parts for one device of a mesh after the other, and join the results.

    Args:
        f: gives a list of arrays.
        arrays: whole arrays.
        mesh: the mesh.
        axes: the axes along which ``f`` is the program of one device.
        in_specs: how each array is cut.
        out_specs: how each result is joined; filled by ``f``.
        check_vma: whether types say along which axes values differ.

    Raises:
        RuntimeError: the devices do not come to the same collectives.
    """
    names = in_order(mesh, axes)
    sizes = dict(mesh.shape_tuple)
    grid = AbstractMesh(tuple(sizes[name] for name in names), names)
    parts = [
        block_indices(NamedSharding(grid, spec), x.aval.shape)
        for x, spec in zip(arrays, in_specs, strict=True)
    ]
    hosts = [np.asarray(x._fetch()) for x in arrays]
    places = _devices(mesh, names)
    ring = _Ring(grid.size, grid)

    def run(number: int) -> list[Any]:
        trace = StepTrace(ring, number, state.trace, None if places is None else places[number])
        values = []
        for x, host, spec, indices in zip(arrays, hosts, in_specs, parts, strict=True):
            aval = local_aval(x.aval, mesh, spec, axes, check_vma)
            part = np.ascontiguousarray(host[indices[number]]).reshape(
                (*aval.shape, *host.shape[x.aval.ndim :])
            )
            held = Array(aval.update(vma=frozenset()), x._placement.whole, part)
            if places is not None:
                held = device_put(held, places[number])
            values.append(StepTracer(trace, held, aval))
        previous, state.trace = state.trace, trace
        try:
            # New arrays are on one device, not on all devices of the mesh.
            with inside(mesh, axes, check_vma), config.override("mesh", None):
                return [trace.value(y) for y in f(*values)]
        finally:
            state.trace = previous

    results = ring.run(run)
    return [
        _joined([outs[i] for outs in results], mesh, grid, spec) for i, spec in enumerate(out_specs)
    ]


def _devices(mesh: AnyMesh, names: Sequence[Any]) -> list[Any] | None:
    if not isinstance(mesh, Mesh):
        return None
    # Along the other axes the first device stands for all.
    index = tuple(slice(None) if name in names else 0 for name in mesh.axis_names)
    return list(mesh.devices[index].flat) if names else None


def _joined(parts: list[Array], mesh: AnyMesh, grid: AbstractMesh, spec: PartitionSpec) -> Array:
    first = parts[0].aval
    aval = whole_aval(first, grid, spec, frozenset(grid.axis_names))
    host = np.asarray(parts[0]._fetch())
    found = np.empty((*aval.shape, *host.shape[first.ndim :]), host.dtype)
    sharding = NamedSharding(grid, spec)
    for part, index in reversed(list(zip(parts, block_indices(sharding, aval.shape), strict=True))):
        found[index] = part._fetch()
    joined = Array(aval, from_host(host)._placement, found)
    if not isinstance(mesh, Mesh):
        return joined
    placed: Array = device_put(joined, NamedSharding(mesh, spec))
    return placed


class StepTracer(Tracer):
    """A value of one device: a real array, with its type inside ``shard_map``."""

    __slots__ = ("val",)

    def __init__(self, trace: StepTrace, val: Array, aval: ShapedArray) -> None:
        self._trace = trace
        self.val = val
        self.aval = aval

    def _concrete(self) -> Array:
        return self.val

    def __float__(self) -> float:
        return float(self.val)

    def __complex__(self) -> complex:
        return complex(self.val)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self.val.__array__(dtype, copy)

    def tolist(self) -> Any:
        """The values as nested lists."""
        return self.val.tolist()

    def __repr__(self) -> str:
        return repr(self.val)


class StepTrace(Trace):
    """Computes the values of one device at once; hands over to the other devices at collectives."""

    __slots__ = ("device", "number", "parent", "ring")

    def __init__(self, ring: _Ring, number: int, parent: Trace, device: Any) -> None:
        super().__init__(f"shard_map on device {number}")
        self.ring = ring
        self.number = number
        self.parent = parent
        self.device = device

    def value(self, x: Any) -> Array:
        """The array of a tracer."""
        return x.val if type(x) is StepTracer else as_array(x)

    def here(self, x: Any) -> Any:
        """An operand or result on this device; what lies on all devices of a mesh is here too."""
        if type(x) is StepTracer:
            return x.val
        spread = type(x) is Array and x.sharding.num_devices > 1
        return device_put(x, self.device) if spread and self.device is not None else x

    def process(self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Compute, here or together with the other devices."""
        values = [self.here(x) for x in args]
        avals = [aval_of(x) for x in args]
        rule = registry.table(axis_names_rule).get(primitive)
        names = set() if rule is None else set(rule(**params))
        previous, state.trace = state.trace, self.parent
        try:
            if primitive is axis_index_p and names <= set(self.ring.grid.axis_names):
                result = self.ring.index(self.number, params["axis_name"])
            elif names & set(self.ring.grid.axis_names):
                result = self.ring.meet(self.number, primitive, values, params)
            else:
                result = self.parent.process(primitive, values, params)
            results = [self.here(y) for y in (result if primitive.multiple_results else [result])]
        finally:
            state.trace = previous
        found: Any = [aval_of(y) for y in results]
        if primitive.structured:
            found = registry.table(abstract_eval)[primitive](*avals, **params)
        elif not primitive.multiple_results:
            (found,) = found
        typed = with_varying(primitive, avals, params, found)
        if not primitive.multiple_results:
            return StepTracer(self, results[0], typed)
        return [StepTracer(self, y, aval) for y, aval in zip(results, typed, strict=True)]


class _Stopped(BaseException):
    """Ends the threads of the other devices when one has failed."""


class _Ring:
    """Devices that run in turn and meet at collectives."""

    def __init__(self, count: int, grid: AbstractMesh) -> None:
        self.count = count
        self.grid = grid
        self._turns = [threading.Semaphore(0) for _ in range(count)]
        self._waiting: list[Any] = [None] * count
        self._given: list[Any] = [None] * count
        self._done = [False] * count
        self._results: list[Any] = [None] * count
        self._error: BaseException | None = None

    def index(self, number: int, name: Any) -> Array:
        """The place of a device along an axis."""
        place = np.unravel_index(number, self.grid.axis_sizes)
        return as_array(np.int32(place[self.grid.axis_names.index(name)]))

    def run(self, f: Callable[[int], Any]) -> list[Any]:
        """The results of a function of a device's number, for all devices."""
        same = settings_of_this_thread()
        threads = [
            threading.Thread(target=self._follow, args=(f, k, same), daemon=True)
            for k in range(1, self.count)
        ]
        for thread in threads:
            thread.start()
        try:
            self._results[0] = f(0)
        except _Stopped:
            pass
        except BaseException as error:
            self._error = self._error or error
        self._done[0] = True
        self._pass_on(0)
        for thread in threads:
            thread.join()
        if self._error is not None:
            raise self._error
        return self._results

    def _follow(self, f: Callable[[int], Any], number: int, same: Callable[[], Any]) -> None:
        self._turns[number].acquire()
        try:
            if self._error is None:
                with same():
                    self._results[number] = f(number)
        except _Stopped:
            pass
        except BaseException as error:
            self._error = self._error or error
        self._done[number] = True
        self._pass_on(number)

    def _pass_on(self, number: int) -> None:
        """Let the next device run; after the last one, those that wait at a collective go on."""
        following = [k for k in range(number + 1, self.count) if not self._done[k]]
        if following:
            self._turns[following[0]].release()
            return
        waiting = [k for k in range(self.count) if not self._done[k]]
        if not waiting:
            return
        if self._error is None:
            try:
                self._exchange(waiting)
            except BaseException as error:
                self._error = error
        self._turns[waiting[0]].release()

    def meet(
        self, number: int, primitive: Primitive, values: Sequence[Any], params: dict[str, Any]
    ) -> Any:
        """The result of a collective for a device, when all devices have come there."""
        self._waiting[number] = (primitive, [as_array(x) for x in values], params)
        self._pass_on(number)
        self._turns[number].acquire()
        if self._error is not None:
            raise _Stopped
        return self._given[number]

    def _exchange(self, waiting: Sequence[int]) -> None:
        if len(waiting) < self.count:
            ended = next(k for k in range(self.count) if self._done[k])
            raise RuntimeError(
                f"shard_map: device {ended} has ended, and device {waiting[0]} waits for it in "
                f"'{self._waiting[waiting[0]][0].name}'. All devices must come to the same collectives."
            )
        primitive, _, params = self._waiting[0]
        for k, (other, _, others) in enumerate(self._waiting):
            if other is not primitive or others != params:
                raise RuntimeError(
                    f"shard_map: device 0 is at '{primitive.name}' with {params}, device {k} at '{other.name}' with {others}. "
                    "All devices must come to the same collectives."
                )
        columns = zip(*(values for _, values, _ in self._waiting), strict=True)
        stacked = [self._stack(list(column)) for column in columns]
        outs = _over_all(primitive, stacked, params, self.grid)
        for k in range(self.count):
            parts = [self._part(y, k) for y in outs]
            self._given[k] = parts if primitive.multiple_results else parts[0]

    def _stack(self, column: list[Array]) -> Array:
        host = np.stack([np.asarray(x._fetch()) for x in column])
        shape = (*self.grid.axis_sizes, *column[0].aval.shape)
        stored = (*self.grid.axis_sizes, *host.shape[1:])
        aval = column[0].aval.update(shape=shape)
        return Array(aval, from_host(host)._placement, host.reshape(stored))

    def _part(self, y: Array, number: int) -> Array:
        index = np.unravel_index(number, self.grid.axis_sizes)
        host = np.asarray(y._fetch())[index]
        aval = y.aval.update(shape=y.aval.shape[len(index) :])
        held = self._waiting[number][1]
        placement = held[0]._placement if held else y._placement
        return Array(aval, placement, np.ascontiguousarray(host).reshape(host.shape))


def _over_all(
    primitive: Primitive, stacked: Sequence[Array], params: dict[str, Any], grid: AbstractMesh
) -> list[Array]:
    """A collective for all devices at once: results with an axis in front for each axis of the mesh."""

    def bind(*args: Any) -> list[Any]:
        found = primitive.bind(*args, **params)
        return list(found) if primitive.multiple_results else [found]

    function: Callable[..., Any] = bind
    for name, size in reversed(grid.shape_tuple):
        function = _over_one(function, Axis(size, name, of_mesh=True), len(stacked))
    return list(function(*stacked))


def _over_one(f: Callable[..., Any], axis: Axis, count: int) -> Callable[..., list[Any]]:
    def batched(*args: Any) -> list[Any]:
        outs, dims = batch_flat(f, axis, args, [0] * count)
        return [materialize(y, d, axis) for y, d in zip(outs, dims, strict=True)]

    return batched
