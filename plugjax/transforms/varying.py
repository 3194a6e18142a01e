"""Which values differ between the devices of a mesh: types inside ``shard_map``.

An aval's ``vma`` names the axes along which the values may differ. A result differs along the axes of its operands, unless its
primitive's rule says otherwise: a sum over an axis is the same along it. An operand that does not differ where another one
does is repeated along that axis. Repeating is linear, and its transpose is the sum: a cotangent that differs along an axis is
summed over it where it reaches a value that does not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from plugjax.core import registry
from plugjax.core.aval import AbstractReference, ShapedArray
from plugjax.core.jaxpr import programs_in
from plugjax.core.primitive import Primitive, state
from plugjax.core.rules import RuleKind
from plugjax.core.vocabulary import add_any_p

Names = frozenset[Any]

varying_rule: RuleKind[Callable[..., Names]] = RuleKind(
    "varying",
    "(*operand names, **params) -> names of the axes along which the results may differ, from those of the operands",
)
# What sums a value over axes of a mesh; a plugin with collectives gives it.
sum_rule: RuleKind[Callable[[Any, tuple[Any, ...]], Any]] = RuleKind(
    "sum over axes", "(value, names) -> its sum over axes of a mesh, for the primitive add_any"
)


def typed_axes() -> Names:
    """Names of the axes in force whose values' types say along which they differ."""
    axes = state.axes
    if not axes:
        return frozenset()
    return frozenset(axis.name for axis in axes if axis.typed)


def with_varying(
    primitive: Primitive,
    avals: Sequence[Any],
    params: dict[str, Any],
    result: Any,
) -> Any:
    """The result of abstract evaluation, with the axes along which it may differ.

    Args:
        primitive: the primitive.
        avals: of its operands.
        params: its parameters.
        result: the aval of the result, or a list of them.
    """
    rule = registry.table(varying_rule).get(primitive)
    if rule is not None:
        names = rule(*(getattr(aval, "vma", frozenset()) for aval in avals), **params)
    elif primitive.structured and _says_itself(avals, params):
        return result
    else:
        names = frozenset().union(*(getattr(aval, "vma", frozenset()) for aval in avals))
    names &= typed_axes()
    if not primitive.multiple_results:
        return _marked(result, names)
    return [_marked(aval, names) for aval in result]


def _says_itself(avals: Sequence[Any], params: dict[str, Any]) -> bool:
    """Whether the types of programs, or those that a program defines, say how results differ."""
    if next(programs_in(params), None) is not None:
        return True
    return any(not isinstance(a, ShapedArray | AbstractReference) for a in avals)


def _marked(aval: Any, names: Names) -> Any:
    return aval.update(vma=names) if isinstance(aval, ShapedArray) and names != aval.vma else aval


def summed(bar: Any, aval: Any) -> Any:
    """A cotangent as one of a value of ``aval``: summed over the axes along which only the cotangent differs."""
    extra = (_names(bar) - _names_of_type(aval)) & typed_axes()
    if not extra:
        return bar
    return registry.table(sum_rule)[add_any_p](bar, tuple(sorted(extra, key=str)))


def _names(x: Any) -> Names:
    return _names_of_type(getattr(x, "aval", None))


def _names_of_type(aval: Any) -> Names:
    return aval.vma if isinstance(aval, ShapedArray) else frozenset()
