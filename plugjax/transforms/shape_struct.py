"""Shape and dtype without values, as an argument of what only asks for those."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from plugjax.core.aval import as_size
from plugjax.core.dtypes import DTypeLike, ExtendedDType
from plugjax.meshes.manual import ManualAxisType, manual_axis_type


class ShapeDtypeStruct:
    """Shape and dtype without values, for ``eval_shape`` and ``jit(f).lower``.

    Args:
        shape: sizes of the axes.
        dtype: dtype, canonicalised as array creation does.
        sharding: where the array would live.
        weak_type: whether the dtype is weak.
        manual_axis_type: a :class:`~plugjax.sharding.ManualAxisType`, inside ``shard_map``; for reading only.

    Raises:
        ValueError: there is no dtype.
        TypeError: ``manual_axis_type`` is of another type.

    Example:
        >>> import plugjax
        >>> plugjax.ShapeDtypeStruct((2, 3), "float32")
        ShapeDtypeStruct(shape=(2, 3), dtype=float32)
    """

    __slots__ = ("dtype", "manual_axis_type", "shape", "sharding", "weak_type")

    def __init__(
        self,
        shape: Sequence[int],
        dtype: DTypeLike,
        *,
        sharding: Any = None,
        weak_type: bool = False,
        manual_axis_type: ManualAxisType | None = None,
    ) -> None:
        if dtype is None:
            raise ValueError("ShapeDtypeStruct needs a dtype.")
        if manual_axis_type is not None and not isinstance(manual_axis_type, ManualAxisType):
            raise TypeError(
                f"manual_axis_type of ShapeDtypeStruct is a ManualAxisType, got {type(manual_axis_type)}."
            )
        self.manual_axis_type = manual_axis_type
        self.shape = tuple(d if type(d) is int else as_size(d) for d in shape)
        self.dtype = dtype if isinstance(dtype, ExtendedDType) else np.dtype(dtype)
        self.sharding = sharding
        self.weak_type = weak_type

    @classmethod
    def like(cls, x: Any, /) -> ShapeDtypeStruct:
        """The struct of an array, or of what else has a shape and a dtype; its sharding if the user chose it."""
        sharding = getattr(x, "sharding", None) if getattr(x, "committed", True) else None
        found = manual_axis_type(getattr(x, "aval", None))
        return cls(
            x.shape,
            x.dtype,
            sharding=sharding,
            weak_type=getattr(x, "weak_type", False),
            manual_axis_type=None if found.empty else found,
        )

    def update(self, **changed: Any) -> ShapeDtypeStruct:
        """The struct with another shape, dtype, sharding or weak type."""
        kept = {name: getattr(self, name) for name in self.__slots__}
        return ShapeDtypeStruct(**{**kept, **changed})

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ShapeDtypeStruct) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[Any, ...]:
        return self.shape, self.dtype, self.sharding, self.weak_type, self.manual_axis_type

    def __repr__(self) -> str:
        weak = ", weak_type=True" if self.weak_type else ""
        place = "" if self.sharding is None else f", sharding={self.sharding}"
        return f"ShapeDtypeStruct(shape={self.shape}, dtype={self.dtype.name}{place}{weak})"
