"""``debug.print`` and ``debug.log``: the format is checked at tracing time and filled in at run time."""

from __future__ import annotations

import logging
import string
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from plugjax.extend.core import user_source
from plugjax.lax.callback import Opaque
from plugjax.lax.debug_callback import bind_debug_print, log_record, split_arguments


class _Checker(string.Formatter):
    """Formats nothing; raises if an argument is not mentioned by the format."""

    def format_field(self, value: Any, format_spec: str) -> str:
        return ""

    def check_unused_args(
        self, used_args: set[int | str], args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> None:
        unused = [x for i, x in enumerate(args) if i not in used_args]
        if unused:
            raise ValueError(
                f"debug.print: the format uses no argument {unused}. Add a place for it."
            )
        names = [name for name in kwargs if name not in used_args]
        if names:
            raise ValueError(
                f"debug.print: the format uses no argument named {names}. An f-string is formatted before the program runs: "
                "pass a plain string."
            )


_checker = _Checker()


def print(
    fmt: str | None = None,
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    skip_format_check: bool = False,
    _use_logging: bool = False,
    **kwargs: Any,
) -> Callable[..., None] | None:
    """Print values of a program while it runs.

    ``debug.print(f"x = {x}")`` would print a tracer; write ``debug.print("x = {x}", x=x)``. Under ``vmap`` a line is
    printed per instance, derivatives print once, with the primal values. Options can be given in a separate call:
    ``debug.print(ordered=True)("x = {}", x)``.

    Args:
        fmt: a format string as of ``str.format``.
        *args: values for ``{}`` or ``{0}``; pytrees, with any leaves.
        ordered: whether the line comes in program order with other ordered callbacks.
        partitioned: accepted as in JAX; arrays are on one device.
        skip_format_check: whether arguments that ``fmt`` does not mention are allowed; without any placeholder they are
            printed after it.
        **kwargs: values for ``{name}``.

    Raises:
        ValueError: an argument that ``fmt`` does not mention, or ``fmt`` is not a format string.
        IndexError: ``fmt`` mentions a position that is not there.
        KeyError: ``fmt`` mentions a name that is not there.
        TypeError: arguments without a format string.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> @plugjax.jit
        ... def f(x):
        ...     plugjax.debug.print("x = {x}, twice that is {}", x * 2, x=x)
        >>> f(jnp.arange(3))
        x = [0 1 2], twice that is [0 2 4]
    """

    def show(fmt: str, *args: Any, **kwargs: Any) -> None:
        if not skip_format_check:
            _checker.format(fmt, *args, **kwargs)
        in_tree, arrays, static = split_arguments(args, kwargs)
        record = None
        if _use_logging:
            place = user_source(1)
            file, line = (place.file, place.line) if place else ("(unknown file)", 0)
            record = log_record(logging.INFO, file, line)
        options = np.get_printoptions()
        bind_debug_print(
            arrays,
            fmt=fmt,
            ordered=ordered,
            partitioned=partitioned,
            in_tree=in_tree,
            static_args=static,
            np_printoptions=tuple((name, Opaque(value)) for name, value in options.items()),
            has_placeholders=any(
                field is not None for _, field, *_ in string.Formatter().parse(fmt)
            ),
            logging_record=record,
        )

    if fmt is not None:
        show(fmt, *args, **kwargs)
        return None
    if args or kwargs:
        raise TypeError(
            f"debug.print without a format takes options only, got args={args} kwargs={kwargs}. Give them in the second call."
        )
    return show


log = partial(print, _use_logging=True)
