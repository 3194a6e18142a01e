"""Names of arguments for messages: the function's own parameters, with the paths of leaves within them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from plugjax.core import pytree


def function_place(fun: Callable[..., Any]) -> str:
    """``name at file:line``, or the name alone of a function without source."""
    plain = inspect.unwrap(getattr(fun, "func", fun))
    name = getattr(plain, "__name__", type(plain).__name__)
    code = getattr(plain, "__code__", None)
    return f"{name} at {code.co_filename}:{code.co_firstlineno}" if code is not None else name


def argument_names(fun: Callable[..., Any], in_tree: Any, statics: Sequence[Any] = ()) -> list[str]:
    """The name of each leaf of ``(args, kwargs)``.

    Args:
        fun: the function.
        in_tree: structure of ``(args, kwargs)``, without static arguments.
        statics: positions and names of those, or pairs of which they are the first.
    """
    args, kwargs = in_tree.children()
    places = [each[0] if isinstance(each, tuple) else each for each in statics]
    fixed = {place for place in places if isinstance(place, int)}
    positions = [n for n in range(args.num_children + len(fixed)) if n not in fixed]
    names = positional_names(fun, positions, args.children())
    for name, tree in zip(kwargs.entries(), kwargs.children(), strict=True):
        names += [f"{name}{path}" for path in pytree.paths_of(tree)]
    return names


def positional_names(
    fun: Callable[..., Any], positions: Sequence[int], trees: Sequence[Any]
) -> list[str]:
    """The name of each leaf of arguments at given positions, whose structures are given."""
    try:
        parameters = list(inspect.signature(fun).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    names = []
    for position, tree in zip(positions, trees, strict=True):
        known = position < len(parameters) and parameters[position].kind in (
            inspect.Parameter.POSITIONAL_ONLY,
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
        )
        stem = parameters[position].name if known else f"args[{position}]"
        names += [f"{stem}{path}" for path in pytree.paths_of(tree)]
    return names
