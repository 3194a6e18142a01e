"""Operators and functions of Arrays as one Python function each: unwrap, run the kernels, wrap."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from types import CodeType
from typing import Any

from plugjax.extend.core import Array, ClosedJaxpr, Placement
from plugjax.extend.execution import QUIET, SILENT, enter, leave, out_of_memory
from plugjax_numpy.codegen import Writer, written

_COMMON = {
    "Array": Array,
    "new": object.__new__,
    "QUIET": QUIET,
    "enter": enter,
    "leave": leave,
    "out_of_memory": out_of_memory,
}


def host_program(
    jaxpr: ClosedJaxpr,
    placement: Placement,
    conversions: Mapping[int, Callable[[Any], Any]],
    otherwise: Callable[..., Any],
) -> Callable[..., Any]:
    """Write the function: see the hook ``plugjax_host_program``."""
    writer = Writer(jaxpr)
    arguments = [f"x{i}" for i in range(len(writer.arguments))]
    lines: list[str] = []
    for i, value in enumerate(writer.arguments):
        lines += _number(i, value, arguments) if i in conversions else _array(i, value)
    silent = SILENT.issuperset(writer.kernels_used())
    if not silent:
        lines.append("token = enter(QUIET)")
    lines += ["try:", *(f"    {line}" for line in writer.lines)]
    lines.append("except MemoryError as error: raise out_of_memory(error) from None")
    if not silent:
        lines.append("finally: leave(token)")
    (out,) = jaxpr.jaxpr.outvars
    # An Array, without the call of its constructor.
    lines += ["array = new(Array)", "array.aval, array._placement = aval, placement"]
    lines += [f"array._host, array._buffer = {writer.atom(out)}, None", "return array"]
    scope = {
        **_COMMON,
        **writer.namespace,
        **{f"convert{i}": convert for i, convert in conversions.items()},
        **{f"kept{i}": (None, None) for i in conversions},
        "otherwise": otherwise,
        "aval": out.aval,
        "placement": placement,
    }
    exec(_code(written("run", arguments, lines)), scope)
    run: Callable[..., Any] = scope["run"]
    return run


def _array(i: int, value: str) -> list[str]:
    return [f"{value} = x{i}._host", f"if {value} is None: {value} = x{i}._fetch()"]


def _number(i: int, value: str, arguments: list[str]) -> list[str]:
    # Constants of a loop's body are the same objects in each step: the last one is kept, converted.
    return [
        f"global kept{i}",
        f"last, {value} = kept{i}",
        f"if last is not x{i}:",
        f"    try: {value} = convert{i}(x{i})",
        f"    except OverflowError: return otherwise({', '.join(arguments)})",
        f"    kept{i} = (x{i}, {value})",
    ]


@functools.cache
def _code(source: str) -> CodeType:
    # Programs of one form differ in their kernels and avals, which are in the namespace.
    return compile(source, "<plugjax operator>", "exec")
