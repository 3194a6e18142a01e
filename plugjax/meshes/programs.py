"""The mesh that a program runs over, and how its arguments and results are spread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from plugjax.core import registry
from plugjax.core.device import Device, Sharding, SingleDeviceSharding
from plugjax.core.jaxpr import ClosedJaxpr, memoise, programs_in
from plugjax.core.primitive import Primitive
from plugjax.core.rules import RuleKind
from plugjax.meshes.context import mesh_in_force, over_devices, with_devices
from plugjax.meshes.geometry import check_compatible_aval
from plugjax.meshes.kinds import HOST, kind_of, result_kinds
from plugjax.meshes.mesh import AbstractMesh, AxisType, Mesh
from plugjax.meshes.named import NamedSharding
from plugjax.meshes.partition import Partition
from plugjax.meshes.spec import PartitionSpec

AnyMesh = Mesh | AbstractMesh

mesh_rule: RuleKind[Callable[..., AnyMesh | None]] = RuleKind(
    "mesh", "(**params) -> the mesh whose devices an equation names, or None"
)


def mesh_of(jaxpr: ClosedJaxpr) -> AnyMesh | None:
    """The first mesh that an equation of a program names; memoised."""

    def find() -> AnyMesh | None:
        table = registry.table(mesh_rule)
        for eqn in jaxpr.eqns:
            rule = table.get(eqn.primitive)
            found: AnyMesh | None = None if rule is None else rule(**eqn.params)
            if found is None and eqn.primitive.structured:
                inner = (mesh_of(program) for program in programs_in(eqn.params))
                found = next((mesh for mesh in inner if mesh is not None), None)
            if found is not None:
                return found
        return None

    result: AnyMesh | None = memoise(jaxpr, "mesh", find)
    return result


def names_mesh(primitive: Primitive, params: dict[str, Any]) -> bool:
    """Whether an operation names a mesh, itself or in a program that it holds."""
    rule = registry.table(mesh_rule).get(primitive)
    if rule is not None:
        return rule(**params) is not None
    return any(mesh_of(program) is not None for program in programs_in(params))


@dataclass(frozen=True)
class Place:
    """Where an argument is.

    Attributes:
        sharding: how it is spread; ``None`` if that is open.
        committed: whether the user chose it.
    """

    sharding: Sharding | None = None
    committed: bool = False


def is_spread(sharding: Sharding | None) -> bool:
    """Whether a sharding is by the axes of a mesh."""
    return sharding is not None and type(sharding) is not SingleDeviceSharding


def partition_of(
    who: str,
    jaxpr: ClosedJaxpr,
    given: Sequence[Place],
    arguments: Sequence[Sharding | None],
    results: Sequence[Sharding | None],
) -> Partition | None:
    """How a program is spread, or ``None`` if it is for one device without a mesh.

    Args:
        who: the function, for messages.
        jaxpr: the program.
        given: where its arguments are.
        arguments: where the user wants them.
        results: where the user wants the results.

    Raises:
        ValueError: arguments are committed to other devices than those of the mesh, or lie otherwise than the user wants them.
    """
    named = mesh_of(jaxpr)
    named = named and with_devices(named)
    arguments, results = [[over_devices(s) for s in each] for each in (arguments, results)]
    given = [Place(over_devices(p.sharding), p.committed) for p in given]
    placed = [p.sharding for p in given if p.committed]
    spread = [s for s in (*arguments, *results, *placed) if s is not None and is_spread(s)]
    in_force = mesh_in_force()
    if not spread and named is None and in_force is None:
        return None
    committed = next((p.sharding for p in given if p.committed), None)
    if not spread and named is None and committed is not None and in_force is None:
        return None
    mesh = next((s.mesh for s in spread if isinstance(s, NamedSharding)), named or in_force)
    if mesh is None:
        mesh = _flat_mesh(spread[0])
    if isinstance(mesh, Mesh):
        wanted = [("the mesh of an equation", named)] if isinstance(named, Mesh) else []
        for words, other in wanted:
            _same_devices(who, words, other.flat_devices, mesh)
        for i, place in enumerate(given):
            if place.committed and place.sharding is not None:
                _same_devices(who, f"argument {i}", place.sharding.devices, mesh)
        for s in spread:
            _same_devices(who, "a sharding", s.devices, mesh)
    for sharding, place, aval in zip(arguments, given, jaxpr.in_avals, strict=True):
        if sharding is None:
            continue
        check_compatible_aval(sharding, aval.shape)
        held = place.sharding
        if held is None or not place.committed or type(held) is SingleDeviceSharding:
            continue
        if held.memory_kind != sharding.memory_kind:
            raise ValueError(
                f"{who}: Memory kinds passed to jit does not match memory kind on the respective arg. Got jit memory kind: "
                f"{sharding.memory_kind}, arg memory kind: {held.memory_kind} for {aval.str_short()}. Move it with device_put first."
            )
        if not held.is_equivalent_to(sharding, aval.ndim):
            raise ValueError(
                f"{who}: Sharding passed to jit does not match the sharding on the respective arg. Got jit sharding: "
                f"{sharding},\narg sharding: {held} for {aval.str_short()}. Move it with device_put first."
            )
    for sharding, aval in zip(results, jaxpr.out_avals, strict=True):
        if sharding is not None:
            _check_result(who, sharding, aval.shape)
    if isinstance(mesh, (Mesh, AbstractMesh)) and AxisType.Explicit in mesh.axis_types:
        pairs = zip(results, jaxpr.out_avals, strict=True)
        results = [wanted or _by_type(mesh, aval) for wanted, aval in pairs]
    return Partition(
        mesh,
        tuple(
            wanted or (place.sharding if place.committed else None)
            for wanted, place in zip(arguments, given, strict=True)
        ),
        tuple(results),
        _kinds(jaxpr, given),
    )


def _kinds(jaxpr: ClosedJaxpr, given: Sequence[Place]) -> tuple[str, ...]:
    found = result_kinds(jaxpr, [kind_of(place.sharding) for place in given])
    return tuple(found) if HOST in found else ()


def _by_type(mesh: AnyMesh, aval: Any) -> NamedSharding | None:
    """How a result is spread, as its type says; ``None`` where the compiler decides."""
    if aval.spread is not None:
        return aval.spread.over(mesh)  # type: ignore[no-any-return]  # a NamedSharding over an abstract mesh
    if not mesh.are_all_axes_explicit:
        return None
    return NamedSharding(mesh, PartitionSpec(*[None] * aval.ndim))


def _check_result(who: str, sharding: Sharding, shape: tuple[int, ...]) -> None:
    try:
        check_compatible_aval(sharding, shape)
    except ValueError as error:
        raise type(error)(
            f"{who}: a result of shape {shape} is incompatible with its sharding annotation {sharding}: {error}"
        ) from None


def _same_devices(who: str, words: str, devices: Sequence[Device], mesh: Mesh) -> None:
    if tuple(devices) != mesh.flat_devices:
        raise ValueError(incompatible(who, words, devices, mesh))


def incompatible(who: str, words: str, devices: Sequence[Device], mesh: Mesh) -> str:
    """What is said of a value on other devices than those of the mesh that a program runs over."""
    return (
        f"{who}: Received incompatible devices for jitted computation: {words} is on {_listed(devices)}, and the mesh has "
        f"{_listed(mesh.flat_devices)}. Move it with plugjax.device_put(x, sharding)."
    )


def _listed(devices: Sequence[Device]) -> str:
    shown = ", ".join(str(device) for device in devices[:4])
    return f"[{shown}{', ...' if len(devices) > 4 else ''}]"


def _flat_mesh(sharding: Sharding) -> Mesh:
    return Mesh(np.array(sharding.devices, object), ("devices",))
