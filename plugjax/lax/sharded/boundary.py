"""Where values enter and leave ``shard_map`` whose specs say that they are summands of the devices, or that their cotangents are.

Outside such values are whole (``typing_unreduced``). A sum enters as the summand of the first device along the axes, and the summands of the
devices are added up where they leave.
"""

from __future__ import annotations

from typing import Any

from plugjax.extend.core import aval_of
from plugjax.extend.meshes import (
    AbstractMesh,
    AxisType,
    Mesh,
    PartitionSpec,
    Reduced,
    Unreduced,
    explicit_part,
    get_abstract_mesh,
    reduced_axes,
    retyped,
    spec_of,
    unreduced_axes,
)
from plugjax.extend.transforms import converted
from plugjax.lax.collectives import psum_p
from plugjax.lax.summands import on_first, unreduced_psum_p, vary_unreduced_cast_p


def check_marks(
    argument: str, spec: PartitionSpec, mesh: Mesh | AbstractMesh, axes: frozenset[Any]
) -> None:
    """Raise unless a spec's unreduced and reduced axes may stand in a call of ``shard_map``.

    Raises:
        NotImplementedError: not all axes of the mesh are manual.
        ValueError: an axis is of another type than ``Explicit`` outside.
    """
    if not (spec.unreduced or spec.reduced):
        return
    if axes != set(mesh.axis_names):
        raise NotImplementedError(
            f"unreduced/reduced can only be passed to {argument} when shard_map is in full manual mode. Got mesh axis names "
            f"{mesh.axis_names}, manual_axes: {set(axes)}, specs: {spec}. Leave axis_names out."
        )
    kinds = dict(zip(mesh.axis_names, mesh.axis_types, strict=True))
    for word, names in (("unreduced", spec.unreduced), ("reduced", spec.reduced)):
        if any(kinds.get(name) is not AxisType.Explicit for name in names):
            raise ValueError(
                f"{word} in {argument} {spec} can only be used when the mesh passed to shard_map contains axis names all of type "
                f"`Explicit`. Got mesh {mesh}"
            )


def without_marks(spec: Any) -> Any:
    """The spec of the same cuts."""
    marked = isinstance(spec, PartitionSpec) and (spec.unreduced or spec.reduced)
    return spec.update(unreduced=frozenset(), reduced=frozenset()) if marked else spec


def whole_summands(x: Any, spec: Any) -> Any:
    """An argument with a type that says nothing of summands."""
    if without_marks(spec) is spec:
        return x
    aval = aval_of(x)
    plain = without_marks(spec_of(aval))
    return retyped(x, aval.update(spread=explicit_part(aval.spread.mesh, plain, aval.ndim)))


def entered(part: Any, spec: Any, typed: bool) -> Any:
    """The part of one device of a whole argument, as the spec says."""
    if without_marks(spec) is spec:
        return part
    if not typed:
        return on_first(part, tuple(sorted(spec.unreduced, key=str)))
    marks = (*map(Unreduced, spec.unreduced), *map(Reduced, spec.reduced))
    return converted(part, aval_of(part).vma.union(marks))


def left(y: Any, spec: PartitionSpec, summands: tuple[Any, ...], what: str) -> Any:
    """A result of one device as the part of a whole array.

    Args:
        y: the result.
        spec: how it is spread.
        summands: axes along which it varies, and is a summand by the spec.
        what: its place, for errors.

    Raises:
        ValueError: its type says another thing of summands than the spec.
    """
    if summands:
        y = vary_unreduced_cast_p.bind(y, axes=summands)
    aval = aval_of(y)
    for word, own, asked in (
        ("unreduced", unreduced_axes(aval.vma), spec.unreduced),
        ("reduced", reduced_axes(aval.vma), spec.reduced),
    ):
        if own != asked:
            raise ValueError(
                f"out_specs passed to shard_map should be equal to the {word} present on the out_aval. Got out_specs={spec} and "
                f"{what} of type {aval.str_short(True)}. The result requires replication which can't be statically inferred: take the sum "
                "by lax.psum, or name the axes in out_specs."
            )
    axes = tuple(sorted(spec.unreduced, key=str))
    return unreduced_psum_p.bind(y, axes=axes) if axes else y


def left_without_types(y: Any, spec: PartitionSpec) -> Any:
    """The same where types say nothing of devices."""
    axes = tuple(sorted(spec.unreduced, key=str))
    return psum_p.bind(y, axes=axes, axis_index_groups=None) if axes else y


def typed_as_asked(y: Any, spec: Any, mesh: Mesh | AbstractMesh) -> Any:
    """A whole result over a mesh, with a type that says of summands what the spec says."""
    if without_marks(spec) is spec:
        return y
    aval = aval_of(y)
    asked = spec_of(aval).update(unreduced=spec.unreduced, reduced=spec.reduced)
    around = get_abstract_mesh()
    found = explicit_part(mesh if around.empty else around, asked, aval.ndim)
    return retyped(y, aval.update(spread=found))
