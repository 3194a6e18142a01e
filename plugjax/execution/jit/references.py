"""References among the arguments of a jitted function: each may come once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plugjax.transforms.discharge import is_reference


def check_distinct(
    name: str, constants: Sequence[Any], args: Sequence[Any], names: Sequence[str]
) -> None:
    """Raise if one reference reaches a function in two ways.

    Args:
        name: of the function.
        constants: what it closes over.
        args: leaves of its arguments.
        names: of those leaves.

    Raises:
        ValueError: a reference was passed twice, or was closed over and passed.
    """
    closed = {id(x) for x in constants if is_reference(x)}
    seen: dict[int, int] = {}
    for i, x in enumerate(args):
        if not is_reference(x):
            continue
        if id(x) in closed:
            raise ValueError(
                f"jit({name}): a mutable array reference of type {x.aval} was both closed over and passed as the argument "
                f"`{names[i]}`. Use one of the two."
            )
        first = seen.setdefault(id(x), i)
        if first != i:
            raise ValueError(
                "only one reference to a mutable array may be passed as an argument to a function, but that of type "
                f"{x.aval} came to jit({name}) at both `{names[first]}` and `{names[i]}`."
            )
