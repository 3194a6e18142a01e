"""Types that say how values are spread: along axes of a mesh of type ``Explicit``.

An aval's ``spread`` says which of these axes cut its axes. Abstract evaluation gives results without one; the rule of the kind
``sharding`` of the primitive adds it. A value that is whole on each device has none, so its type is that of a value without a
mesh.

Transformations keep types: a tangent is spread as its primal is, a cotangent as its value, and a batch as one instance is, with the
axis of the mesh that cuts the batch in addition. They do so for every rule: what a rule gives is spread again where its
type is another (:func:`retyped`), and where types do not go together within a rule it computes without them (:func:`kept_types`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, cast

from plugjax.core import registry
from plugjax.core.array import aval_of
from plugjax.core.aval import ShapedArray
from plugjax.core.primitive import Primitive
from plugjax.core.rules import RuleKind, abstract_eval
from plugjax.core.vocabulary import Zero, reshard_p
from plugjax.meshes.context import get_abstract_mesh
from plugjax.meshes.errors import DuplicateSpecError, ShardingTypeError
from plugjax.meshes.mesh import AbstractMesh, AxisType
from plugjax.meshes.named import NamedSharding, explicit_part, text_of
from plugjax.meshes.spec import PartitionSpec, names_of

sharding_rule: RuleKind[Callable[..., Any]] = RuleKind(
    "sharding",
    "(avals, avals of the results without spread, **params) -> a partition spec, or a list of them if there are several results",
)


unreduced_rule: RuleKind[Callable[..., tuple[frozenset[Any], frozenset[Any]]]] = RuleKind(
    "unreduced",
    "(avals, **params) -> (names of the axes over which the results are still to be summed, of those over which their cotangents are)",
)


def spec_of(aval: Any) -> PartitionSpec:
    """The partition spec of a type, with an entry for each axis."""
    found = getattr(aval, "spread", None)
    return PartitionSpec(*[None] * aval.ndim) if found is None else found.spec


def broadcast_spec(avals: Sequence[Any], results: Sequence[Any], **_: Any) -> PartitionSpec:
    """How a result is spread whose operands are stretched to its shape: the rule of elementwise operations.

    Raises:
        ShardingTypeError: two operands are cut differently along an axis.
    """
    shaped = [aval for aval in avals if aval.shape]
    found: list[Any] = []
    for axis in range(results[0].ndim):
        entries = {spec_of(aval)[axis] for aval in shaped} - {None}
        if len(entries) > 1:
            raise ShardingTypeError(
                f"got incompatible shardings for broadcasting: {_described(avals)} differ on axis {axis}. Reshard one of them."
            )
        found.append(entries.pop() if entries else None)
    return PartitionSpec(*found)


def sharding_of_type(aval: Any) -> NamedSharding:
    """The sharding of a type, over the abstract mesh in force if nothing cuts it."""
    found = aval.spread
    if found is None:
        return NamedSharding(get_abstract_mesh(), PartitionSpec(*[None] * aval.ndim))
    return cast(NamedSharding, found)


def with_spreads(
    primitive: Primitive, avals: Sequence[Any], params: dict[str, Any], result: Any
) -> Any:
    """The result of abstract evaluation, with how it is spread.

    Args:
        primitive: the primitive.
        avals: of its operands.
        params: its parameters.
        result: the aval of the result, or a list of them.

    Raises:
        ShardingTypeError: the types do not go together, or they leave open how the result is spread.
        ValueError: the operands are spread over different meshes, or the result cannot be cut evenly.
    """
    spreads = [s for a in avals if (s := getattr(a, "spread", None)) is not None]
    if not spreads:
        return result
    rule = registry.table(sharding_rule).get(primitive)
    if rule is None and primitive.structured:
        # The types of its programs say it.
        return result
    mesh = _common_mesh(primitive, spreads)
    if rule is None:
        raise ShardingTypeError(
            f"sharding rule for {primitive.name} is not implemented: types do not say how its result is spread. You can work "
            "around this error by letting the compiler decide: jax.sharding.auto_axes(fun, out_sharding=...)."
        )
    results = list(result) if primitive.multiple_results else [result]
    found = rule(avals, results, **params)
    specs = list(found) if primitive.multiple_results else [found]
    if any(s.spec.unreduced or s.spec.reduced for s in spreads):
        specs = _with_sums(primitive, avals, params, specs)
    typed = [
        _typed(primitive, avals, mesh, aval, spec) if isinstance(aval, ShapedArray) else aval
        for aval, spec in zip(results, specs, strict=True)
    ]
    return typed if primitive.multiple_results else typed[0]


def _with_sums(
    primitive: Primitive, avals: Sequence[Any], params: dict[str, Any], specs: list[PartitionSpec]
) -> list[PartitionSpec]:
    rule = registry.table(unreduced_rule).get(primitive)
    if rule is None:
        raise NotImplementedError(
            f"unreduced/reduced rule for {primitive.name} is not implemented. Take the sums by reshard first. Got {_described(avals)}."
        )
    unreduced, reduced = rule(avals, **params)
    return [spec.update(unreduced=unreduced, reduced=reduced) for spec in specs]


def _common_mesh(primitive: Primitive, spreads: Sequence[NamedSharding]) -> AbstractMesh:
    mesh = spreads[0].mesh.abstract_mesh
    for other in spreads[1:]:
        if other.mesh != mesh:
            raise ValueError(
                f"{primitive.name}: Mesh for all inputs should be equal. Got one mesh: {mesh} and another mesh: {other.mesh}"
            )
    here = get_abstract_mesh()
    if not here.empty and here != mesh:
        raise ValueError(
            f"For primitive {primitive.name}, context mesh {here} should match the aval mesh {mesh}. Enter the mesh of the values by "
            "set_mesh, or move them with reshard."
        )
    return mesh


def _typed(
    primitive: Primitive,
    avals: Sequence[Any],
    mesh: AbstractMesh,
    aval: ShapedArray,
    spec: PartitionSpec,
) -> ShapedArray:
    try:
        NamedSharding(mesh, spec)
    except DuplicateSpecError:
        shown = text_of(mesh, spec, aval)
        raise ShardingTypeError(
            f"{primitive.name} operation with inputs: {_described(avals)} produces an illegally sharded result: {aval.dtype.name}{shown}. "
            "An axis of the mesh cuts one axis of an array; reshard an operand first."
        ) from None
    found = explicit_part(mesh, spec, aval.ndim)
    if found is not None:
        check_even(found, aval)
    return aval.update(spread=found)


def check_even(spread: NamedSharding, aval: ShapedArray) -> None:
    """Raise ``ValueError`` unless each axis can be cut into equal blocks."""
    sizes = dict(spread.mesh.shape_tuple)
    for axis, (size, entry) in enumerate(zip(aval.shape, spread.spec, strict=True)):
        count = math.prod(sizes[name] for name in names_of(entry))
        if size % count:
            raise ValueError(
                f"Sharding spec {entry} implies that array axis {axis} is partitioned {count} times, but does not evenly divide "
                f"the dimension size {size}. Got shape: {aval.shape} and sharding {spread}"
            )


def _described(avals: Sequence[Any]) -> str:
    return ", ".join(a.str_short(True) for a in avals)


def without_axis(aval: ShapedArray, axis: int) -> ShapedArray:
    """The type of the parts of an array along an axis."""
    shape = (*aval.shape[:axis], *aval.shape[axis + 1 :])
    held = aval.spread
    if held is None:
        return ShapedArray(shape, aval.dtype, aval.weak_type, aval.vma)
    entries = [*held.spec]
    del entries[axis]
    spec = held.spec.update(partitions=tuple(entries))
    return aval.update(shape=shape, spread=explicit_part(held.mesh, spec, len(shape)))


def with_axis(
    aval: ShapedArray, axis: int, size: int, cut: NamedSharding | None = None
) -> ShapedArray:
    """The type of several arrays along a new axis, which is cut as the vector ``cut`` is."""
    shape = (*aval.shape[:axis], size, *aval.shape[axis:])
    held = aval.spread
    if held is None and cut is None:
        return ShapedArray(shape, aval.dtype, aval.weak_type, aval.vma)
    entries = [*spec_of(aval)]
    used = {name for entry in entries for name in names_of(entry)}
    entry = None if cut is None else cut.spec[0]
    entries.insert(axis, None if used & set(names_of(entry)) else entry)
    like = held if held is not None else cut
    assert like is not None
    spec = spec_of(aval).update(partitions=tuple(entries))
    return aval.update(shape=shape, spread=explicit_part(like.mesh, spec, len(shape)))


def cut_along(aval: Any, axis: int) -> NamedSharding | None:
    """How an array is cut along one axis, as the spread of a vector."""
    held = getattr(aval, "spread", None)
    if held is None:
        return None
    return explicit_part(held.mesh, PartitionSpec(held.spec[axis]), 1)


# Types through transformations --------------------------------------------------------------------


def spreads_among(values: Sequence[Any]) -> bool:
    """Whether types of some of the values say how they are spread."""
    return any(getattr(_type(x), "spread", None) is not None for x in values)


def _type(x: Any) -> Any:
    return x.aval if hasattr(x, "aval") else None


def retyped(x: Any, aval: Any) -> Any:
    """A value, or a symbolic zero, spread as the type ``aval`` says."""
    if type(x) is Zero:
        return x if x.aval.spread is aval.spread else Zero(x.aval.update(spread=aval.spread))
    held = aval_of(x)
    if not isinstance(held, ShapedArray) or held.spread is aval.spread:
        return x
    if aval.spread is not None:
        return reshard_p.bind(x, dst_sharding=aval.spread)[0]
    return reshard_p.bind(x, dst_sharding=NamedSharding(held.spread.mesh, PartitionSpec()))[0]


def cotangent_spread(held: NamedSharding) -> NamedSharding | None:
    """How cotangents of an array are spread: what is to be summed is repeated, and the reverse."""
    spec = held.spec
    if not (spec.unreduced or spec.reduced):
        return held
    swapped = spec.update(unreduced=spec.reduced, reduced=spec.unreduced)
    return explicit_part(held.mesh, swapped, len(spec))


def cotangent_typed(bar: Any, aval: Any) -> Any:
    """A cotangent of a value of type ``aval``, spread as such."""
    held = getattr(aval, "spread", None)
    if held is not None:
        aval = aval.update(spread=cotangent_spread(held))
    return retyped(bar, aval) if isinstance(aval, ShapedArray) else bar


def untyped(x: Any) -> Any:
    """A value, or a symbolic zero, whose type leaves to the compiler how it is spread."""
    held = getattr(_type(x), "spread", None)
    if held is None:
        return x
    if type(x) is Zero:
        return Zero(x.aval.update(spread=None))
    return reshard_p.bind(x, dst_sharding=NamedSharding(automatic(held.mesh), PartitionSpec()))[0]


def automatic(mesh: AbstractMesh) -> AbstractMesh:
    """The mesh with the compiler deciding along its explicit axes."""
    return mesh.update_axis_types(dict.fromkeys(mesh.explicit_axes, AxisType.Auto))


def result_types(primitive: Primitive, avals: Sequence[Any], params: dict[str, Any]) -> Any:
    """The types of an operation's results: an aval, or a list of them."""
    result = registry.table(abstract_eval)[primitive](*avals, **params)
    return with_spreads(primitive, avals, params, result)


def typed_derivative(
    rule: Callable[..., tuple[Any, Any]],
    primitive: Primitive,
    primals: Sequence[Any],
    tangents: Sequence[Any],
    params: dict[str, Any],
) -> tuple[Any, Any]:
    """What a rule for derivatives gives; results and their tangents are spread alike."""
    types = result_types(primitive, [aval_of(x) for x in primals], params)
    out, out_dot = kept_types(lambda xs, ts: rule(xs, ts, **params), primals, tangents)
    if not primitive.multiple_results:
        return retyped(out, types), retyped(out_dot, types)
    return (
        [retyped(y, aval) for y, aval in zip(out, types, strict=True)],
        [retyped(y, aval) for y, aval in zip(out_dot, types, strict=True)],
    )


def kept_types(rule: Callable[..., Any], *groups: Sequence[Any]) -> Any:
    """What a rule gives for sequences of operands; computed without their types where those do not go together within it."""
    try:
        return rule(*groups)
    except ShardingTypeError:
        return rule(*([untyped(x) for x in group] for group in groups))
