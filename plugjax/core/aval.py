"""Abstract values: shape, dtype and weak type of an array, interned; and what stands for the type of a reference to one.

Two equal avals are one object, and so are their dtypes: hot paths compare and hash by identity. A size is an integer, or of a
class with a true attribute ``symbolic_size``: an expression of unknown sizes, hashed, compared and multiplied like an integer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeAlias

import numpy as np

from plugjax.core import above, dtypes
from plugjax.core.dtypes import DType, DTypeLike, ExtendedDType

Shape: TypeAlias = tuple[int, ...]


class AbstractValue:
    """The type of a value: of an array, or of what a plugin has values of."""

    __slots__ = ()


class AbstractReference(AbstractValue):
    """The type of a value that is no array: a reference to a mutable one. A plugin derives the types that there are.

    Attributes:
        inner_aval: of the array that it refers to.
        update: gives the type with some of the array's ``shape``, ``dtype``, ``weak_type`` replaced.
        of_zeros: makes a reference to zeros under the current trace.
    """

    __slots__ = ()

    inner_aval: ShapedArray
    update: Callable[..., Any]
    of_zeros: Callable[[], Any]

    def attribute(self, reference: Any, name: str) -> Any:
        """A method of a reference, items among them; AttributeError for what it does not have."""
        raise AttributeError(name)


def as_size(size: Any) -> int:
    """A size as an integer; one that is not known stays as it is."""
    return size if getattr(type(size), "symbolic_size", False) else int(size)


class ShapedArray(AbstractValue):
    """Shape, dtype and weak type of an array.

    Args:
        shape: sizes of the axes.
        dtype: a NumPy, ml_dtypes or extended dtype.
        weak_type: whether the dtype gives way in promotion, as a Python scalar's does.
        vma: inside ``shard_map``, names of the axes of the mesh along which the values may differ.
        spread: which axes of a mesh cut it, if types say it (a ``NamedSharding`` over an abstract mesh).
        sharding, manual_axis_type: of JAX's names, which give ``spread`` and ``vma``.

    Example:
        >>> from plugjax.extend.core import ShapedArray
        >>> ShapedArray((2, 3), "float32")
        ShapedArray(float32[2,3])
    """

    __slots__ = ("__weakref__", "_tangent", "dtype", "ndim", "shape", "size", "spread", "vma", "weak_type")  # fmt: skip

    spreading: ClassVar[bool] = False  # whether there has been a spread
    shape: Shape
    dtype: DType
    weak_type: bool
    vma: frozenset[Any]
    spread: Any
    sharding = property(lambda self: above.find(self, "sharding"))
    ndim: int
    size: int
    _tangent: ShapedArray | None

    def __new__(
        cls,
        shape: Sequence[int],
        dtype: DTypeLike,
        weak_type: bool = False,
        vma: frozenset[Any] = frozenset(),
        spread: Any = None,
        sharding: Any = None,
        manual_axis_type: Any = None,
    ) -> ShapedArray:
        """Return the interned aval."""
        if sharding is not None:
            spread = sharding.spread(len(shape))
        if manual_axis_type is not None:
            vma = manual_axis_type.vma
        if not isinstance(dtype, (np.dtype, ExtendedDType)):
            dtype = np.dtype(dtype)
        key: Any = (tuple(shape), dtype, weak_type)
        if vma or spread is not None:
            key = (*key, vma, spread)
        found = _interned.get(key)
        if found is None:
            # An equal dtype may be another object: a pickle of a NumPy array brings one along.
            dtype = dtypes.interned(dtype)
            key = (key[0], dtype, *key[2:])
            found = object.__new__(cls)
            found.shape = tuple(d if type(d) is int else as_size(d) for d in shape)
            found.dtype = dtype
            found.weak_type = bool(weak_type)
            found.vma = vma
            found.spread = spread
            ShapedArray.spreading |= spread is not None
            found.ndim, found.size = len(found.shape), math.prod(found.shape)
            found._tangent = None
            found = _interned.setdefault(key, found)
        return found

    def update(self, **changes: Any) -> ShapedArray:
        """The aval with some parts replaced. With another shape it has no spread, unless that is given."""
        get = changes.get
        spread = get("spread", None if "shape" in changes else self.spread)
        dtype, weak_type = get("dtype", self.dtype), get("weak_type", self.weak_type)
        shape, vma = get("shape", self.shape), get("vma", self.vma)
        named = get("sharding"), get("manual_axis_type")
        return ShapedArray(shape, dtype, weak_type, vma, spread, *named)

    def strip_weak_type(self) -> ShapedArray:
        """The same aval, not weak."""
        return self.update(weak_type=False) if self.weak_type else self

    def to_tangent_aval(self) -> ShapedArray:
        """The aval of tangents: the same for inexact dtypes, ``float0`` for others."""
        if self._tangent is None:
            dtype = dtypes.tangent_dtype(self.dtype)
            same = dtype == self.dtype
            self._tangent = self if same else self.update(dtype=dtype, weak_type=False)
        return self._tangent

    def str_short(self, short_dtypes: bool = False) -> str:
        """``float32[2,3]``, or ``f32[2,3]`` as jaxprs print it."""
        name = dtypes.short_name(self.dtype) if short_dtypes else self.dtype.name
        if self.vma or self.spread is not None:
            return f"{name}{self.sharding.text(self)}"
        return f"{name}[{','.join(str(d) for d in self.shape)}]"

    def __repr__(self) -> str:
        return f"ShapedArray({self.str_short()}{', weak_type=True' if self.weak_type else ''})"

    def __str__(self) -> str:
        return f"{'~' if self.weak_type else ''}{self.str_short()}"

    def __reduce__(self) -> tuple[Any, ...]:
        return ShapedArray, (self.shape, self.dtype, self.weak_type, self.vma, self.spread)


for _name in ("mat", "manual_axis_type", "itemsize", "nbytes", "is_high", "has_qdd", "at_least_vspace", "to_ct_aval", "update_weak_type", "update_manual_axis_type", "lo_ty", "lower_val", "raise_val", "inc_rank", "dec_rank", "leading_axis_spec", "nospec", "vspace_add"):  # fmt: skip
    setattr(ShapedArray, _name, property(lambda self, name=_name: above.find(self, name)))  # type: ignore[misc]
_interned: dict[tuple[Any, ...], ShapedArray] = {}


def aval_of_value(shape: Shape, dtype: DType) -> ShapedArray:
    """The strong aval of a NumPy array: a dict lookup when the shape was seen before."""
    return _interned.get((shape, dtype, False)) or ShapedArray(shape, dtype)


def physical_aval(aval: ShapedArray) -> ShapedArray:
    """The aval that a value is stored as."""
    dtype: Any = aval.dtype
    if isinstance(dtype, ExtendedDType):
        shape = (*aval.shape, *dtype.storage_shape)
        return ShapedArray(shape, dtype.storage_dtype, False, aval.vma)
    return aval
