"""Functions made from functions: vectorized, along axes, in pieces.

``vectorize`` is ``vmap`` once for every loop axis. An argument whose loop axis has size 1 is passed unmapped, so that
it is not broadcast before a batching rule needs it.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from plugjax import lax
from plugjax.extend.core import Array
from plugjax.extend.transforms import api_boundary, vmap
from plugjax.numpy.creation import array, asarray
from plugjax.numpy.manipulation import canonical_axis, expand_dims, squeeze
from plugjax.numpy.promotion import (
    ArrayLike,
    as_operand,
    broadcast_shape,
    check_arraylike,
    check_numbers,
    note_rank_promotion,
)
from plugjax.numpy.reductions import argmax

__all__ = ["apply_along_axis", "apply_over_axes", "piecewise", "vectorize"]

Dims = tuple[str, ...]


def _parsed(signature: str) -> tuple[list[Dims], list[Dims]]:
    """Names of the core axes of arguments and results: ``"(m,n),(n)->(m)"``."""
    name = r"\w+"
    group = rf"\((?:{name}(?:,{name})*)?\)"
    groups = rf"{group}(?:,{group})*"
    if not re.fullmatch(rf"{groups}->{groups}", signature):
        raise ValueError(
            f"vectorize: cannot read the signature {signature}; one looks like '(m,n),(n)->(m)'."
        )
    sides = [
        [tuple(re.findall(name, part)) for part in re.findall(group, side)]
        for side in signature.split("->")
    ]
    return sides[0], sides[1]


def _note_sizes(sizes: dict[str, int], shape: tuple[int, ...], dims: Dims, where: str) -> None:
    for dim, size in zip(dims, shape[len(shape) - len(dims) :], strict=True):
        if sizes.setdefault(dim, size) != size:
            raise ValueError(
                f"vectorize: core axis {dim!r} has sizes {size} and {sizes[dim]} {where}"
            )


def _checked(
    function: Callable[..., Any], sizes: dict[str, int], dims: list[Dims], where: str
) -> Callable[..., Any]:
    """The function with a check that its results have the core axes of the signature."""

    def call(*args: Any) -> Any:
        out = function(*args)
        if len(dims) > 1 and not isinstance(out, tuple):
            raise TypeError(
                f"vectorize: a function with several results returns a tuple, got {out!r}\n{where}"
            )
        outs = out if isinstance(out, tuple) else (out,)
        if len(outs) != len(dims):
            raise TypeError(
                f"vectorize: the signature has {len(dims)} results, the function {len(outs)} {where}"
            )
        known = dict(sizes)
        for y, names in zip(outs, dims, strict=True):
            shape = np.shape(y)
            if len(shape) != len(names):
                raise ValueError(
                    f"vectorize: a result of shape {shape} does not have the core axes {names} {where}"
                )
            _note_sizes(known, shape, names, where)
        return out

    return call


def _without(
    function: Callable[..., Any],
    fixed: Collection[int | str],
    args: Sequence[Any],
    kwargs: dict[str, Any],
) -> tuple[Callable[..., Any], list[Any]]:
    """The function of the arguments that are not fixed, and those arguments; keywords are bound."""
    places = [i for i in range(len(args)) if i not in fixed]

    def call(*given: Any) -> Any:
        full = list(args)
        for i, value in zip(places, given, strict=True):
            full[i] = value
        return function(*full, **kwargs)

    return call, [args[i] for i in places]


def vectorize(
    pyfunc: Callable[..., Any],
    *,
    excluded: Collection[int | str] = frozenset(),
    signature: str | None = None,
) -> Callable[..., Any]:
    """A function of arrays from one of scalars, or of smaller arrays: arguments broadcast against each other.

    Keyword arguments are passed unchanged, as in JAX.

    Args:
        pyfunc: the function.
        excluded: positions and keywords of arguments that are passed unchanged.
        signature: core axes of arguments and results, such as ``"(m,n),(n)->(m)"``; scalars without it.

    Raises:
        TypeError: the number of arguments or results differs from the signature's.
        ValueError: an invalid signature, or shapes that contradict it.

    Example:
        >>> import plugjax.numpy as jnp
        >>> f = jnp.vectorize(jnp.vdot, signature="(n),(n)->()")
        >>> f(jnp.ones((2, 3)), jnp.ones(3))
        Array([3., 3.], dtype=float32)
    """
    if any(not isinstance(e, (str, int)) for e in excluded):
        raise TypeError(
            f"vectorize: excluded={excluded!r} holds more than positions (integers) and names (strings)."
        )
    if any(isinstance(e, int) and e < 0 for e in excluded):
        raise ValueError(f"vectorize: positions count from 0, got excluded={excluded!r}.")
    where = f"(excluded={excluded!r}, signature={signature!r})"

    @functools.wraps(pyfunc)
    @api_boundary
    def vectorized(*args: Any, **kwargs: Any) -> Any:
        function, mapped = _without(pyfunc, excluded, args, kwargs)
        core_in: list[Dims] = [()] * len(mapped)
        core_out: list[Dims] | None = None
        if signature is not None:
            core_in, core_out = _parsed(signature)
        if len(mapped) != len(core_in):
            raise TypeError(
                f"vectorize: the signature has {len(core_in)} arguments, the call {len(mapped)} {where}"
            )
        absent = {i for i, x in enumerate(mapped) if x is None}
        if any(core_in[i] for i in absent):
            raise ValueError(
                f"vectorize: arguments {absent} have core axes, so None cannot stand for them: {signature=}"
            )
        function, given = _without(function, absent, mapped, {})
        core_in = [dims for i, dims in enumerate(core_in) if i not in absent]
        return _mapped(function, [asarray(x) for x in given], core_in, core_out, where)

    return vectorized


def _mapped(
    function: Callable[..., Any],
    arrays: list[Any],
    core_in: list[Dims],
    core_out: list[Dims] | None,
    where: str,
) -> Any:
    sizes: dict[str, int] = {}
    for x, dims in zip(arrays, core_in, strict=True):
        if x.ndim < len(dims):
            raise ValueError(
                f"vectorize: an argument of shape {x.shape} has fewer axes than {dims} {where}"
            )
        _note_sizes(sizes, x.shape, dims, where)
    if core_out is not None:
        function = _checked(function, sizes, core_out, where)
    loops = [x.shape[: x.ndim - len(dims)] for x, dims in zip(arrays, core_in, strict=True)]
    if len({len(s) for s, x in zip(loops, arrays, strict=True) if x.ndim}) > 1:
        note_rank_promotion("vectorize", [x.shape for x in arrays])
    rank = len(broadcast_shape("vectorize", *loops))
    padded = [(1,) * (rank - len(s)) + s for s in loops]
    thin = [
        squeeze(x, tuple(i for i, n in enumerate(s) if n == 1))
        for x, s in zip(arrays, loops, strict=True)
    ]
    new_axes = []
    # The innermost loop axis is mapped first, so that the outermost vmap takes the first axis.
    for axis in reversed(range(rank)):
        in_axes = tuple(None if s[axis] == 1 else 0 for s in padded)
        if all(a is None for a in in_axes):
            new_axes.append(axis)
        else:
            function = vmap(function, in_axes)
    out = function(*thin)
    if not new_axes:
        return out
    if isinstance(out, tuple):
        return tuple(expand_dims(y, new_axes) for y in out)
    return expand_dims(out, new_axes)


def apply_along_axis(
    func1d: Callable[..., Any], axis: int, arr: ArrayLike, *args: Any, **kwargs: Any
) -> Any:
    """A function of vectors applied to all vectors along an axis, which the axes of its result replace.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.apply_along_axis(jnp.sum, 0, jnp.ones((3, 2)))
        Array([3., 3.], dtype=float32)
    """
    x = as_operand("apply_along_axis", arr)
    axis = canonical_axis(axis, x.ndim)

    def function(v: Any) -> Any:
        return func1d(v, *args, **kwargs)

    for i in range(1, x.ndim - axis):
        function = vmap(function, in_axes=i, out_axes=-1)
    for _ in range(axis):
        function = vmap(function)
    return function(x)


def apply_over_axes(func: Callable[..., Any], a: ArrayLike, axes: Sequence[int]) -> Array:
    """``func(a, axis)`` for one axis after the other; removed axes are kept with size 1.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.apply_over_axes(jnp.sum, jnp.ones((2, 3)), [0, 1])
        Array([[6.]], dtype=float32)
    """
    x = as_operand("apply_over_axes", a)
    for axis in axes:
        y = func(x, axis)
        if y.ndim == x.ndim:
            x = y
        elif y.ndim == x.ndim - 1:
            x = expand_dims(y, axis)
        else:
            raise ValueError("apply_over_axes: func gives as many axes as it gets, or one less.")
    return x


def piecewise(
    x: ArrayLike,
    condlist: Array | Sequence[ArrayLike],
    funclist: Sequence[Any],
    *args: Any,
    **kw: Any,
) -> Array:
    """A piecewise function: where a condition holds, the value of its function.

    Args:
        x: arguments.
        condlist: conditions; the last that holds counts.
        funclist: functions, or values, one per condition; one more at the end for where no condition holds (0
            otherwise).
        *args: passed on to the functions.
        **kw: passed on to the functions.

    Differs from NumPy:
        Functions get single elements, and must be traceable.

    Example:
        >>> import plugjax.numpy as jnp
        >>> x = jnp.array([-1.0, 2.0])
        >>> jnp.piecewise(x, [x < 0], [lambda v: -v, 7])
        Array([1., 7.], dtype=float32)
    """
    at = as_operand("piecewise", x)
    check_numbers("piecewise", at)
    count, pieces = len(condlist), list(funclist)
    if len(pieces) == count + 1:
        pieces = [pieces[-1], *pieces[:-1]]
    elif len(pieces) == count:
        pieces = [0, *pieces]
    else:
        raise ValueError(
            f"piecewise: {count} conditions take {count} functions, or {count + 1} with a default, got {len(pieces)}"
        )
    conditions = asarray(condlist, dtype=bool)
    none = lax.full((1, *conditions.shape[1:]), False)
    # The cumulative count has its first maximum at the last condition that holds; at 0 if none
    # holds.
    last = argmax(lax.concatenate([none, conditions], 0).astype(np.int32).cumsum(0), 0)

    def branch(piece: Any) -> Callable[[Any], Any]:
        if callable(piece):
            return lambda v: asarray(piece(v, *args, **kw)).astype(at.dtype)
        check_arraylike("piecewise", piece)
        return lambda v: array(piece, dtype=at.dtype)

    branches = [branch(p) for p in pieces]
    return vectorize(lambda i, v: lax.switch(i, branches, v))(last, at)
