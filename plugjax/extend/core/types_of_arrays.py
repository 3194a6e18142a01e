"""JAX's names on types of arrays: those of the types that a program defines, so that one that consists of arrays asks each of them alike."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from plugjax.core.aval import ShapedArray
from plugjax.core.vocabulary import add_any_p
from plugjax.meshes.manual import ManualAxisType, differing_axes, manual_axis_type
from plugjax.meshes.spec import PartitionSpec
from plugjax.meshes.types import sharding_of_type, with_axis, without_axis
from plugjax.transforms.varying import converted, cotangent_aval


def _more_axes(aval: ShapedArray, size: int, dim: int | None) -> ShapedArray:
    return aval if dim is None else with_axis(aval, dim, size)


def _fewer_axes(aval: ShapedArray, size: int, dim: int | None) -> ShapedArray:
    return aval if dim is None else without_axis(aval, dim)


def _no_spec(
    aval: ShapedArray, mesh: Any, check_vma: bool, all_names: tuple[Any, ...]
) -> PartitionSpec:
    """How values are joined that differ between devices: along a new axis in front."""
    differs = differing_axes(aval.vma) if check_vma else set(all_names)
    names = tuple(name for name in mesh.axis_names if name in differs)
    return PartitionSpec(names) if names else PartitionSpec()


def _update_manual(aval: ShapedArray, mat: ManualAxisType) -> ShapedArray:
    return aval.update(manual_axis_type=mat)


def _method(function: Callable[..., Any]) -> Callable[[ShapedArray], Any]:
    return lambda aval: partial(function, aval)


ARRAY_TYPES: dict[str, Callable[[ShapedArray], Any]] = {
    "sharding": sharding_of_type,
    "mat": manual_axis_type,
    "manual_axis_type": manual_axis_type,
    "itemsize": lambda aval: aval.dtype.itemsize,
    "nbytes": lambda aval: aval.size * aval.dtype.itemsize,
    "is_high": lambda aval: False,
    "has_qdd": lambda aval: False,
    "at_least_vspace": _method(ShapedArray.to_tangent_aval),
    "to_ct_aval": _method(lambda aval: cotangent_aval(aval.to_tangent_aval())),
    "update_weak_type": _method(lambda aval, weak_type: aval.update(weak_type=weak_type)),
    "update_manual_axis_type": _method(_update_manual),
    "of_type": _method(lambda aval, x: converted(x, aval.vma)),
    "lo_ty": _method(lambda aval: [aval]),
    "lower_val": _method(lambda aval, value: [value]),
    "raise_val": _method(lambda aval, value: value),
    "inc_rank": _method(_more_axes),
    "dec_rank": _method(_fewer_axes),
    "leading_axis_spec": _method(lambda aval: 0),
    "nospec": _method(_no_spec),
    "vspace_add": _method(lambda aval, x, y: add_any_p.bind(x, y)),
}
