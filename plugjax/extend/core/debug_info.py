"""What is known of a function that is traced, for messages."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from plugjax.core import pytree
from plugjax.transforms.argument_names import function_place


@dataclass(frozen=True, slots=True)
class DebugInfo:
    """What is known of a function that is traced.

    Attributes:
        traced_for: the transformation, ``"jit"`` for example.
        func_src_info: ``name at file:line``.
        arg_names: of the leaves of the arguments; ``None`` if they are not known.
        result_paths: of the leaves of the result; ``None`` if they are not known.
    """

    traced_for: str = ""
    func_src_info: str = ""
    arg_names: tuple[str, ...] | None = None
    result_paths: Any = None

    @property
    def func_name(self) -> str:
        """The function's name."""
        return self.func_src_info.split(" ")[0]

    @property
    def func_filename(self) -> str | None:
        """The file that it is written in."""
        _, at, place = self.func_src_info.partition(" at ")
        return place.rpartition(":")[0] if at else None

    @property
    def func_lineno(self) -> int | None:
        """The line that it begins in."""
        _, at, place = self.func_src_info.partition(" at ")
        return int(place.rpartition(":")[2]) if at else None

    def replace_func_name(self, name: str) -> DebugInfo:
        """The same of a function of another name."""
        rest = self.func_src_info.partition(" ")[2]
        return replace(self, func_src_info=f"{name} {rest}".rstrip())

    def safe_arg_names(self, expected_count: int) -> tuple[str, ...]:
        """The names of the arguments; empty ones if they are not known."""
        return self.arg_names or ("",) * expected_count


def debug_info(
    traced_for: str,
    fun: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    *,
    static_argnums: Sequence[int] = (),
    static_argnames: Sequence[str] = (),
    sourceinfo: str | None = None,
    signature: inspect.Signature | None = None,
) -> DebugInfo:
    """What is known of a function, given arguments like those that it will be called with.

    Args:
        traced_for: the transformation.
        fun: the function.
        args: its arguments by position, static ones among them.
        kwargs: its arguments by name.
        static_argnums: positions of those that are not traced.
        static_argnames: names of those that are not traced.
        sourceinfo: ``name at file:line``, if it is known.
        signature: of the function, if it is known.

    Example:
        >>> from plugjax.api_util import debug_info
        >>> debug_info("jit", lambda x, y: x, ({"a": 1.0}, 2.0), {}).arg_names
        ("x['a']", 'y')
    """
    place = function_place(fun) if sourceinfo is None else sourceinfo
    try:
        given = dict((signature or inspect.signature(fun)).bind(*args, **kwargs).arguments)
    except (TypeError, ValueError):
        return DebugInfo(traced_for, place)
    fixed = {list(given)[i] for i in static_argnums if -len(given) <= i < len(given)}
    names = tuple(
        f"{name}{path}"
        for name, value in given.items()
        if name not in fixed and name not in static_argnames
        for path in pytree.paths(value)
    )
    return DebugInfo(traced_for, place, names)
