"""Which values differ between the devices of a mesh: types inside ``shard_map``.

An aval's ``vma`` names the axes along which the values may differ. A result differs along the axes of its operands, unless its
primitive's rule says otherwise: a sum over an axis is the same along it. An operand that does not differ where another one
does is repeated along that axis. Repeating is linear, and its transpose is the sum: a cotangent that differs along an axis is
summed over it where it reaches a value that does not. Where it reaches a value that is marked ``Reduced``, it is marked as still to be
summed (``Unreduced``) instead. Rules of the kind ``unreduced`` say which operations take and give such values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from plugjax.core import registry
from plugjax.core.aval import AbstractReference, ShapedArray
from plugjax.core.jaxpr import programs_in
from plugjax.core.primitive import Primitive, state
from plugjax.core.rules import RuleKind
from plugjax.core.vocabulary import add_any_p, instantiate
from plugjax.meshes.manual import (
    Mark,
    Reduced,
    Unreduced,
    axis_of,
    reduced_axes,
    unreduced_axes,
    varying_axes,
)
from plugjax.meshes.types import unreduced_rule

Names = frozenset[Any]

varying_rule: RuleKind[Callable[..., Names | list[Names]]] = RuleKind(
    "varying",
    "(*operand names, **params) -> names of the axes along which the results may differ, and marks, from those of the operands; or a list of "
    "them, for each result",
)
# A plugin with collectives gives it.
conversion_rule: RuleKind[Callable[[Any, Names], Any]] = RuleKind(
    "conversion along axes",
    "(value, names and marks) -> the value as one of which a type says these, by sums and casts; for the primitive add_any",
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
    typed = typed_axes()
    rule = registry.table(varying_rule).get(primitive)
    if not typed:
        names: Any = frozenset()
    elif rule is not None:
        names = rule(*(getattr(aval, "vma", frozenset()) for aval in avals), **params)
    elif primitive.structured and _says_itself(avals, params):
        return result
    else:
        names = _of_operands(primitive, avals, params)
    if not primitive.multiple_results:
        return _marked(result, names, typed)
    each = names if isinstance(names, list) else [names] * len(result)
    return [_marked(aval, own, typed) for aval, own in zip(result, each, strict=True)]


def _of_operands(primitive: Primitive, avals: Sequence[Any], params: dict[str, Any]) -> Names:
    """The names and marks of results, which differ where an operand does.

    Raises:
        ValueError: an operand differs along an axis over which another is still to be summed.
        ShardingTypeError, NotImplementedError: the operation does not take values that are marked so.
    """
    held: list[Names] = [getattr(aval, "vma", frozenset()) for aval in avals]
    names = varying = varying_axes(frozenset().union(*held))
    if not all(map(varying.issuperset, held)):
        avals = [_repeated(primitive, a, varying) for a in avals]
        if any(isinstance(a, ShapedArray) and not varying.issuperset(a.vma) for a in avals):
            rule = registry.table(unreduced_rule).get(primitive)
            marks = [a.vma - varying for a in avals if isinstance(a, ShapedArray)]
            if rule is not None:
                unreduced, reduced = rule(avals, **params)
                names = names.union(map(Unreduced, unreduced), map(Reduced, reduced))
            elif any(map(unreduced_axes, marks)):
                raise NotImplementedError(
                    f"unreduced rule for {primitive.name} is not implemented: it may not be linear. Take the sum by psum first. Got "
                    f"{', '.join(a.str_short(True) for a in avals)}."
                )
            else:
                # Reduced values are free to differ.
                names = names.union(*map(reduced_axes, marks))
    return names


def _repeated(primitive: Primitive, aval: Any, varying: Names) -> Any:
    """The type of an operand where another one differs along some axes: a value whose cotangents are summed may differ."""
    if not isinstance(aval, ShapedArray):
        return aval
    added = varying - aval.vma
    reduced = reduced_axes(aval.vma)
    if added & unreduced_axes(aval.vma) or (added & reduced and added != reduced):
        raise ValueError(
            f"{primitive.name}: another operand varies along {sorted(added, key=str)}, and this cannot: {aval.str_short(True)}. Take the sum "
            "by psum, or mark it by lax.pcast(x, axes, to='varying')."
        )
    return aval.update(vma=varying) if added and added == reduced else aval


def _says_itself(avals: Sequence[Any], params: dict[str, Any]) -> bool:
    """Whether types of programs or parameters, or those that a program defines, say how results differ."""
    if "out_avals" in params or next(programs_in(params), None) is not None:
        return True
    return any(not isinstance(a, ShapedArray | AbstractReference) for a in avals)


def _marked(aval: Any, names: Names, typed: Names) -> Any:
    names = frozenset(n for n in names if axis_of(n) in typed)
    return aval.update(vma=names) if isinstance(aval, ShapedArray) and names != aval.vma else aval


def converted(x: Any, names: Names) -> Any:
    """A value as one of which a type says these names and marks: repeated, summed or cast along axes."""
    typed = typed_axes()
    if not typed:
        return x
    held = getattr(x, "aval", None)
    own = held.vma if isinstance(held, ShapedArray) else frozenset()
    if own == names or (held is not None and not isinstance(held, ShapedArray)):
        return x
    if not any(axis_of(n) in typed for n in own ^ names):
        return x
    return registry.table(conversion_rule)[add_any_p](x, names)


def summed(bar: Any, aval: Any) -> Any:
    """A cotangent as one of a value of ``aval``: summed over the axes along which only the cotangent differs."""
    return converted(bar, cotangent_names(aval.vma)) if isinstance(aval, ShapedArray) else bar


def cotangent_aval(aval: Any) -> Any:
    """The type of cotangents of values of a type."""
    if not isinstance(aval, ShapedArray) or not aval.vma:
        return aval
    return aval.update(vma=cotangent_names(aval.vma))


def cotangent_of(bar: Any, aval: Any) -> Any:
    """A cotangent as an array, of the type that those of ``aval`` have."""
    found = instantiate(bar)
    return summed(found, aval) if state.axes else found


def cotangent_names(names: Names) -> Names:
    """What types say of the cotangents of a value: those of a reduced one are summands, and the reverse."""
    return frozenset(_TRANSPOSED[type(n)](n.name) if isinstance(n, Mark) else n for n in names)


_TRANSPOSED: dict[type[Mark], type[Mark]] = {Reduced: Unreduced, Unreduced: Reduced}
