"""The type of a reference, and what a reference has: items, and a few methods."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from plugjax.extend.core import AbstractReference, Shape, ShapedArray
from plugjax.extend.dtypes import DType

# Functions of a reference, by name; ``operations`` fills them.
METHODS: dict[str, Callable[..., Any]] = {}
_PROPERTIES = ("shape", "dtype", "ndim", "size", "weak_type")


class AbstractRef(AbstractReference):
    """The type of a reference to a mutable array. Equal types are equal objects' types: it compares by its parts.

    Args:
        inner_aval: of the array.
        memory_space: where the array lies; ``None`` for the device's memory.
        kind: how writes behave under rematerialization, as in JAX; kept, and without effect.

    Example:
        >>> import plugjax
        >>> plugjax.new_ref(1.0).aval
        Ref{float32[]}
    """

    __slots__ = ("__weakref__", "inner_aval", "kind", "memory_space")

    def __init__(
        self, inner_aval: ShapedArray, memory_space: Any = None, kind: str | None = None
    ) -> None:
        self.inner_aval = inner_aval
        self.memory_space = memory_space
        self.kind = kind

    @property
    def shape(self) -> Shape:
        """Sizes of the array's axes."""
        return self.inner_aval.shape

    @property
    def dtype(self) -> DType:
        """Element type of the array."""
        return self.inner_aval.dtype

    @property
    def ndim(self) -> int:
        """Number of the array's axes."""
        return self.inner_aval.ndim

    @property
    def size(self) -> int:
        """Number of the array's elements."""
        return self.inner_aval.size

    @property
    def weak_type(self) -> bool:
        """Whether the array's dtype gives way in promotion."""
        return self.inner_aval.weak_type

    def update(self, **changes: Any) -> AbstractRef:
        """The type with ``inner_aval``, ``memory_space`` or ``kind`` replaced, or a part of the array's aval."""
        inner = changes.get("inner_aval", self.inner_aval)
        parts = {k: v for k, v in changes.items() if k in ("shape", "dtype", "weak_type")}
        return AbstractRef(
            inner.update(**parts) if parts else inner,
            changes.get("memory_space", self.memory_space),
            changes.get("kind", self.kind),
        )

    def strip_weak_type(self) -> AbstractRef:
        """The type of a reference to an array that is not weak."""
        return self.update(weak_type=False) if self.inner_aval.weak_type else self

    def to_tangent_aval(self) -> AbstractRef:
        """The type of a reference to tangents."""
        return AbstractRef(self.inner_aval.to_tangent_aval(), self.memory_space, self.kind)

    def attribute(self, reference: Any, name: str) -> Any:
        """What a reference has beside shape and dtype: ``get``, ``set``, ``swap``, ``addupdate`` and items."""
        if name == "at":
            return METHODS["at"](reference)
        function = METHODS.get(name)
        if function is None:
            raise AttributeError(
                f"'Ref' object has no attribute '{name}'. Read it by indexing: ref[...] is its array."
            )
        return functools.partial(function, reference)

    def of_zeros(self) -> Any:
        """A reference to zeros, made under the current trace."""
        return METHODS["of_zeros"](self)

    def str_short(self, short_dtypes: bool = False) -> str:
        """``Ref{float32[2,3]}``, or ``Ref{f32[2,3]}`` as jaxprs print it."""
        space = "" if self.memory_space is None else f"<{self.memory_space}>"
        return f"Ref{space}{{{self.inner_aval.str_short(short_dtypes)}}}"

    def __repr__(self) -> str:
        return self.str_short()

    def _key(self) -> tuple[Any, ...]:
        return self.inner_aval, self.memory_space, self.kind

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AbstractRef) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash((AbstractRef, self._key()))
