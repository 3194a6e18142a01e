"""Functions of pytrees as functions of leaves, and of some of their arguments.

Transformations work on flat lists of arrays. The structure of a function's result is known once it has run, so the flat function
leaves it in a :class:`Structure`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from plugjax.core import pytree
from plugjax.core.array import as_array
from plugjax.core.aval import AbstractReference
from plugjax.core.primitive import Tracer


class Structure:
    """What is known of a result once the function has run.

    Attributes:
        tree: its structure, ``None`` before.
        aux: auxiliary output that came with it.
    """

    __slots__ = ("aux", "tree")

    def __init__(self) -> None:
        self.tree: Any = None
        self.aux: Any = None


def flat_call(
    fun: Callable[..., Any], in_tree: Any, out: Structure, who: str
) -> Callable[..., list[Any]]:
    """``fun`` of a tuple of arguments as a function of leaves; the structure of its result is put into ``out``."""

    def call(*leaves: Any) -> list[Any]:
        found, out.tree = pytree.flatten(fun(*pytree.unflatten(in_tree, leaves)))
        return [as_array(y, who) for y in without_references(found, out.tree, who)]

    return call


def without_references(outs: Sequence[Any], out_tree: Any, who: str) -> Sequence[Any]:
    """The results of a function, which may hold no references.

    Raises:
        ValueError: one is a reference.
    """
    for i, y in enumerate(outs):
        if isinstance(y, Tracer) and isinstance(y.aval, AbstractReference):
            path = pytree.paths_of(out_tree)[i] or "the top"
            raise ValueError(
                f"{who} returned a mutable array reference of type {y.aval} at {path}, but mutable array references cannot be "
                "returned. Return its array: ref[...]."
            )
    return outs


def function_name(fun: Callable[..., Any]) -> str:
    """A function's name, for messages."""
    return str(getattr(fun, "__name__", "function"))


def named_after(
    fun: Callable[..., Any],
    derived: Callable[..., Any],
    doc: str | None = None,
    name: str | None = None,
) -> Callable[..., Any]:
    """``derived``, with the name of the function that it was derived from, and its signature for ``inspect``."""
    derived.__name__ = name or function_name(fun)
    # Pickle finds a decorated function by these. Wrappers around objects that can be called may have others than strings.
    qualname = getattr(fun, "__qualname__", None)
    derived.__qualname__ = qualname if isinstance(qualname, str) else derived.__name__
    derived.__module__ = getattr(fun, "__module__", derived.__module__)
    derived.__doc__ = doc
    derived.__wrapped__ = fun  # type: ignore[attr-defined]  # as functools.wraps sets it
    return derived


def with_fixed(fixed: Mapping[int, Any], others: Sequence[Any], count: int) -> list[Any]:
    """``count`` arguments in their order: ``fixed`` by their positions, the others between them."""
    given = iter(others)
    return [fixed[i] if i in fixed else next(given) for i in range(count)]
