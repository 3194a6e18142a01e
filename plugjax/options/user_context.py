"""Contexts of the user's own that compiled functions depend on."""

from __future__ import annotations

import itertools
from contextlib import AbstractContextManager
from typing import Any

from plugjax.core.config import Option, config

_numbers = itertools.count()


class UserContext:
    """A value by thread: ``context(value)`` is a context manager, ``context.value`` the value in force.

    Functions of ``jit`` are traced again for each value, which must be hashable.
    """

    def __init__(self, default_value: Any) -> None:
        self._name = f"user_context_{next(_numbers)}"
        config.declare([Option(self._name, default_value, _refuse_text, in_key=True)])

    @property
    def value(self) -> Any:
        """The value in force in this thread."""
        return config.read(self._name)

    def __call__(self, value: Any) -> AbstractContextManager[None]:
        """Within the block, the context has ``value``."""
        # What cannot be hashed is refused here, not when a function is called.
        hash(value)
        return config.override(self._name, value)


def _refuse_text(text: str) -> Any:
    raise ValueError(f"a context of a program is not set from the environment, got {text!r}")


def make_user_context(default_value: Any = None) -> UserContext:
    """A new context, whose value is part of the key of every compiled function.

    Example:
        >>> import plugjax
        >>> scale = plugjax.make_user_context(1)
        >>> f = plugjax.jit(lambda x: x * scale.value)
        >>> with scale(3):
        ...     f(2)
        Array(6, dtype=int32, weak_type=True)
        >>> f(2)
        Array(2, dtype=int32, weak_type=True)
    """
    return UserContext(default_value)


__all__ = ["UserContext", "make_user_context"]
