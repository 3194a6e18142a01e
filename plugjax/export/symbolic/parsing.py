"""Text of symbolic shapes: ``"b, 2*n, ..."``."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

_TOKEN = re.compile(r"\s*(?:(\d+)|([A-Za-z_]\w*)|(\.\.\.)|([-+*^(),]))")
_END = ""
# A text may come from a file. Greater powers of sums would take long.
LARGEST_POWER = 64


class ShapeParser:
    """Reads one text.

    Args:
        text: the shape.
        variable: makes a variable.
        operation: ``(name, left, right)`` makes an operation.
        operations: names that are operations.
        like: the shape that stands for ``...`` and ``_``.
    """

    def __init__(
        self,
        text: str,
        variable: Callable[[str], Any],
        operation: Callable[[str, Any, Any], Any],
        operations: Sequence[str],
        like: Sequence[Any] | None = None,
    ) -> None:
        self.text = text
        self.variable = variable
        self.operation = operation
        self.operations = operations
        self.like = like
        self.sizes: list[Any] = []
        self.tokens: list[tuple[str, int]] = []
        position = 0
        while text[position:].strip():
            found = _TOKEN.match(text, position)
            if found is None:
                raise self.error(f"{text[position:].strip()[0]!r} is no token", position)
            self.tokens.append(
                (
                    found.group().strip(),
                    found.start() + len(found.group()) - len(found.group().lstrip()),
                )
            )
            position = found.end()
        self.tokens.append((_END, len(text)))
        self.at = 0

    def error(self, what: str, position: int | None = None) -> ValueError:
        """A syntax error at the current token."""
        place = self.tokens[self.at][1] if position is None else position
        return ValueError(
            f"symbolic_shape: syntax error in symbolic shape {self.text!r} in dimension {len(self.sizes)}: {what}. Parsed "
            f"{self.text[:place]!r}, remaining {self.text[place:]!r}."
        )

    @property
    def token(self) -> str:
        """The current token; empty at the end."""
        return self.tokens[self.at][0]

    def take(self, expected: str) -> None:
        """Go on to the next token."""
        if self.token != expected:
            raise self.error(f"{expected or 'the end'!r} is needed")
        self.at += 1

    def shape(self) -> tuple[Any, ...]:
        """All sizes.

        Raises:
            ValueError: the text is no shape, or does not fit ``like``.
        """
        depth = 0
        while self.token == "(":
            self.take("(")
            depth += 1
        closing = ")" if depth else _END
        while self.token != closing:
            if self.token == "...":
                for size in self.known(len(self.sizes))[len(self.sizes) :]:
                    self.add(size)
                self.take("...")
                break
            if self.token == "_":
                size = self.known(len(self.sizes) + 1)[len(self.sizes)]
                self.at += 1
            else:
                size = self.sum()
            self.add(size)
            if self.token != closing:
                self.take(",")
        for _ in range(depth):
            self.take(")")
        if self.token != _END:
            raise self.error("the end is needed")
        return tuple(self.sizes)

    def known(self, count: int) -> Sequence[Any]:
        """The shape that placeholders stand for, with this many axes at least."""
        if self.like is None:
            raise self.error(
                f"{self.token!r} stands for what 'like' says, but no 'like' shape was given"
            )
        if len(self.like) < count:
            raise self.error(
                f"cannot resolve placeholder {self.token!r}, as the 'like' shape has only {len(self.like)} dimensions"
            )
        return self.like

    def add(self, size: Any) -> None:
        """Append a size to the shape."""
        if size is None:
            raise self.error(f"unexpected placeholder for unknown dimension; like={self.like}")
        if self.like is not None and isinstance(size, int):
            wanted = self.like[len(self.sizes)] if len(self.sizes) < len(self.like) else None
            if wanted != size:
                raise self.error(f"different size {size} for known dimension; like={self.like}")
        self.sizes.append(size)

    def sum(self) -> Any:
        """A sum or difference of products."""
        negative = self.token == "-"
        if self.token in ("-", "+"):
            self.at += 1
        total = -self.product() if negative else self.product()
        while self.token in ("-", "+"):
            negative = self.token == "-"
            self.at += 1
            part = self.product()
            total = total - part if negative else total + part
        return total

    def product(self) -> Any:
        """A product of powers."""
        found = self.power()
        while self.token == "*":
            self.at += 1
            found = found * self.power()
        return found

    def power(self) -> Any:
        """A factor, or its power."""
        base = self.factor()
        if self.token != "^":
            return base
        self.at += 1
        power = self.number()
        if power > LARGEST_POWER:
            raise self.error(f"powers up to {LARGEST_POWER} are supported")
        return base**power

    def number(self) -> int:
        """A number."""
        if not self.token.isdecimal():
            raise self.error("expecting integer")
        self.at += 1
        return int(self.tokens[self.at - 1][0])

    def factor(self) -> Any:
        """A number, a variable or an operation."""
        name = self.token
        if name == "-":
            self.at += 1
            return -self.number()
        if not name.isidentifier():
            return self.number()
        self.at += 1
        if name not in self.operations:
            return self.variable(name)
        self.take("(")
        left = self.sum()
        self.take(",")
        right = self.sum()
        self.take(")")
        return self.operation(name, left, right)
