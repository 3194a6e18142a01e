"""References that hold arrays: what :func:`plugjax.new_ref` gives outside of traced functions."""

from __future__ import annotations

from typing import Any

from plugjax.extend.core import AbstractReference, Array, Trace, Tracer
from plugjax.state.aval import AbstractRef


class _Outside(Trace):
    """What references that are not traced belong to. It is never over."""

    __slots__ = ()
    lasting = True


_OUTSIDE = _Outside("new_ref")


class _RefType(type):
    """Makes ``isinstance(tracer, Ref)`` true for references that are traced."""

    def __instancecheck__(cls, instance: object) -> bool:
        return type(instance) is cls or (
            isinstance(instance, Tracer) and isinstance(instance.aval, AbstractReference)
        )


def _refused(name: str) -> Any:
    def operator(self: Any, *others: Any) -> Any:
        return NotImplemented

    operator.__name__ = name
    return operator


class Ref(Tracer, metaclass=_RefType):
    """A reference to a mutable array. :func:`plugjax.new_ref` makes it.

    It has the array's shape and dtype, and is no array: ``ref[...]`` reads, ``ref[i] = y`` writes.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> ref = plugjax.new_ref(jnp.zeros(3))
        >>> ref[1] = 5.0
        >>> ref
        Ref([0., 5., 0.], dtype=float32)
    """

    __slots__ = ("_value", "_written")

    aval: AbstractRef  # type: ignore[assignment]  # of a reference

    def __init__(self, aval: AbstractRef, value: Array) -> None:
        self._trace = _OUTSIDE
        self.aval = aval
        self._value = value
        # What is written is not weakly typed, and is shown so; reading gives the type that the reference began with.
        self._written = False

    @property
    def sharding(self) -> Any:
        """Where the array lies."""
        return self._value.sharding

    @property
    def committed(self) -> bool:
        """True: what is written goes where the reference is."""
        return True

    _committed = committed

    def __len__(self) -> int:
        if not self.aval.shape:
            raise TypeError("len() of unsized object")
        return self.aval.shape[0]

    def __repr__(self) -> str:
        value = self._value
        if self._written and value.aval.weak_type:
            value = value._alias()
            value.aval = value.aval.strip_weak_type()
        return "Ref" + repr(value).removeprefix("Array")

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return format(repr(self), spec)

    def __eq__(self, other: object) -> bool:  # type: ignore[override]  # arrays compare their values
        return self is other

    def __ne__(self, other: object) -> bool:  # type: ignore[override]
        return self is not other

    def __hash__(self) -> int:  # type: ignore[override]
        return id(self)


# An array has operators, a reference has none: its array is to be read first.
_NAMES = "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift divmod"
for _name in _NAMES.split():
    for _operator in (f"__{_name}__", f"__r{_name}__"):
        setattr(Ref, _operator, _refused(_operator))
for _operator in ("__lt__", "__le__", "__gt__", "__ge__"):
    setattr(Ref, _operator, _refused(_operator))
