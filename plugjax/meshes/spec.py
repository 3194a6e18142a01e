"""Partition specs: along which axes of a mesh each axis of an array is cut."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

Entry = Any  # None, UNCONSTRAINED, a name, or a tuple of names


class _Unconstrained:
    """An axis of which a constraint says nothing."""

    _instance: _Unconstrained | None = None

    def __new__(cls) -> _Unconstrained:
        if cls._instance is None:
            cls._instance = super().__new__(cls)
        return cls._instance

    def __repr__(self) -> str:
        return "UNCONSTRAINED"

    def __reduce__(self) -> str:
        return "UNCONSTRAINED"


UNCONSTRAINED = _Unconstrained()


class PartitionSpec:
    """For each axis of an array the axis of a mesh that cuts it, a tuple of several, or ``None``.

    Axes beyond the last entry are whole. It is a sequence of its entries; ``P("x")`` and ``P("x", None)`` differ, and
    ``P(("x",))`` is ``P("x")``.

    Args:
        *partitions: the entries.
        unreduced: axes of the mesh over which the values still have to be added up.
        reduced: axes of the mesh over which cotangents have to be added up.

    Raises:
        TypeError: an axis is unreduced and reduced, or no set of names was given for them.

    Example:
        >>> from plugjax.sharding import PartitionSpec as P
        >>> P("x", None, ("y", "z"))
        P('x', None, ('y', 'z'))
    """

    __slots__ = ("__weakref__", "_partitions", "reduced", "unreduced")

    UNCONSTRAINED = UNCONSTRAINED

    _partitions: tuple[Entry, ...]
    unreduced: frozenset[Any]
    reduced: frozenset[Any]

    def __init__(
        self,
        *partitions: Entry,
        unreduced: Collection[Any] = frozenset(),
        reduced: Collection[Any] = frozenset(),
    ) -> None:
        for word, names in (("unreduced", unreduced), ("reduced", reduced)):
            if not isinstance(names, (set, frozenset)):
                raise TypeError(f"PartitionSpec: {word} must be a set of names, got {names!r}.")
        used = {name for entry in partitions for name in names_of(entry)}
        for word, names in (("unreduced", unreduced), ("reduced", reduced)):
            if None in names:
                raise ValueError(f"PartitionSpec: {word} cannot contain None, got {set(names)}.")
            if both := used & set(names):
                raise ValueError(
                    f"PartitionSpec: the axes {sorted(map(str, both))} are in partitions and in {word}; an axis has one use."
                )
        if set(unreduced) & set(reduced):
            raise ValueError(
                f"PartitionSpec: unreduced and reduced share axes, {set(unreduced)} and {set(reduced)}."
            )
        self._partitions = tuple(_canonical(entry) for entry in partitions)
        self.unreduced = frozenset(unreduced)
        self.reduced = frozenset(reduced)

    @property
    def partitions(self) -> tuple[Entry, ...]:
        """The entries."""
        return self._partitions

    def update(self, **changes: Any) -> PartitionSpec:
        """The spec with other ``partitions``, ``unreduced`` or ``reduced``."""
        return PartitionSpec(
            *changes.get("partitions", self._partitions),
            unreduced=changes.get("unreduced", self.unreduced),
            reduced=changes.get("reduced", self.reduced),
        )

    def to_lo(self) -> list[PartitionSpec]:
        """The specs of the arrays of a value: of one array."""
        return [self]

    def to_tangent_spec(self) -> PartitionSpec:
        """How tangents are spread."""
        return self

    def to_ct_spec(self) -> PartitionSpec:
        """How cotangents are spread: still to be summed where those of values are reduced, and the reverse."""
        return self.update(unreduced=self.reduced, reduced=self.unreduced)

    def index(self, value: Entry) -> int:
        """Position of an entry."""
        return self._partitions.index(_canonical(value))

    def count(self, value: Entry) -> int:
        """How often an entry occurs."""
        return self._partitions.count(_canonical(value))

    def __len__(self) -> int:
        return len(self._partitions)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._partitions)

    def __getitem__(self, index: Any) -> Any:
        return self._partitions[index]

    def __add__(self, other: Any) -> PartitionSpec:
        if isinstance(other, PartitionSpec):
            return PartitionSpec(
                *self._partitions,
                *other._partitions,
                unreduced=self.unreduced | other.unreduced,
                reduced=self.reduced | other.reduced,
            )
        if not isinstance(other, tuple):
            return NotImplemented
        return self.update(partitions=(*self._partitions, *other))

    def __radd__(self, other: Any) -> PartitionSpec:
        if not isinstance(other, tuple):
            return NotImplemented
        return self.update(partitions=(*other, *self._partitions))

    def _key(self) -> tuple[Any, ...]:
        return self._partitions, self.unreduced, self.reduced

    def __eq__(self, other: object) -> bool:
        if isinstance(other, PartitionSpec):
            return self._key() == other._key()
        if isinstance(other, tuple) and not (self.unreduced or self.reduced):
            return self._partitions == tuple(map(_canonical, other))
        return False

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        text = repr(self._partitions)[1:-1]
        for word in ("unreduced", "reduced"):
            if names := getattr(self, word):
                text = text.removesuffix(",")
                text += f"{', ' if text else ''}{word}={{{', '.join(sorted(map(repr, names)))}}}"
        return f"P({text})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _spec, self._key()


def _spec(partitions: Any, unreduced: Any, reduced: Any) -> PartitionSpec:
    return PartitionSpec(*partitions, unreduced=unreduced, reduced=reduced)


def _canonical(entry: Entry) -> Entry:
    if isinstance(entry, (tuple, list)):
        return entry[0] if len(entry) == 1 else (tuple(entry) or None)
    return entry


def names_of(entry: Entry) -> tuple[Any, ...]:
    """The axes of a mesh that cut one axis of an array, the one that varies slowest first."""
    if entry is None or entry is UNCONSTRAINED:
        return ()
    return tuple(entry) if isinstance(entry, (tuple, list)) else (entry,)
