"""The compilation cache filled ahead with eager operations: what a device compiles for arrays of given shapes."""

from __future__ import annotations

import itertools
import os
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

import plugjax
from plugjax.extend.core import Array, Device, ShapeDtypeStruct
from plugjax.extend.errors import FallbackWarning, JaxRuntimeError
from plugjax.extend.execution import eager_operations


class Filled(NamedTuple):
    """What became of the operations.

    Attributes:
        ready: how many operations, with arrays of some shapes, are compiled.
        refused: what the device's compiler said of others.
    """

    ready: int
    refused: list[str]


def fill(device: Device, types: Sequence[ShapeDtypeStruct], names: Sequence[str]) -> Filled:
    """Run operations on zeros, as many at once as there are processors.

    Args:
        device: what compiles and runs them.
        types: of the arrays. Those of one call have one dtype; scalars of each dtype are among them always.
        names: of eager operations; all of them if there are none.

    Raises:
        ValueError: a name is no eager operation, or a size is not known.
    """
    known = eager_operations()
    for name in names:
        if name not in known:
            raise ValueError(
                f"cache fill: {name!r} is no operation on the fast path. Choose from {', '.join(sorted(known))}."
            )
    for each in types:
        if not all(isinstance(size, int) for size in each.shape):
            raise ValueError(
                f"cache fill: {each.dtype}{list(each.shape)} has a size that is not known. Write numbers."
            )
    shapes: dict[Any, list[tuple[int, ...]]] = {}
    for each in types:
        shapes.setdefault(each.dtype, [()]).append(each.shape)
    zeros = {
        dtype: [
            plugjax.device_put(np.zeros(shape, dtype), device) for shape in dict.fromkeys(found)
        ]
        for dtype, found in shapes.items()
    }
    calls = [
        (name, operands) for name in names or known for operands in _operands(known[name][1], zeros)
    ]
    with warnings.catch_warnings(record=True) as seen, ThreadPoolExecutor(os.cpu_count()) as pool:
        warnings.simplefilter("always", FallbackWarning)
        answers = list(pool.map(lambda call: _run(*call), calls))
    refused = [str(told.message) for told in seen if told.category is FallbackWarning]
    ready = answers.count("") - len(refused)
    refused += [answer for answer in answers if answer]
    for told in seen:
        if told.category is not FallbackWarning:
            warnings.warn_explicit(told.message, told.category, told.filename, told.lineno)
    return Filled(ready, [text.splitlines()[0] for text in refused])


def _operands(count: int, zeros: dict[Any, list[Array]]) -> Iterator[tuple[Array, ...]]:
    for arrays in zeros.values():
        yield from itertools.product(arrays, repeat=count)


def _run(name: str, operands: tuple[Array, ...]) -> str | None:
    """What an error says of an operation; empty if there is none, ``None`` where it does not take such operands."""
    operation, _ = eager_operations()[name]
    try:
        plugjax.block_until_ready(operation(*operands))
    except JaxRuntimeError as error:
        return str(error)
    except (TypeError, ValueError):
        return None
    return ""
