"""Tangents and cotangents as the user gets them: arrays, symbolic zeros among them, of the weak type of their primals."""

from __future__ import annotations

from typing import Any

from plugjax.core import dtypes
from plugjax.core.array import from_host
from plugjax.core.aval import ShapedArray
from plugjax.core.primitive import state
from plugjax.core.vocabulary import Zero, convert_element_type_p, instantiate
from plugjax.transforms.varying import summed


def as_tangent(value: Any) -> Any:
    """A tangent or cotangent as an array; a symbolic zero without axes is one too, not a number of NumPy's."""
    if type(value) is Zero:
        aval = value.aval
        if isinstance(aval, ShapedArray) and not aval.shape and aval.dtype != dtypes.float0:
            return from_host(aval.dtype.type(0), weak_type=aval.weak_type)
    return instantiate(value)


def as_cotangent(value: Any, primal: Any) -> Any:
    """The cotangent of something with the aval ``primal``: weakly typed if and only if that is, and of its type along axes of a mesh."""
    found = as_tangent(value)
    if state.axes:
        found = summed(found, primal)
    aval = getattr(found, "aval", None)
    if (
        isinstance(aval, ShapedArray)
        and aval.weak_type is not primal.weak_type
        and aval.dtype == primal.dtype
    ):
        return convert_element_type_p.bind(found, new_dtype=aval.dtype, weak_type=primal.weak_type)
    return found
