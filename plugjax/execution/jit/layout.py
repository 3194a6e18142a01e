"""The layout of a call's arguments: what of it is static, the tree of the rest, and the signature of its leaves.

A signature says of each leaf what the compiled program depends on. Arrays say it by aval and placement, NumPy arrays by dtype and
shape, numbers by their type.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from plugjax.core.array import Array
from plugjax.core.pytree import PyTreeDef
from plugjax.execution.jit.leaf_reader import Reader, argument_reader
from plugjax.execution.jit.parameters import Static, as_names, as_numbers, hashable, resolve_names
from plugjax.execution.number_types import NUMBERS
from plugjax.transforms.flat_calls import with_fixed

# Static arguments of a call with their positions or names.
Statics = tuple[tuple[int | str, Static], ...]

get_aval, get_placement = attrgetter("aval"), attrgetter("_placement")


class Layout:
    """How the arguments of a call are laid out; one object per layout of a function.

    Attributes:
        in_tree: structure of ``(args, kwargs)`` without the static arguments.
        positions: which of the arguments are static.
        names: which of those that are given by name are static.
        mixed: whether the latest call had leaves that are no Arrays.
    """

    def __init__(
        self, in_tree: PyTreeDef, positions: tuple[int, ...], names: tuple[str, ...]
    ) -> None:
        self.in_tree = in_tree
        self.positions = positions
        self.names = names
        self.mixed = False

    @functools.cached_property
    def read(self) -> Reader | None:
        """Reads leaves and static values of arguments that are laid out like this; ``None`` if only pytrees know how."""
        return argument_reader(self.in_tree, self.positions, self.names)


class StaticParameters:
    """Which parameters of a function are static.

    Args:
        fun: the function.
        numbers: their positions, as users give them.
        names: their names.
    """

    def __init__(self, fun: Callable[..., Any], numbers: Any, names: Any) -> None:
        self.numbers, self.names = resolve_names(
            fun, as_numbers(numbers, "static_argnums"), as_names(names, "static_argnames")
        )
        self.fun = fun
        self._any = bool(self.numbers or self.names)

    def split(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Statics, tuple[Any, ...], dict[str, Any]]:
        """Take the static arguments out; returns them, and the rest.

        Raises:
            ValueError: one has no hash.
        """
        if not self._any:
            return (), args, kwargs
        count = len(args)
        positions = sorted({n % count for n in self.numbers if -count <= n < count})
        names = sorted(name for name in kwargs if name in self.names)
        statics: Statics = (
            *((n, hashable(args[n], self.fun, n)) for n in positions),
            *((name, hashable(kwargs[name], self.fun, name)) for name in names),
        )
        dynamic = tuple(x for n, x in enumerate(args) if n not in positions)
        return statics, dynamic, {k: v for k, v in kwargs.items() if k not in self.names}


def join(
    statics: Statics, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """All arguments of a call, from what :meth:`StaticParameters.split` gives."""
    if not statics:
        return args, kwargs
    by_position = {n: static.value for n, static in statics if isinstance(n, int)}
    by_name = {name: static.value for name, static in statics if isinstance(name, str)}
    joined = with_fixed(by_position, args, len(by_position) + len(args))
    return tuple(joined), {**kwargs, **by_name}


def signature(leaves: Sequence[Any]) -> tuple[Any, ...]:
    """What a compiled program depends on, leaf by leaf.

    Raises:
        LookupError: of a leaf its type does not say how it becomes an Array.
    """
    parts: list[Any] = []
    for x in leaves:
        kind = type(x)
        if kind is Array:
            parts += (x.aval, x._placement)
        elif kind is np.ndarray:
            parts += (x.dtype, x.shape)
        elif kind in NUMBERS:
            parts.append(kind)
        else:
            raise LookupError
    return tuple(parts)


def array_signature(leaves: Sequence[Any]) -> tuple[Any, ...]:
    """The signature of leaves that are Arrays.

    Raises:
        AttributeError: one is no Array.
    """
    return (*map(get_aval, leaves), *map(get_placement, leaves))
