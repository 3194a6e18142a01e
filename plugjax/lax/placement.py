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
    Device,
    JaxprEqn,
    Primitive,
    ShapedArray,
    Sharding,
    Tracer,
    Zero,
    as_array,
    aval_of,
    device_put_p,
    transfer,
)
from plugjax.extend.meshes import (
    UNCONSTRAINED,
    AbstractMesh,
    Mesh,
    NamedSharding,
    PartitionSpec,
    ShardingLike,
    as_sharding,
    check_compatible_aval,
    mesh_rule,
    spread_rule,
)
from plugjax.extend.rules import (
    RuleSet,
    abstract_eval,
    batching_rule,
    expand_rule,
    jvp_rule,
    transpose_rule,
)
from plugjax.extend.transforms import Axis, Kept

rules = RuleSet(__name__)

sharding_constraint_p = Primitive("sharding_constraint", multiple_results=True, structured=True)


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
    sharding = as_sharding(who, out_sharding, "out_sharding")
    _check(sharding, aval_of(x))
    return _constrained(x, sharding)


def _check(sharding: Sharding, aval: ShapedArray) -> None:
    try:
        check_compatible_aval(sharding, aval.shape)
    except ValueError as error:
        raise type(error)(
            f"One of with_sharding_constraint arguments, {aval.str_short()}, is incompatible with its sharding annotation "
            f"{sharding}: {error}"
        ) from None


def _constrained(x: Any, sharding: Sharding) -> Any:
    if isinstance(x, Tracer):
        return sharding_constraint_p.bind(x, sharding=sharding)[0]
    spec = getattr(sharding, "spec", ())
    return x if UNCONSTRAINED in tuple(spec) else transfer(x, sharding.committed)


@rules.define(abstract_eval, device_put_p, sharding_constraint_p)
def _avals(*avals: ShapedArray, **_: Any) -> list[ShapedArray]:
    return list(avals)


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
    return x if isinstance(x, Tracer) else transfer(as_array(x), place.committed)


@rules.define(expand_rule, sharding_constraint_p)
def _sharding_constraint(*, sharding: Sharding) -> Callable[[Any], list[Any]] | Kept:
    def place(x: Any) -> list[Any]:
        return [x if isinstance(x, Tracer) else _constrained(as_array(x), sharding)]

    return Kept(place, inline=False) if _is_partitioned(sharding) else place


def _is_partitioned(sharding: Sharding) -> bool:
    if not isinstance(sharding, NamedSharding):
        return False
    if isinstance(sharding.mesh, AbstractMesh):
        return bool(default_device().backend.partitions)
    return sharding.mesh.size > 1 and bool(sharding.devices[0].backend.partitions)


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
