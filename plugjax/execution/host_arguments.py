"""Calls of compiled programs with NumPy arrays and numbers: no Array is made of an argument that only the program sees."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from plugjax.core.array import Array
from plugjax.core.aval import ShapedArray
from plugjax.core.device import Placement
from plugjax.execution.compile import Compiled, on_buffers
from plugjax.execution.host_math import QUIET, enter, leave

Convert = Callable[[Any], Any]


def call_with_values(
    compiled: Compiled, kept: Sequence[int], values: Mapping[int, ShapedArray]
) -> Callable[[Sequence[Any]], list[Array]] | None:
    """A call of a program on Arrays, NumPy arrays and numbers; ``None`` if they must become Arrays.

    The call raises OverflowError for an integer that does not fit.

    Args:
        compiled: the program.
        kept: which arguments it takes, as positions.
        values: avals of the arguments that are no Arrays, by position.
    """
    executable, placement, out_avals = compiled.executable, compiled.placement, compiled.out_avals
    # Numbers of NumPy's own kinds: the others have conversions of their own.
    plain = all(isinstance(a.dtype, np.dtype) and a.dtype.kind in "biufc" for a in values.values())
    if compiled.leading or executable.donated or not plain:
        return None
    kept = tuple(kept)
    inputs = dict(enumerate(kept))
    given = {n: values[i] for n, i in inputs.items() if i in values}
    taking = None if executable.host else executable.taking_values(given)
    if taking is not None:
        return _call_that_takes(taking, kept, [n for n in inputs if n not in given], compiled)
    read: Convert = _host if executable.host else _buffer
    convert = _host_value if executable.host else _put(placement)
    steps = [(i, convert(given[n]) if n in given else read) for n, i in inputs.items()]
    run = executable.run

    def call(leaves: Sequence[Any]) -> list[Array]:
        token = enter(QUIET)
        try:
            arguments = [step(leaves[i]) for i, step in steps]
        finally:
            leave(token)
        found = run(arguments)
        if executable.host:
            return [Array(a, placement, v) for a, v in zip(out_avals, found, strict=True)]
        return on_buffers(out_avals, placement, found)

    return call


def _call_that_takes(
    run: Callable[[list[Any]], Sequence[Any]],
    kept: tuple[int, ...],
    arrays: Sequence[int],
    compiled: Compiled,
) -> Callable[[Sequence[Any]], list[Array]]:
    """The call by a backend that takes values itself; of the program's inputs, ``arrays`` are Arrays."""
    placement, out_avals = compiled.placement, compiled.out_avals

    def call(leaves: Sequence[Any]) -> list[Array]:
        arguments = [leaves[i] for i in kept]
        for n in arrays:
            buffer = arguments[n]._buffer
            arguments[n] = buffer if buffer is not None else arguments[n]._resident()
        return on_buffers(out_avals, placement, run(arguments))

    return call


def _host(x: Array) -> Any:
    host = x._host
    return host if host is not None else x._fetch()


def _buffer(x: Array) -> Any:
    buffer = x._buffer
    return buffer if buffer is not None else x._resident()


def _host_value(aval: ShapedArray) -> Convert:
    if not aval.shape:
        number: Convert = aval.dtype.type
        return number
    dtype = aval.dtype
    # A copy: a result may be a view of it.
    return lambda value: np.array(value, dtype, order="C")


def _put(placement: Placement) -> Callable[[ShapedArray], Convert]:
    put, device = placement.backend.put, placement.device

    def convert(aval: ShapedArray) -> Convert:
        dtype = aval.dtype
        return lambda value: put(np.array(value, dtype, order="C"), device)

    return convert
