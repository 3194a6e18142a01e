"""Types that a program defines: values that consist of arrays, and have tangents of a type of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from plugjax.extend.core import unmapped_aval, value_types
from plugjax.extend.transforms import HighType, HiPspec, MappingSpec

__all__ = [
    "HiPspec",
    "HiType",
    "MappingSpec",
    "attribute_of",
    "aval_method",
    "aval_property",
    "register_hitype",
    "unmapped",
]


class HiType(HighType):
    """The type of values of a class of the program's own.

    A subclass has ``__hash__`` and ``__eq__``, ``lo_ty``, ``lower_val`` and ``raise_val`` for the arrays of a value, and
    ``to_tangent_aval`` for derivatives; ``vspace_zero`` and ``vspace_add`` if it is a type of tangents; ``dec_rank`` and ``inc_rank`` for
    ``vmap``, where a :class:`MappingSpec` of the program's says how values are spread; ``leading_axis_spec`` for loops that go
    along them; ``shard``, ``unshard`` and ``nospec`` for ``shard_map``, where a :class:`HiPspec` of the program's says how values are
    spread over devices.

    Differs from JAX:
        ``vmap`` of a loop takes no such values as operands; of a jitted function it does.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> from plugjax.experimental.hijax import HiType, ShapedArray, register_hitype
        >>> class Pair:
        ...     def __init__(self, x, y):
        ...         self.x, self.y = x, y
        >>> class PairTy(HiType):
        ...     __hash__ = lambda self: hash(PairTy)
        ...     __eq__ = lambda self, other: isinstance(other, PairTy)
        ...     lo_ty = lambda self: [ShapedArray((), jnp.float32)] * 2
        ...     lower_val = lambda self, pair: [pair.x, pair.y]
        ...     raise_val = lambda self, x, y: Pair(x, y)
        >>> register_hitype(Pair, lambda pair: PairTy())
        >>> swapped = plugjax.jit(lambda pair, x: pair)(Pair(jnp.float32(1), jnp.float32(2)), 3.0)
        >>> type(swapped).__name__, float(swapped.y)
        ('Pair', 2.0)
    """

    is_high = True
    has_qdd = False

    def __hash__(self) -> int:
        raise NotImplementedError(f"{type(self).__name__} must implement `__hash__`")

    def __eq__(self, other: object) -> bool:
        raise NotImplementedError(f"{type(self).__name__} must implement `__eq__`")

    def to_ct_aval(self) -> Any:
        """The type of cotangents: that of tangents."""
        return self.to_tangent_aval()

    def attribute(self, value: Any, name: str) -> Any:
        """An attribute of a traced value: a method or property of the type that :func:`aval_method` made."""
        return attribute_of(self, value, name)


class aval_method:  # noqa: N801  # JAX's name
    """A function of values of a type, as an attribute of the type: a method of traced values."""

    __slots__ = ("fun",)

    def __init__(self, fun: Callable[..., Any]) -> None:
        self.fun = fun


class aval_property:  # noqa: N801  # JAX's name
    """As :class:`aval_method`, for a property."""

    __slots__ = ("fget",)

    def __init__(self, fget: Callable[[Any], Any]) -> None:
        self.fget = fget


def attribute_of(aval: Any, value: Any, name: str) -> Any:
    """An attribute of a traced value, as its type gives it."""
    found = getattr(type(aval), name, None)
    if isinstance(found, aval_method):
        return lambda *args, **kwargs: found.fun(value, *args, **kwargs)
    if isinstance(found, aval_property):
        return found.fget(value)
    raise AttributeError(f"a value of type {aval} has no attribute '{name}'")


def register_hitype(val_cls: type, typeof_fn: Callable[[Any], Any]) -> None:
    """Let functions that are transformed take values of a class.

    Args:
        val_cls: the class.
        typeof_fn: gives the type of a value.

    Example:
        >>> import plugjax
        >>> from plugjax.experimental.hijax import HiType, register_hitype
        >>> class Unit: ...
        >>> class UnitTy(HiType):
        ...     __hash__ = lambda self: hash(UnitTy)
        ...     __eq__ = lambda self, other: isinstance(other, UnitTy)
        ...     __repr__ = lambda self: "Unit"
        >>> register_hitype(Unit, lambda _: UnitTy())
        >>> plugjax.typeof(Unit())
        Unit
    """
    value_types[val_cls] = typeof_fn


def unmapped(size: int, dim: Any, aval: Any) -> Any:
    """The type of all instances, given that of one and the place of the batch axis."""
    if dim is not None and isinstance(aval, HighType):
        return aval.inc_rank(size, dim)
    return unmapped_aval(size, dim, aval)
