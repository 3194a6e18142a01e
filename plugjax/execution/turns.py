"""Turns: of the threads that want one thing made, one makes it and the others wait.

A thread never waits for one that waits for it; both then make the thing. A forked process begins without turns, since the threads that had
them are not in it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Hashable, Iterator
from contextlib import contextmanager


class _State:
    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.changed = threading.Condition()
        self.owners: dict[Hashable, int] = {}
        self.wanted: dict[int, Hashable] = {}

    def waits_for(self, thread: int, other: int) -> bool:
        """Whether a thread is another, or waits for it, perhaps through further ones."""
        found: int | None = thread
        while found is not None and found != other:
            found = self.owners.get(self.wanted.get(found))
        return found == other


_state = _State()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_state.reset)


@contextmanager
def turn(key: Hashable) -> Iterator[None]:
    """A block that one thread at a time runs, for each key; a thread may enter it again.

    Example:
        >>> from plugjax.execution.turns import turn
        >>> made = {}
        >>> with turn("table"):
        ...     if "table" not in made:
        ...         made["table"] = 1
    """
    me = threading.get_ident()
    with _state.changed:
        while (owner := _state.owners.get(key)) is not None and not _state.waits_for(owner, me):
            _state.wanted[me] = key
            try:
                _state.changed.wait()
            finally:
                _state.wanted.pop(me, None)
        mine = owner is None
        if mine:
            _state.owners[key] = me
    try:
        yield
    finally:
        if mine:
            with _state.changed:
                _state.owners.pop(key, None)
                _state.changed.notify_all()
