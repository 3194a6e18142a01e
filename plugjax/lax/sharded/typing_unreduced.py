"""Values that are still to be summed over axes of a mesh, and values whose cotangents are: which operations take them.

A type ``float32[8]{U:x}`` says that the value is the sum of what the devices along ``x`` have. Only what is linear may be done before the
sum is taken; the rest is refused, as in JAX, until ``reshard`` asks for the sum. A type ``float32[8]{R:x}`` says that the cotangent of
the value is such a sum.

JAX refuses to negate summands, to multiply and divide them and reduced values by numbers, and to multiply them as matrices; within
``shard_map`` plugjax does, so that what is made of a reduced value has a derivative.

Along explicit axes backends take the sums at once: what a type says of a value that is still to be summed holds for its shards on no
backend. Within ``shard_map`` each device has its own summand until the program takes the sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plugjax.extend import registry
from plugjax.extend.core import (
    Primitive,
    ShapedArray,
    add_any_p,
    broadcast_in_dim_p,
    convert_element_type_p,
    mul_p,
    reduce_sum_p,
    reshape_p,
    select_n_p,
    transpose_p,
)
from plugjax.extend.meshes import (
    ShardingTypeError,
    broadcast_spec,
    names_of,
    reduced_axes,
    sharding_rule,
    spec_of,
    unreduced_axes,
    unreduced_rule,
    varying_axes,
)
from plugjax.extend.rules import RuleSet
from plugjax.extend.transforms import typed_axes
from plugjax.lax.arithmetic import add_p, div_p, neg_p
from plugjax.lax.conversion import copy_p, reduce_precision_p
from plugjax.lax.dot import dot_general_p
from plugjax.lax.joining import concatenate_p, pad_p, slice_p, split_p, stack_p
from plugjax.lax.shape import squeeze_p
from plugjax.lax.slicing import dynamic_slice_p, dynamic_update_slice_p

rules = RuleSet(__name__)

Axes = frozenset[Any]
Pair = tuple[Axes, Axes]
Avals = Sequence[ShapedArray]

_NONE: Axes = frozenset()


def _unreduced(aval: ShapedArray) -> Axes:
    return spec_of(aval).unreduced | unreduced_axes(aval.vma)


def _reduced(aval: ShapedArray) -> Axes:
    return spec_of(aval).reduced | reduced_axes(aval.vma)


def _shown(avals: Avals) -> str:
    return ", ".join(str(aval.str_short(True)) for aval in avals)


def _same_reduced(avals: Avals) -> Axes:
    """The axes over which all operands are reduced.

    Raises:
        ShardingTypeError: they differ; or an operand is cut, or whole on each device, along an axis over which another is reduced.
    """
    found = {_reduced(aval) for aval in avals} - {_NONE}
    if len(found) > 1:
        raise ShardingTypeError(
            f"All inputs should be reduced across the same mesh axes. Got {_shown(avals)}."
        )
    if not found:
        return _NONE
    (names,) = found
    for aval in avals:
        cut = {name for entry in spec_of(aval) for name in names_of(entry)} | varying_axes(aval.vma)
        if cut & names:
            raise ShardingTypeError(
                f"Inputs cannot be sharded/varying on the same axes that another input is reduced on. Reshard it. Got {_shown(avals)}."
            )
        if aval.shape and names - _reduced(aval) - _unreduced(aval):
            raise ShardingTypeError(
                "Inputs cannot be replicated on the same axes that another input is reduced on. Got "
                f"{_shown(avals)}. Reshard the other with reduced={set(names)}."
            )
    return names


def _elementwise(primitive: Primitive) -> Any:
    def rule(avals: Avals, **_: Any) -> Pair:
        reduced = _same_reduced(avals)
        if any(map(_unreduced, avals)):
            raise NotImplementedError(
                f"unreduced rule for {primitive.name} is not implemented: it is not linear. Take the sum by reshard first. Got "
                f"{_shown(avals)}."
            )
        return _NONE, reduced

    return rule


@rules.define(unreduced_rule, add_p, add_any_p)
def _add(avals: Avals, **_: Any) -> Pair:
    reduced, (left, right) = _same_reduced(avals), map(_unreduced, avals)
    if left and right and left != right:
        raise ShardingTypeError(
            f"lhs and rhs to `add` must be unreduced along the same mesh axes. Got {_shown(avals)}."
        )
    if left != right:
        which = "lhs is unreduced while rhs is not" if left else "rhs is unreduced while lhs is not"
        raise ShardingTypeError(
            f"{which}. `add` operation does not allow this because there will be implicit communication. Please reduce it via "
            f"`reshard` before calling `add`. Got {_shown(avals)}."
        )
    return left, reduced


@rules.define(unreduced_rule, mul_p)
def _mul(avals: Avals, **_: Any) -> Pair:
    left, right = map(_unreduced, avals)
    reduced = _same_reduced(avals)
    if left and right:
        raise ShardingTypeError(
            f"lhs and rhs to `mul` cannot be unreduced since mul is bilinear. Got {_shown(avals)}."
        )
    for unreduced, other in ((left, avals[1]), (right, avals[0])):
        if unreduced and _reduced(other) != unreduced and not _is_number(other, unreduced):
            raise ShardingTypeError(
                f"What is multiplied with an unreduced value should be reduced along the same axes. Got {_shown(avals)}."
            )
    return (left or right, _NONE) if left or right else (_NONE, reduced)


def _is_number(aval: ShapedArray, unreduced: Axes) -> bool:
    """Whether a value of the type is a number that all devices have which hold the summands."""
    return not aval.shape and not (aval.vma or _unreduced(aval)) and unreduced <= typed_axes()


@rules.define(unreduced_rule, div_p)
def _div(avals: Avals, **_: Any) -> Pair:
    unreduced = _unreduced(avals[0])
    if unreduced and (_reduced(avals[1]) == unreduced or _is_number(avals[1], unreduced)):
        return unreduced, _NONE
    return _elementwise(div_p)(avals)


@rules.define(unreduced_rule, neg_p)
def _neg(avals: Avals, **_: Any) -> Pair:
    (x,) = avals
    if not _unreduced(x) <= typed_axes():
        return _elementwise(neg_p)(avals)
    return _unreduced(x), _reduced(x)


@rules.define(unreduced_rule, dot_general_p)
def _dot_general(avals: Avals, **_: Any) -> Pair:
    left, right = map(_unreduced, avals)
    for unreduced, other in ((left, avals[1]), (right, avals[0])):
        if unreduced and unreduced <= typed_axes() and _reduced(other) == unreduced:
            return unreduced, _NONE
    if left or right:
        raise ShardingTypeError(
            f"lhs or rhs passed to dot_general cannot be unreduced. Got {_shown(avals)}. Take the sum by reshard first."
        )
    return _NONE, _NONE


@rules.define(
    unreduced_rule,
    broadcast_in_dim_p,
    convert_element_type_p,
    copy_p,
    pad_p,
    reduce_precision_p,
    reduce_sum_p,
    reshape_p,
    slice_p,
    split_p,
    squeeze_p,
    transpose_p,
)
def _of_first(avals: Avals, **_: Any) -> Pair:
    return _unreduced(avals[0]), _reduced(avals[0])


@rules.define(unreduced_rule, select_n_p)
def _select(avals: Avals, **_: Any) -> Pair:
    return _unreduced(avals[1]), _reduced(avals[1])


@rules.define(unreduced_rule, concatenate_p, stack_p)
def _join(avals: Avals, **_: Any) -> Pair:
    found = []
    for word, of in (("unreduced", _unreduced), ("reduced", _reduced)):
        names = {of(aval) for aval in avals} - {_NONE}
        if len(names) > 1:
            raise ShardingTypeError(
                f"All operands should be {word} along the same mesh axes. Got {_shown(avals)}."
            )
        found.append(names.pop() if names else _NONE)
    return found[0], found[1]


@rules.define(unreduced_rule, dynamic_slice_p)
def _dynamic_slice(avals: Avals, **_: Any) -> Pair:
    if _unreduced(avals[0]):
        raise NotImplementedError(
            f"unreduced rule for dynamic_slice is not implemented. Got {_shown(avals)}. Take the sum by reshard first."
        )
    return _NONE, _reduced(avals[0])


@rules.define(unreduced_rule, dynamic_update_slice_p)
def _dynamic_update_slice(avals: Avals, **_: Any) -> Pair:
    operand, update = avals[:2]
    if (_unreduced(operand), _reduced(operand)) != (_unreduced(update), _reduced(update)):
        raise ShardingTypeError(
            f"dynamic_update_slice operand and update must be unreduced and reduced along the same axes. Got {_shown(avals)}."
        )
    return _unreduced(operand), _reduced(operand)


_OWN = {rule.primitive for rule in rules.rules}
for _primitive, _rule in registry.table(sharding_rule).items():
    if _rule is broadcast_spec and _primitive not in _OWN:
        rules.define(unreduced_rule, _primitive)(_elementwise(_primitive))
