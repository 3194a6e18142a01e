"""Placement of values on devices.

Both primitives are identities. Evaluated eagerly, they move values; in a compiled program over a mesh they say how values are
spread, and in one that runs on a single device they do nothing. Cotangents stay where they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from plugjax.extend import pytree
from plugjax.extend.backend import default_device
from plugjax.extend.core import (
    Array,
    Device,
    JaxprEqn,
    Primitive,
    ShapedArray,
    Sharding,
    Tracer,
    Zero,
    as_array,
    aval_of,
    device_put,
    device_put_p,
    reshard_p,
    sharding_constraint_p as sharding_constraint_p,
    transfer,
)
from plugjax.extend.memories import SPACE_KINDS, MemorySpace
from plugjax.extend.meshes import (
    UNCONSTRAINED,
    AbstractMesh,
    AxisType,
    Mesh,
    NamedSharding,
    PartitionSpec,
    ShardingLike,
    as_sharding,
    check_compatible_aval,
    kind_of,
    memory_rule,
    mesh_in_force,
    mesh_rule,
    names_of,
    over_devices,
    spec_of,
    spread_rule,
    untyped,
)
from plugjax.extend.rules import (
    RuleSet,
    abstract_eval,
    batching_rule,
    expand_rule,
    jvp_rule,
    transpose_rule,
    varying_rule,
)
from plugjax.extend.transforms import Axis, Kept

rules = RuleSet(__name__)


def with_sharding_constraint(x: Any, shardings: Any) -> Any:
    """``x`` with the given shardings.

    Args:
        x: pytree of arrays.
        shardings: a sharding, a partition spec of the mesh in force, or a pytree of them that is a prefix of ``x``.

    Raises:
        TypeError: a leaf is no sharding.
        RuntimeError: a leaf is a partition spec, and no mesh is in force.
        ValueError: a leaf is None, ``shardings`` is not a prefix of ``x``, or an array cannot be cut as its sharding says.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> from plugjax import lax
        >>> lax.with_sharding_constraint(jnp.arange(2), jnp.ones(2).sharding)
        Array([0, 1], dtype=int32)
    """
    who = "with_sharding_constraint"
    leaves, tree = pytree.flatten(x)
    for sharding in pytree.leaves(shardings):
        if not isinstance(sharding, (Sharding, PartitionSpec)):
            raise TypeError(f"{who}: expected a sharding, got {sharding!r}.")
    wanted = pytree.broadcast_prefix(shardings, x, is_leaf=lambda s: s is None)
    for sharding in wanted:
        if sharding is None:
            raise ValueError(f"{who}: a sharding is None. Give one for each array.")
    found = [as_sharding(who, sharding, "shardings") for sharding in wanted]
    values = [as_array(v, who) for v in leaves]
    for v, sharding in zip(values, found, strict=True):
        _check(sharding, aval_of(v))
        if is_explicit(sharding):
            _assert_spread(aval_of(v), sharding)
    return pytree.unflatten(tree, list(map(_constrained, values, found)))


def laid_out(who: str, x: Any, out_sharding: ShardingLike) -> Any:
    """A result as the argument ``out_sharding`` of a function says.

    Raises:
        RuntimeError: it is a partition spec, and no mesh is in force.
        TypeError: it is neither a NamedSharding nor a PartitionSpec.
        ValueError: the result cannot be cut so.
    """
    if not isinstance(out_sharding, (NamedSharding, PartitionSpec)):
        raise TypeError(
            f"{who}: out_sharding must be a NamedSharding or a PartitionSpec, got {out_sharding!r}."
        )
    if isinstance(out_sharding, NamedSharding) and out_sharding.mesh.empty:
        # What `typeof(x).sharding` says where no mesh is in force.
        return x
    sharding = as_sharding(who, out_sharding, "out_sharding")
    _check(sharding, aval_of(x))
    return resharded(x, sharding) if is_explicit(sharding) else _constrained(x, sharding)


def freely(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """What a function gives if types of its operands say nothing: how its results are spread, the caller says."""
    args, kwargs = pytree.tree_map(untyped, (args, kwargs))
    return function(*args, **kwargs)


def over_mesh_in_force(x: Any) -> Any:
    """A new array, whole on each device of the mesh in force if there is one."""
    mesh = mesh_in_force()
    if mesh is None or mesh.size == 1 or type(x) is not Array or x.committed:
        return x
    return transfer(x, NamedSharding(mesh, PartitionSpec()).committed)


def is_explicit(sharding: Sharding) -> bool:
    """Whether types say how arrays are spread by a sharding."""
    return isinstance(sharding, NamedSharding) and AxisType.Explicit in sharding.mesh.axis_types


def resharded(x: Any, sharding: Any) -> Any:
    """A value with another type, by a sharding with explicit axes."""
    if not isinstance(x, Tracer):
        return _reshard_array(as_array(x), sharding)
    abstract = NamedSharding(sharding.mesh.abstract_mesh, sharding.spec)
    return reshard_p.bind(x, dst_sharding=abstract)[0]


def _check(sharding: Sharding, aval: ShapedArray) -> None:
    try:
        check_compatible_aval(sharding, aval.shape)
    except ValueError as error:
        raise type(error)(
            f"One of with_sharding_constraint arguments, {aval.str_short()}, is incompatible with its sharding annotation "
            f"{sharding}: {error}"
        ) from None


def _assert_spread(aval: ShapedArray, sharding: Any) -> None:
    """Raise unless a value is spread as a constraint says: types say it, so there is nothing to ask for."""
    mesh = sharding.mesh
    if not mesh.are_all_axes_explicit:
        explicit = set(mesh.explicit_axes)
        if any(name in explicit for entry in sharding.spec for name in names_of(entry)):
            raise ValueError(
                "The spec of NamedSharding passed to with_sharding_constraint can only refer to Auto axes of the mesh. Got "
                f"spec={sharding.spec} and mesh={mesh.abstract_mesh}. You probably meant to use `reshard` API?"
            )
        return
    entries = [*sharding.spec, *[None] * (aval.ndim - len(sharding.spec))]
    held = spec_of(aval)
    if any(e is not UNCONSTRAINED and e != own for e, own in zip(entries, held, strict=True)):
        raise AssertionError(
            "`with_sharding_constraint` acts as an assert when all axes of mesh are of type `Explicit`. The array sharding: "
            f"{held} did not match the sharding provided: {PartitionSpec(*entries)}. Please use `jax.sharding.reshard` to shard your input to "
            "the sharding you want."
        )


def _constrained(x: Any, sharding: Sharding) -> Any:
    if isinstance(x, Tracer):
        return sharding_constraint_p.bind(x, sharding=sharding)[0]
    spec = getattr(sharding, "spec", ())
    return x if UNCONSTRAINED in tuple(spec) else transfer(x, over_devices(sharding).committed)


# Resharding ---------------------------------------------------------------------------------------


@rules.define(abstract_eval, reshard_p)
def _reshard_aval(aval: ShapedArray, *, dst_sharding: NamedSharding) -> list[ShapedArray]:
    check_compatible_aval(dst_sharding, aval.shape)
    return [dst_sharding.typed(aval)]


@rules.define(expand_rule, reshard_p)
def _reshard(*, dst_sharding: NamedSharding) -> Callable[[Any], list[Any]]:
    return lambda x: [_reshard_array(x, dst_sharding)]


def _reshard_array(x: Array, sharding: Any) -> Array:
    mesh, held = sharding.mesh, x._placement.sharding
    if isinstance(mesh, AbstractMesh):
        mesh = _devices_of(mesh, held)
    if mesh is None:
        return Array(sharding.typed(x.aval), x._placement, x._host, x._buffer)
    if not is_explicit(sharding) and not len(sharding.spec):
        # The compiler decides; until it does, the array lies where it lay.
        return Array(sharding.typed(x.aval), x._placement, x._host, x._buffer)
    target = NamedSharding(mesh, sharding.spec)
    if held.devices == target.devices and held.is_equivalent_to(target, x.aval.ndim):
        return Array(target.typed(x.aval), target.committed, x._host, x._buffer)
    return transfer(x, target.committed)


def _devices_of(mesh: AbstractMesh, held: Sharding) -> Mesh | None:
    """A mesh of devices for an abstract one: that of an array, or the one in force."""
    for known in (held.mesh if isinstance(held, NamedSharding) else None, mesh_in_force()):
        if isinstance(known, Mesh) and known.shape_tuple == mesh.shape_tuple:
            same = known.axis_types == mesh.axis_types
            return known if same else known.update(axis_types=mesh.axis_types)
    return None


@rules.define(jvp_rule, reshard_p)
def _reshard_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
    (x,), (t,) = primals, tangents
    (out,) = reshard_p.bind(x, **params)
    if type(t) is Zero:
        return [out], [Zero(aval_of(out).to_tangent_aval())]
    return [out], reshard_p.bind(t, **params)


@rules.define(transpose_rule, reshard_p)
def _reshard_transpose(bars: Sequence[Any], operand: Any, **_: Any) -> list[Any]:
    # A cotangent is spread as its value is, from whichever operation it comes from.
    return list(bars)


@rules.define(batching_rule, reshard_p)
def _reshard_batching(
    axis: Axis, args: Sequence[Any], dims: Sequence[int], *, dst_sharding: NamedSharding
) -> tuple[list[Any], list[int]]:
    (x,), (bdim,) = args, dims
    entries = [*dst_sharding.spec, *[None] * (aval_of(x).ndim - 1 - len(dst_sharding.spec))]
    cut = axis.cut.spec[0] if axis.cut is not None else axis.spmd or None
    entries.insert(bdim, cut)
    spec = dst_sharding.spec.update(partitions=tuple(entries))
    return reshard_p.bind(x, dst_sharding=NamedSharding(dst_sharding.mesh, spec)), [bdim]


# Placement ----------------------------------------------------------------------------------------


@rules.define(abstract_eval, sharding_constraint_p)
def _avals(*avals: ShapedArray, **_: Any) -> list[ShapedArray]:
    return list(avals)


@rules.define(abstract_eval, device_put_p)
def _avals_there(*avals: ShapedArray, devices: tuple[Any, ...], **_: Any) -> list[ShapedArray]:
    return [
        place.typed(aval) if isinstance(place, NamedSharding) else aval
        for aval, place in zip(avals, devices, strict=True)
    ]


@rules.define(varying_rule, device_put_p)
def _varying(*names: frozenset[Any], **_: Any) -> list[frozenset[Any]]:
    return list(names)


@rules.define(expand_rule, device_put_p)
def _device_put(
    *, devices: tuple[Device | Sharding | None, ...], **_: Any
) -> Callable[..., list[Any]]:
    return lambda *values: [
        x if device is None else _moved(x, device)
        for x, device in zip(values, devices, strict=True)
    ]


def _moved(x: Any, place: Device | Sharding) -> Any:
    """The array elsewhere; a value of a program stays where the program runs."""
    return x if isinstance(x, Tracer) else device_put(as_array(x), place)


@rules.define(expand_rule, sharding_constraint_p)
def _sharding_constraint(*, sharding: Sharding) -> Callable[[Any], list[Any]] | Kept:
    def place(x: Any) -> list[Any]:
        return [x if isinstance(x, Tracer) else _constrained(as_array(x), sharding)]

    return Kept(place, inline=False) if _is_partitioned(sharding) else place


def _is_partitioned(sharding: Sharding) -> bool:
    return isinstance(sharding, NamedSharding) and is_partitioned(sharding.mesh)


def is_partitioned(mesh: Mesh | AbstractMesh) -> bool:
    """Whether the compiler of a mesh's devices spreads programs over them; of the default device, for an abstract mesh."""
    if isinstance(mesh, AbstractMesh):
        return bool(default_device().backend.partitions)
    return mesh.size > 1 and bool(mesh.flat_devices[0].backend.partitions)


@rules.define(mesh_rule, sharding_constraint_p)
def _mesh(*, sharding: Sharding) -> Mesh | AbstractMesh | None:
    return sharding.mesh if isinstance(sharding, NamedSharding) else None


@rules.define(mesh_rule, device_put_p)
def _target_mesh(*, devices: tuple[Any, ...], **_: Any) -> Mesh | AbstractMesh | None:
    return next((d.mesh for d in devices if isinstance(d, NamedSharding)), None)


@rules.define(spread_rule, sharding_constraint_p)
def _spread(operands: Sequence[Any], eqn: JaxprEqn) -> list[Any]:
    sharding = eqn.params["sharding"]
    is_open = UNCONSTRAINED in tuple(getattr(sharding, "spec", ()))
    return [operands[0] if is_open else sharding]


@rules.define(memory_rule, device_put_p)
def _kinds_there(kinds: Sequence[str], eqn: JaxprEqn) -> list[str]:
    return [
        _kind_there(place, kind) for place, kind in zip(eqn.params["devices"], kinds, strict=True)
    ]


def _kind_there(place: Any, kind: str) -> str:
    if place is None:
        return kind
    if isinstance(place, MemorySpace):
        return SPACE_KINDS.get(place, kind)
    return kind_of(place) if isinstance(place, Sharding) else "device"


def _identity(primitive: Primitive) -> None:
    @rules.define(jvp_rule, primitive)
    def _jvp(
        primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[list[Any], list[Any]]:
        outs = primitive.bind(*primals, **params)
        if any(type(t) is Zero for t in tangents):
            return outs, list(tangents)
        return outs, primitive.bind(*tangents, **params)


_identity(device_put_p)
_identity(sharding_constraint_p)


def _with_axis(place: Any, axis: Axis, bdim: int | None, ndim: int) -> Any:
    """A place of one instance as that of all instances."""
    if bdim is None or not isinstance(place, NamedSharding):
        return place
    entries = [*place.spec, *[None] * (ndim - len(place.spec))]
    entries.insert(bdim, axis.spmd or UNCONSTRAINED)
    return NamedSharding(place.mesh, PartitionSpec(*entries))


@rules.define(batching_rule, device_put_p)
def _device_put_batching(
    axis: Axis,
    args: Sequence[Any],
    dims: Sequence[int | None],
    *,
    devices: tuple[Any, ...],
    **params: Any,
) -> tuple[list[Any], list[int | None]]:
    places = tuple(
        _with_axis(place, axis, d, aval_of(x).ndim - (d is not None))
        for x, d, place in zip(args, dims, devices, strict=True)
    )
    return device_put_p.bind(*args, devices=places, **params), list(dims)


@rules.define(batching_rule, sharding_constraint_p)
def _constraint_batching(
    axis: Axis, args: Sequence[Any], dims: Sequence[int | None], *, sharding: Sharding
) -> tuple[list[Any], list[int | None]]:
    place = _with_axis(sharding, axis, dims[0], aval_of(args[0]).ndim - (dims[0] is not None))
    return sharding_constraint_p.bind(*args, sharding=place), list(dims)


@rules.define(transpose_rule, device_put_p)
def _device_put_transpose(bars: Sequence[Any], *operands: Any, **_: Any) -> list[Any]:
    return list(bars)


@rules.define(transpose_rule, sharding_constraint_p)
def _constraint_transpose(bars: Sequence[Any], operand: Any, *, sharding: Sharding) -> list[Any]:
    (bar,) = bars
    return [bar if type(bar) is Zero else sharding_constraint_p.bind(bar, sharding=sharding)[0]]
