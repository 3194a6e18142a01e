"""Which workarounds are in force: all, save those that ``PLUGJAX_IREE_WITHOUT`` or a compile option names."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from plugjax_iree.workarounds.row import Stage, Workaround
from plugjax_iree.workarounds.table import WORKAROUNDS

VARIABLE = "PLUGJAX_IREE_WITHOUT"

_NAMES = frozenset(row.name for row in WORKAROUNDS)
_off: ContextVar[frozenset[str]] = ContextVar("off", default=frozenset())


def checked(names: Sequence[str]) -> tuple[str, ...]:
    """Names of workarounds, as given.

    Raises:
        ValueError: one is not in the table.
    """
    names = (names,) if isinstance(names, str) else tuple(names)
    unknown = [name for name in names if name not in _NAMES]
    if unknown:
        raise ValueError(
            f"no workaround is named {', '.join(map(repr, unknown))}; there are: {', '.join(sorted(_NAMES))}."
        )
    return names


def from_environment() -> frozenset[str]:
    """What ``PLUGJAX_IREE_WITHOUT`` switches off.

    Raises:
        ValueError: it names no workaround.
    """
    value = os.environ.get(VARIABLE, "")
    if not value:
        return frozenset()
    names = [name.strip() for name in value.split(",")]
    try:
        return frozenset(checked([name for name in names if name]))
    except ValueError as error:
        raise ValueError(f"{VARIABLE}: {error}") from None


@contextmanager
def without(names: Sequence[str]) -> Iterator[None]:
    """Switch workarounds off in this thread, beside those that the environment names."""
    token = _off.set(_off.get() | from_environment() | frozenset(names))
    try:
        yield
    finally:
        _off.reset(token)


def switched_off() -> tuple[str, ...]:
    """The names of the workarounds that are off, sorted; part of the key of every compiled module."""
    return tuple(sorted(_off.get() | from_environment()))


def is_on(name: str) -> bool:
    """Whether a workaround is in force; lowering rules ask."""
    assert name in _NAMES, name
    return name not in _off.get() and name not in from_environment()


def active(*stages: Stage) -> list[Workaround]:
    """The rows of some stages that are in force, in the order of the table."""
    off = switched_off()
    return [row for row in WORKAROUNDS if row.stage in stages and row.name not in off]
