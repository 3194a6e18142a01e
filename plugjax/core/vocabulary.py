"""The primitives that transformations themselves are written in.

Transformations add cotangents, make zeros, multiply tangents by partial derivatives, move batch axes and sum over them,
and convert dtypes. These few primitives are declared here so that the core, and the families that rules are made with, can
bind them; their rules, like all rules, are a plugin's (``plugjax.lax``).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from plugjax.core import above, dtypes
from plugjax.core.array import aval_of
from plugjax.core.aval import AbstractReference, ShapedArray
from plugjax.core.operators import HasAval
from plugjax.core.primitive import Primitive, Tracer

add_any_p = Primitive("add_any")
broadcast_in_dim_p = Primitive("broadcast_in_dim")
convert_element_type_p = Primitive("convert_element_type")
transpose_p = Primitive("transpose")
reshape_p = Primitive("reshape")
reduce_sum_p = Primitive("reduce_sum")
mul_p = Primitive("mul")
select_n_p = Primitive("select_n")
stop_gradient_p = Primitive("stop_gradient")
optimization_barrier_p = Primitive("optimization_barrier", multiple_results=True)
reshard_p = Primitive("reshard", multiple_results=True, structured=True)
sharding_constraint_p = Primitive("sharding_constraint", multiple_results=True, structured=True)


class Zero(HasAval):
    """A symbolic zero tangent or cotangent of an aval: nothing is computed with it.

    Rules of custom derivatives that ask for symbolic zeros are given it under the name ``SymbolicZero``.
    """

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray) -> None:
        self.aval = aval

    @staticmethod
    def from_primal_value(value: Any) -> Zero:
        """The zero in the tangent space of an array."""
        return Zero(aval_of(value).to_tangent_aval())

    def __repr__(self) -> str:
        return f"Zero({self.aval.str_short()})"


def zeros(aval: ShapedArray) -> Any:
    """An array of zeros; of another type than an array's, the type's own zero."""
    if not isinstance(aval, ShapedArray):
        return aval.vspace_zero()
    if aval.dtype == dtypes.float0:
        return np.zeros(aval.shape, dtypes.float0)
    shape, found = aval.shape, aval.dtype.type(0)
    if shape:
        found = broadcast_in_dim_p.bind(found, shape=shape, broadcast_dimensions=())
    found = above.find(aval, "of_type")(found) if aval.vma else found
    return found if aval.spread is None else reshard_p.bind(found, dst_sharding=aval.spread)[0]


def instantiate(value: Any) -> Any:
    """``value``, with a symbolic zero made into an array of zeros; that of a reference stays."""
    if type(value) is not Zero or isinstance(value.aval, AbstractReference):
        return value
    return zeros(value.aval)


def add_any(x: Any, y: Any) -> Any:
    """Sum of two tangents or cotangents, either of which may be a symbolic zero."""
    if type(x) is Zero:
        return y
    if type(y) is Zero:
        return x
    if isinstance(x, Tracer) and not isinstance(x.aval, ShapedArray):
        return x.aval.vspace_add(x, y)
    return add_any_p.bind(x, y)
