"""Axes and static shapes: arguments of users, checked and made into tuples of integers."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, TypeAlias

from numpy.exceptions import AxisError

from plugjax.extend.core import ShapedArray
from plugjax.extend.errors import NegativeSizeError, ShapeError, SizeError

ShapeLike: TypeAlias = int | Sequence[int]


def is_symbolic(size: Any) -> bool:
    """Whether a size is an expression of variables, as in a program that is exported for sizes that are not known."""
    return getattr(type(size), "symbolic_size", False)


def has_symbols(sizes: Any) -> bool:
    """Whether sizes are, or one of them is, an expression of variables."""
    return is_symbolic(sizes) or (isinstance(sizes, (tuple, list)) and any(map(is_symbolic, sizes)))


def index(value: Any) -> int:
    """An integer, or a size that is an expression of variables.

    Raises:
        TypeError: it is neither.
    """
    return value if is_symbolic(value) else operator.index(value)


def larger(a: int, b: int) -> int:
    """The greater of two sizes, of which either may be an expression."""
    if is_symbolic(a) or is_symbolic(b):
        symbol, other = (a, b) if is_symbolic(a) else (b, a)
        found: int = symbol.larger(other)  # type: ignore[attr-defined]  # of an expression
        return found
    return max(a, b)


def smaller(a: int, b: int) -> int:
    """The smaller of two sizes, of which either may be an expression."""
    if is_symbolic(a) or is_symbolic(b):
        symbol, other = (a, b) if is_symbolic(a) else (b, a)
        found: int = symbol.smaller(other)  # type: ignore[attr-defined]  # of an expression
        return found
    return min(a, b)


def static_sizes(who: str, sizes: Any) -> tuple[int, ...]:
    """Sizes of axes as a tuple of integers.

    Raises:
        TypeError: a size is a tracer, is not an integer, or is negative.
    """
    try:
        found = tuple(operator.index(size) for size in ((sizes,) if type(sizes) is int else sizes))
    except TypeError as error:
        if has_symbols(sizes):
            # Whether an expression is negative may depend on its variables.
            found = tuple(map(index, (sizes,) if is_symbolic(sizes) else sizes))
            static_sizes(who, [size for size in found if not is_symbolic(size)])
            return found
        if hasattr(sizes, "aval") or any(hasattr(size, "aval") for size in sizes):
            raise
        raise SizeError(
            f"lax.{who}: shapes must be sequences of concrete integers, got {sizes!r}."
        ) from error
    if any(size < 0 for size in found):
        raise NegativeSizeError(f"lax.{who}: sizes of axes must not be negative, got {found}.")
    return found


def static_ints(who: str, what: str, values: Any) -> tuple[int, ...]:
    """Static integers, such as axes or strides, as a tuple.

    Raises:
        TypeError: one is a tracer or no integer.
    """
    try:
        return tuple(operator.index(value) for value in values)
    except TypeError as error:
        if has_symbols(values):
            return tuple(map(index, values))
        if not hasattr(values, "__iter__") or any(hasattr(value, "aval") for value in values):
            raise
        raise SizeError(f"lax.{who}: {what} must be integers, got {values!r}.") from error


def canonical_axis(axis: Any, rank: int) -> int:
    """An axis counted from the front; negative ones count from the end.

    Raises:
        AxisError: there is no such axis.
    """
    found = operator.index(axis)
    if not -rank <= found < rank:
        raise AxisError(f"axis {found} is out of bounds for rank {rank}.")
    return found % rank


def canonical_axes(axes: Sequence[Any], rank: int) -> tuple[int, ...]:
    """Axes counted from the front, in the given order."""
    return tuple(canonical_axis(axis, rank) for axis in axes)


def check_axes(who: str, what: str, axes: Sequence[int], aval: ShapedArray) -> None:
    """Raise unless ``axes`` are distinct axes of ``aval``, counted from the front."""
    if any(not 0 <= axis < aval.ndim for axis in axes):
        raise ShapeError(
            f"lax.{who}: {what} {tuple(axes)} out of range for {aval.str_short()}; "
            f"axes count from 0 to {aval.ndim - 1}."
        )
    if len(set(axes)) != len(axes):
        raise ShapeError(f"lax.{who}: {what} must be unique, got {tuple(axes)}.")


def past(axes: Sequence[int], bdim: int) -> tuple[int, ...]:
    """``axes`` after a batch axis is inserted at ``bdim``."""
    return tuple(axis + (axis >= bdim) for axis in axes)


def inserted(values: Sequence[Any], position: int, value: Any) -> tuple[Any, ...]:
    """``values`` with one more at ``position``."""
    return (*values[:position], value, *values[position:])
