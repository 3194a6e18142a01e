"""Loops as plain Python on concrete arrays, for ``disable_jit`` and debuggers.

Slices of arrays are views of host memory, and stacked results are written into one array at the end, so that the loop
costs little beside the user's body.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from plugjax.extend import pytree
from plugjax.extend.core import Array, ShapedArray, as_array, default_placement, physical_aval
from plugjax.extend.transforms import describe_frames
from plugjax.lax.joining import concatenate
from plugjax.lax.shape import expand_dims
from plugjax.lax.slicing import index_in_dim


def arrays(tree: Any, who: str) -> Any:
    """A pytree with its leaves as arrays or tracers."""
    return pytree.tree_map(lambda x: as_array(x, who), tree)


def python_scan(
    f: Callable[..., Any], init: Any, xs: Sequence[Any], xs_tree: Any, length: int, reverse: bool
) -> tuple[Any, Any]:
    """``scan`` as a Python loop.

    Raises:
        ValueError: no steps (the type of the results is unknown), or steps that give different structures.
    """
    if length == 0:
        raise ValueError(
            "lax.scan: a zero-length scan has results of unknown type under disable_jit(). Make a step or more."
        )
    carry = arrays(init, "scan")
    parts = [slices(x, length, reverse) for x in xs]
    bare = len(parts) == 1 and xs_tree.is_leaf()
    rows: Iterator[Any] = (
        parts[0]
        if bare
        else map(xs_tree.unflatten, zip(*parts, strict=True) if parts else ((),) * length)
    )
    ys = []
    for x in rows:
        carry, y = f(carry, x)
        ys.append(y)
    if reverse:
        ys.reverse()
    return arrays(carry, "scan"), _stacked(ys)


def python_while(cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init: Any) -> Any:
    """``while_loop`` as a Python loop."""
    carry = arrays(init, "while_loop")
    for _step in itertools.count():
        if not cond_fun(carry):
            break
        carry = body_fun(carry)
    return arrays(carry, "while_loop")


def python_fori(start: int, stop: int, aval: ShapedArray, body_fun: Any, init: Any) -> Any:
    """``fori_loop`` as a Python loop, with indices of the given aval."""
    carry = arrays(init, "fori_loop")
    placement, scalar = default_placement(), aval.dtype.type
    for i in range(start, stop):
        carry = body_fun(Array(aval, placement, scalar(i)), carry)
    return arrays(carry, "fori_loop")


def _scan_words(local: dict[str, Any]) -> str:
    done, length = len(local.get("ys", ())), local["length"]
    return f"scan, iteration {length - 1 - done if local['reverse'] else done} of {length}"


describe_frames(python_scan, _scan_words)
describe_frames(python_while, lambda local: f"while, iteration {local.get('_step', 0)}")
describe_frames(python_fori, lambda local: f"fori, iteration {local.get('i', 0)}")


def slices(x: Any, length: int, reverse: bool) -> Iterator[Any]:
    """The slices of an array along its leading axis, last first if ``reverse``."""
    order = range(length - 1, -1, -1) if reverse else range(length)
    if type(x) is not Array:
        return (index_in_dim(x, i, 0, keepdims=False) for i in order)
    aval, placement = x.aval.update(shape=x.aval.shape[1:]), x._placement.whole
    host = x._fetch()
    return (Array(aval, placement, part) for part in (host[::-1] if reverse else host))


def _stacked(ys: list[Any]) -> Any:
    """The steps' results, pytrees, as one pytree of arrays with a leading axis."""
    first, tree = pytree.flatten(ys[0])
    if tree.is_leaf():
        return stack([as_array(y, "scan") for y in ys])
    if not first:
        return ys[0]
    columns = zip(*[tree.flatten_up_to(y) for y in ys], strict=True)
    return tree.unflatten(stack([as_array(y, "scan") for y in column]) for column in columns)


def stack(values: Sequence[Any]) -> Any:
    """One array with a leading axis, from arrays or tracers of one shape and dtype."""
    first = values[0]
    if any(type(y) is not Array or y._placement is not first._placement for y in values):
        return concatenate([expand_dims(y, (0,)) for y in values], 0)
    aval = first.aval
    if any(y.aval is not aval for y in values):
        aval = aval.strip_weak_type()
        if any(y.aval.strip_weak_type() is not aval for y in values):
            return concatenate([expand_dims(y, (0,)) for y in values], 0)
    stored = physical_aval(aval)
    host = np.empty((len(values), *stored.shape), stored.dtype)
    for i, y in enumerate(values):
        host[i] = y._host if y._host is not None else y._fetch()
    return Array(aval.update(shape=(len(values), *aval.shape)), first._placement.whole, host)
