"""``jax.experimental.hijax``: mutable types, which libraries derive classes from when they are imported."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from plugjax.experimental.hijax import HiType


class MutableHiType(HiType):
    """The type of a value that changes. A program may derive classes, and none has instances.

    Raises:
        NotImplementedError: a value of such a type is asked for.
    """

    def __new__(cls, *args: Any, **options: Any) -> MutableHiType:
        """Refuse."""
        raise NotImplementedError(
            f"{cls.__name__}: plugjax has no mutable types of hijax. Use references (jax.new_ref), "
            "or in flax nnx variables that are not hijax variables."
        )


@dataclass(frozen=True)
class AvalQDD:
    """A mutable type with the state of a value."""

    aval: Any
    qdd: Any


class AvalMutableQDD:
    """A mutable type whose state changes while a program is traced."""
