"""Classes of values that ``vmap`` maps as their own functions say, as a whole.

A value of such a class is a leaf of arguments and results, whether or not the class is a container. One function makes what an
instance sees of it, another makes a value of what an instance gives. Both are given the function that does the same for a
part, by an axis or by what stands for one in ``in_axes``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

# What one instance sees of a value, and the value of all instances, by an axis or what stands for one.
Part = Callable[[Any, Any], Any]
Whole = Callable[[Any, Any, Any], Any]


class Mapping(NamedTuple):
    """How a class is mapped."""

    to_elt: Callable[[Part, Callable[[], Any], Any, Any], Any]
    from_elt: Callable[[Whole, Any, Any, Any], Any]


mappings: dict[type[Any], Mapping] = {}
# What may stand in ``in_axes`` and ``out_axes``.
spec_types: set[type[Any]] = set()
# By the class of an ``axis_size``, the numbers of the instances.
numberings: dict[type[Any], Callable[[Any], Any]] = {}


def register_vmappable(
    data_type: type[Any],
    spec_type: type[Any],
    axis_size_type: type[Any],
    to_elt: Callable[[Part, Callable[[], Any], Any, Any], Any],
    from_elt: Callable[[Whole, Any, Any, Any], Any],
    make_iota: Callable[[Any], Any] | None,
) -> None:
    """Say how ``vmap`` maps values of a class.

    Args:
        data_type: the class.
        spec_type: the class of what stands for an axis in ``in_axes`` and ``out_axes``; it is no container.
        axis_size_type: the class of what may be given as ``axis_size``, if ``make_iota`` is.
        to_elt: ``(part, index, value, spec) -> value``: what one instance sees. ``part(x, spec)`` is that of ``x``, an array with
            an axis, or a value of such a class; ``index()`` is the number of the instance.
        from_elt: ``(whole, axis_size, value, spec) -> value``: all instances, given what one gives. ``whole(axis_size, x, spec)``
            is that of ``x``.
        make_iota: ``(axis_size) -> array``: the numbers of the instances, for sizes that are no integers.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> from plugjax.interpreters import batching
        >>> class Pair:
        ...     def __init__(self, x, y): self.x, self.y = x, y
        >>> class Both:
        ...     pass
        >>> batching.register_vmappable(
        ...     Pair, Both, int,
        ...     lambda part, index, pair, spec: Pair(part(pair.x, 0), part(pair.y, 1)),
        ...     lambda whole, size, pair, spec: Pair(whole(size, pair.x, 0), whole(size, pair.y, 1)),
        ...     None)
        >>> pair = Pair(jnp.ones((3, 2)), jnp.ones((2, 3)))
        >>> plugjax.vmap(lambda p: p.x + p.y, in_axes=Both(), axis_size=3)(pair).shape
        (3, 2)
    """
    mappings[data_type] = Mapping(to_elt, from_elt)
    spec_types.add(spec_type)
    if make_iota is not None:
        numberings[axis_size_type] = make_iota


def is_vmappable(x: Any) -> bool:
    """Whether a value is of such a class."""
    return type(x) in mappings


def is_spec(x: Any) -> bool:
    """Whether a value may stand for an axis of such a class."""
    return type(x) in spec_types


def taken_out(leaves: Sequence[Any], axes: list[Any]) -> dict[int, Any]:
    """Places and specs of values of such classes; in ``axes`` they become values that are not mapped."""
    found = {i: axes[i] for i, x in enumerate(leaves) if is_vmappable(x)}
    for i in found:
        axes[i] = None
    return found


def sizes_of(leaves: Sequence[Any], specs: dict[int, Any]) -> list[int]:
    """Sizes of mapped axes of values that have a shape, and an axis for a spec."""
    shapes = [(getattr(leaves[i], "shape", ()), d) for i, d in specs.items() if isinstance(d, int)]
    return [int(shape[d]) for shape, d in shapes if -len(shape) <= d < len(shape)]


def numbers_of(axis_size: Any) -> Any:
    """The numbers of the instances by the function of the size's class; ``None`` if there is none."""
    numbering = numberings.get(type(axis_size)) if numberings else None
    return None if numbering is None else numbering(axis_size)


def part_of(mapped: Part, index: Callable[[], Any]) -> Part:
    """What one instance sees of a value; ``mapped`` gives it for an array."""

    def part(x: Any, spec: Any) -> Any:
        if is_vmappable(x):
            return mappings[type(x)].to_elt(part, index, x, spec)
        return mapped(x, spec)

    return part


def whole_of(moved: Part) -> Whole:
    """The value of all instances; ``moved`` gives it for an array."""

    def whole(size: Any, x: Any, spec: Any) -> Any:
        if is_vmappable(x):
            return mappings[type(x)].from_elt(whole, size, x, spec)
        return moved(x, spec)

    return whole
