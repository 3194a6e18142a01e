"""Calls of programs with what plugins put around them: see the hook ``plugjax_instrument``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from plugjax.core import registry
from plugjax.core.array import Array
from plugjax.core.jaxpr import ClosedJaxpr

Call = Callable[[Sequence[Array]], Any]


def instrumented(call: Call, program: Callable[[], ClosedJaxpr]) -> Call:
    """The call, or what plugins make of it.

    Args:
        call: runs something on arrays; gives an array or a list of them.
        program: makes the program that it runs.
    """
    for around in registry.active().hook.plugjax_instrument(program=program):
        call = around(call)
    return call
