"""What types say of values along the axes of a mesh for which a program is that of one device.

An aval's ``vma`` is a set of names of axes along which the values vary, and of marks: ``Unreduced(name)`` says that the value is the sum of
what the devices along an axis have, ``Reduced(name)`` that the devices have the same value, whose cotangent is such a sum.
"""

from __future__ import annotations

import weakref
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Mark:
    """Something that a type says of an axis other than that values vary along it."""

    name: Any


class Unreduced(Mark):
    """The values still have to be added up over the axis."""

    __slots__ = ()


class Reduced(Mark):
    """The cotangents have to be added up over the axis."""

    __slots__ = ()


def axis_of(said: Any) -> Any:
    """The axis of a name or mark."""
    return said.name if isinstance(said, Mark) else said


def varying_axes(vma: Iterable[Any]) -> frozenset[Any]:
    """The axes along which values vary."""
    return frozenset(name for name in vma if not isinstance(name, Mark))


def unreduced_axes(vma: Iterable[Any]) -> frozenset[Any]:
    """The axes over which the values still have to be added up."""
    return frozenset(mark.name for mark in vma if type(mark) is Unreduced)


def reduced_axes(vma: Iterable[Any]) -> frozenset[Any]:
    """The axes over which the cotangents have to be added up."""
    return frozenset(mark.name for mark in vma if type(mark) is Reduced)


def differing_axes(vma: Iterable[Any]) -> frozenset[Any]:
    """The axes along which devices may hold something else: values vary, or each has a summand."""
    return frozenset(axis_of(n) for n in vma if type(n) is not Reduced)


def without_names(vma: frozenset[Any], names: Collection[Any]) -> frozenset[Any]:
    """What a type says of the other axes."""
    return frozenset(n for n in vma if axis_of(n) not in names)


_interned: weakref.WeakValueDictionary[Any, ManualAxisType] = weakref.WeakValueDictionary()


class ManualAxisType:
    """Along which axes of a mesh values vary, are still to be summed, or have cotangents to be summed; equal ones are one object.

    Args:
        varying: names of the axes along which the values may differ.
        unreduced: those over which the values still have to be added up.
        reduced: those over which cotangents have to be added up.

    Raises:
        ValueError: a name is among the first and among others.

    Example:
        >>> from plugjax.sharding import ManualAxisType
        >>> ManualAxisType(varying={"x"}).update(reduced={"y"}).to_ct_mat().unreduced
        frozenset({'y'})
    """

    __slots__ = ("__weakref__", "reduced", "unreduced", "varying")

    varying: frozenset[Any]
    unreduced: frozenset[Any]
    reduced: frozenset[Any]

    def __new__(
        cls,
        *,
        varying: Collection[Any] = frozenset(),
        unreduced: Collection[Any] = frozenset(),
        reduced: Collection[Any] = frozenset(),
    ) -> ManualAxisType:
        """The object of these axes."""
        key = frozenset(varying), frozenset(unreduced), frozenset(reduced)
        for other, name in ((key[1], "unreduced"), (key[2], "reduced")):
            if key[0] & other:
                raise ValueError(
                    f"varying and {name} cannot have common mesh axes. Got varying={key[0]} and {name}={other}."
                )
        found: ManualAxisType | None = _interned.get(key)
        if found is None:
            found = object.__new__(cls)
            for name, axes in zip(("varying", "unreduced", "reduced"), key, strict=True):
                object.__setattr__(found, name, axes)
            found = _interned.setdefault(key, found)
        return found

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"ManualAxisType is read only: {name}")

    @property
    def vma(self) -> frozenset[Any]:
        """The same as a set of names and marks."""
        if not self.unreduced and not self.reduced:
            return self.varying
        return self.varying.union(map(Unreduced, self.unreduced), map(Reduced, self.reduced))

    def update(self, **changed: Collection[Any]) -> ManualAxisType:
        """The object with other axes under some names."""
        kept = {"varying": self.varying, "unreduced": self.unreduced, "reduced": self.reduced}
        return ManualAxisType(**{**kept, **changed})

    def to_ct_mat(self) -> ManualAxisType:
        """What is said of cotangents of such values."""
        return self.update(unreduced=self.reduced, reduced=self.unreduced)

    @property
    def empty(self) -> bool:
        """Whether nothing is said of any axis."""
        return not self.vur

    @property
    def vur(self) -> frozenset[Any]:
        """All axes of which something is said."""
        return self.varying | self.unreduced | self.reduced

    def invarying(self, mesh: Any) -> frozenset[Any]:
        """The manual axes of a mesh along which the values are equal."""
        return frozenset(mesh.manual_axes) - self.vur

    def __reduce__(self) -> tuple[Any, ...]:
        return _of_axes, (self.varying, self.unreduced, self.reduced)

    def __repr__(self) -> str:
        return f"ManualAxisType(varying={self.varying}, unreduced={self.unreduced}, reduced={self.reduced})"


def _of_axes(varying: Any, unreduced: Any, reduced: Any) -> ManualAxisType:
    return ManualAxisType(varying=varying, unreduced=unreduced, reduced=reduced)


def manual_axis_type(aval: Any) -> ManualAxisType:
    """What a type says of values along such axes."""
    vma: frozenset[Any] = getattr(aval, "vma", frozenset())
    return ManualAxisType(
        varying=varying_axes(vma), unreduced=unreduced_axes(vma), reduced=reduced_axes(vma)
    )
