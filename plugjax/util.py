"""Functions of sequences that programs for JAX use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from plugjax.extend.transforms import show_only

_T = TypeVar("_T")


def safe_map(f: Callable[..., _T], *args: Iterable[Any]) -> list[_T]:
    """``f`` of corresponding elements, as a list. JAX has it in ``jax._src.util``.

    Raises:
        ValueError: the lengths differ.

    Example:
        >>> from plugjax.util import safe_map
        >>> safe_map(max, [1, 5], [3, 4])
        [3, 5]
    """
    return [f(*xs) for xs in safe_zip(*args)]


def safe_zip(*args: Iterable[Any]) -> list[tuple[Any, ...]]:
    """Tuples of corresponding elements, as a list. JAX has it in ``jax._src.util``.

    Raises:
        ValueError: the lengths differ.

    Example:
        >>> from plugjax.util import safe_zip
        >>> safe_zip([1, 2], "ab")
        [(1, 'a'), (2, 'b')]
    """
    rows = [list(xs) for xs in args]
    lengths = [len(row) for row in rows]
    if len(set(lengths)) > 1:
        raise ValueError(
            f"safe_map and safe_zip need sequences of one length, length mismatch: {lengths}."
        )
    return list(zip(*rows, strict=True))


def unzip2(pairs: Iterable[tuple[Any, Any]]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """First and second elements of pairs. JAX has it in ``jax._src.util``.

    Example:
        >>> from plugjax.util import unzip2
        >>> unzip2([(1, "a"), (2, "b")])
        ((1, 2), ('a', 'b'))
    """
    found = list(pairs)
    return tuple(x for x, _ in found), tuple(y for _, y in found)


def split_list(args: Sequence[_T], ns: Sequence[int]) -> list[list[_T]]:
    """A sequence as consecutive lists of the given lengths, and one with the rest. JAX has it in ``jax._src.util``.

    Example:
        >>> from plugjax.util import split_list
        >>> split_list([1, 2, 3, 4], [1, 2])
        [[1], [2, 3], [4]]
    """
    found, start = [], 0
    for n in ns:
        found.append(list(args[start : start + n]))
        start += n
    return [*found, list(args[start:])]


__all__ = ["safe_map", "safe_zip", "split_list", "unzip2"]

show_only(globals(), __all__)
