"""Parameters of a function: which are static and which are donated.

The user gives numbers and names of parameters, which are checked against the signature.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypedDict

from plugjax.core import pytree
from plugjax.core.backend import DeviceLike
from plugjax.transforms.argument_names import function_place, positional_names

_LEAF = pytree.structure(0)


class JitOptions(TypedDict, total=False):
    """The options of :func:`plugjax.jit`."""

    in_shardings: Any
    out_shardings: Any
    static_argnums: int | Sequence[int] | None
    static_argnames: str | Iterable[str] | None
    donate_argnums: int | Sequence[int] | None
    donate_argnames: str | Iterable[str] | None
    keep_unused: bool
    device: DeviceLike | None
    backend: str | None
    inline: bool
    compiler_options: dict[str, Any] | None
    tiered: bool | None


def as_numbers(value: Any, what: str) -> tuple[int, ...]:
    """One number of a parameter or several, as a tuple.

    Raises:
        TypeError: something else.
    """
    if value is None:
        return ()
    try:
        return (operator.index(value),)
    except TypeError:
        several = tuple(value) if isinstance(value, Iterable) else (value,)
    try:
        return tuple(operator.index(v) for v in several)
    except TypeError:
        raise TypeError(
            f"jit: {what} must be an integer or a sequence of integers, got {value!r}"
        ) from None


def as_names(value: Any, what: str) -> tuple[str, ...]:
    """One name of a parameter or several, as a tuple.

    Raises:
        TypeError: something else.
    """
    if value is None:
        return ()
    several = (
        (value,) if isinstance(value, str) or not isinstance(value, Iterable) else tuple(value)
    )
    if not all(isinstance(v, str) for v in several):
        raise TypeError(f"jit: {what} must be a str or a sequence of them, got {value!r}")
    return several


class Static:
    """A static argument: hashed and compared by value and type, so that 1, 1.0 and True differ."""

    __slots__ = ("key", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        self.key = (type(value), value)

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Static) and self.key == other.key


def hashable(value: Any, fun: Callable[..., Any], where: int | str) -> Static:
    """A static argument as a part of keys.

    Raises:
        ValueError: it cannot be hashed.
    """
    try:
        hash(value)
    except TypeError:
        stem = where if isinstance(where, str) else positional_names(fun, [where], [_LEAF])[0]
        raise ValueError(
            f"jit of {function_place(fun)}: Non-hashable static arguments cannot name a compiled program: argument `{stem}` is "
            f"{value!r} of type {type(value)}. Use a tuple or another hashable type, or pass it as an array."
        ) from None
    return Static(value)


def resolve_names(
    fun: Callable[..., Any], nums: tuple[int, ...], names: tuple[str, ...]
) -> tuple[tuple[int, ...], frozenset[str]]:
    """Positions and names of the same parameters, whichever of them the user gave.

    Raises:
        ValueError: the function has no such parameter.
    """
    if not (nums or names):
        return (), frozenset()
    try:
        parameters = list(inspect.signature(fun).parameters.values())
    except (TypeError, ValueError):
        return nums, frozenset(names)
    positional = [
        p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    variadic = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    for n in nums:
        if not variadic and not -len(positional) <= n < len(positional):
            raise ValueError(
                f"Jitted function has static_argnums={nums}, donate_argnums or the like, but only accepts "
                f"{len(positional)} positional arguments."
            )
    known = {p.name for p in parameters}
    keywords = any(p.kind is p.VAR_KEYWORD for p in parameters)
    for name in names:
        if name not in known and not keywords:
            raise ValueError(
                f"Jitted function has invalid argnames {{{name!r}}} in static_argnames or donate_argnames. Function "
                f"does not take these args."
            )
    resolved = list(nums) + [positional.index(n) for n in names if n in positional]
    resolved_names = set(names) | {
        positional[n] for n in nums if -len(positional) <= n < len(positional)
    }
    return tuple(dict.fromkeys(resolved)), frozenset(resolved_names)


def check_disjoint(statics: Iterable[Any], donated: Iterable[Any], what: str, words: str) -> None:
    """Raise unless no parameter is both static and donated.

    Raises:
        ValueError: some are.
    """
    both = set(statics) & set(donated)
    if both:
        raise ValueError(
            f"static_{what} and donate_{what} cannot intersect. {words} {both} appear in both."
        )
