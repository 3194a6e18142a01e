"""Tokens by JAX's names: values that carry an order of operations, and no numbers."""

from __future__ import annotations

from typing import Any

from plugjax.core.aval import AbstractValue


class AbstractToken(AbstractValue):
    """The type of a token."""

    __slots__ = ()

    def str_short(self, short_dtypes: bool = False) -> str:
        """``Tok``."""
        return "Tok"

    def to_tangent_aval(self) -> AbstractToken:
        """The type of tangents: the same."""
        return self


class Token:
    """A token outside of programs: an array that is there when the operations before it have run."""

    __slots__ = ("_buf",)

    def __init__(self, buf: Any) -> None:
        self._buf = buf

    def block_until_ready(self) -> None:
        """Wait for the operations before it."""
        self._buf.block_until_ready()


abstract_token = AbstractToken()
