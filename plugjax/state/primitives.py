"""Primitives that make, read and write references: their types, effects, values and pure forms."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import plugjax.numpy as jnp
from plugjax.extend.core import (
    AbstractReference,
    Array,
    Effects,
    Primitive,
    ShapedArray,
    as_array,
    new_cache,
)
from plugjax.extend.rules import (
    RuleSet,
    abstract_eval,
    discharge_rule,
    effects_rule,
    expand_rule,
)
from plugjax.extend.transforms import ReferenceEffect, stage
from plugjax.state.aval import AbstractRef
from plugjax.state.indices import StaticIndex, plain, read, written
from plugjax.state.reference import Ref

rules = RuleSet(__name__)


def _stateful(name: str) -> Primitive:
    return Primitive(name, multiple_results=True, structured=True, stateful=True)


new_ref_p = _stateful("new_ref")
empty_ref_p = _stateful("empty_ref")
zero_ref_p = _stateful("zero_ref")  # Of tangents, in linear programs.
freeze_p = _stateful("freeze")
free_ref_p = _stateful("free_ref")
get_p = _stateful("get")
swap_p = _stateful("swap")
addupdate_p = _stateful("addupdate")


class ReadEffect(ReferenceEffect):
    """A reference is read."""


class WriteEffect(ReferenceEffect):
    """A reference is written."""


class AccumEffect(ReferenceEffect):
    """Something is added to a reference."""


class InternalMutableArrayEffect(ReferenceEffect):
    """A reference is made or ended."""


_EFFECTS: dict[Primitive, ReferenceEffect] = {
    new_ref_p: InternalMutableArrayEffect(),
    empty_ref_p: InternalMutableArrayEffect(),
    zero_ref_p: InternalMutableArrayEffect(),
    freeze_p: InternalMutableArrayEffect(),
    free_ref_p: InternalMutableArrayEffect(),
    get_p: ReadEffect(),
    swap_p: WriteEffect(),
    addupdate_p: AccumEffect(),
}


def _define_effect(primitive: Primitive, found: Effects) -> None:
    @rules.define(effects_rule, primitive)
    def _effects(**_: Any) -> Effects:
        return found


for _primitive, _effect in _EFFECTS.items():
    _define_effect(_primitive, frozenset((_effect,)))


# Types.

_parts = new_cache()


def part_aval(
    inner: ShapedArray, index: StaticIndex, operands: Sequence[ShapedArray]
) -> ShapedArray:
    """The type of the part of an array at an index."""
    if not index:
        return inner
    key = (inner, index, *operands)
    found: ShapedArray | None = _parts.get(key)
    if found is None:
        program = stage(lambda x, *ops: [read(x, index, ops)], [inner, *operands], "get")
        found = _parts[key] = program.out_avals[0]
    return found


def needs_reference(who: str, aval: Any) -> ShapedArray:
    """The type of the array that a reference refers to.

    Raises:
        ValueError: ``aval`` is not of a reference.
    """
    if not isinstance(aval, AbstractReference):
        raise ValueError(
            f"`{who}` must be called on `Ref` types: got {aval}. new_ref makes a reference of an array."
        )
    return aval.inner_aval


def check_written(who: str, inner: ShapedArray, part: ShapedArray, value: ShapedArray) -> None:
    """Raise unless a value may be written to a part of an array.

    Raises:
        ValueError: its shape or dtype is another, or it is a reference.
    """
    if isinstance(value, AbstractReference):
        raise ValueError(
            f"Cannot store a Ref into another Ref ({who}): read it first, value[...] is its array."
        )
    if part.shape != value.shape:
        raise ValueError(
            f"Invalid shape for `{who}`. Ref shape: {inner.shape}. Expected shape: {part.shape}. Value shape: {value.shape}. "
            "A reference does not broadcast what is written: use plugjax.numpy.broadcast_to."
        )
    if part.dtype != value.dtype:
        raise ValueError(
            f"Invalid dtype for `{who}`. Ref dtype: {inner.dtype.name}. Value dtype: {value.dtype.name}. Convert it with astype."
        )


@rules.define(abstract_eval, new_ref_p)
def _new_ref_aval(init: ShapedArray, *, memory_space: Any, kind: str | None) -> list[Any]:
    if isinstance(init, AbstractReference):
        raise TypeError(
            f"new_ref needs an array, got a reference: {init}. Read it first: ref[...]."
        )
    return [AbstractRef(init, memory_space, kind)]


@rules.define(abstract_eval, empty_ref_p)
def _empty_ref_aval(*, ty: ShapedArray, memory_space: Any) -> list[Any]:
    return [AbstractRef(ty, memory_space)]


@rules.define(abstract_eval, zero_ref_p)
def _zero_ref_aval(*, aval: AbstractRef) -> list[Any]:
    return [aval]


@rules.define(abstract_eval, freeze_p)
def _freeze_aval(ref: Any) -> list[ShapedArray]:
    return [needs_reference("freeze", ref)]


@rules.define(abstract_eval, free_ref_p)
def _free_ref_aval(ref: Any) -> list[ShapedArray]:
    needs_reference("free_ref", ref)
    return []


@rules.define(abstract_eval, get_p)
def _get_aval(ref: Any, *operands: ShapedArray, index: StaticIndex) -> list[ShapedArray]:
    return [part_aval(needs_reference("get", ref), index, operands)]


@rules.define(abstract_eval, swap_p)
def _swap_aval(
    ref: Any, value: ShapedArray, *operands: ShapedArray, index: StaticIndex
) -> list[ShapedArray]:
    inner = needs_reference("swap", ref)
    part = part_aval(inner, index, operands)
    check_written("swap", inner, part, value)
    return [part]


@rules.define(abstract_eval, addupdate_p)
def _addupdate_aval(
    ref: Any, value: ShapedArray, *operands: ShapedArray, index: StaticIndex
) -> list[ShapedArray]:
    inner = needs_reference("addupdate", ref)
    check_written("addupdate", inner, part_aval(inner, index, operands), value)
    return []


# Values: what the evaluator runs.

Run = Callable[..., list[Any]]


def zeros_of(aval: ShapedArray) -> Array:
    """An array of zeros."""
    found: Array = jnp.zeros(aval.shape, aval.dtype)
    return found


@rules.define(expand_rule, new_ref_p)
def _new_ref(*, memory_space: Any, kind: str | None) -> Run:
    def run(init: Any) -> list[Any]:
        if memory_space is not None:
            raise NotImplementedError(
                "new_ref: a memory space has a meaning within `jit` only. Leave memory_space out."
            )
        value = as_array(init, "new_ref")
        return [Ref(AbstractRef(value.aval, kind=kind), value._alias())]

    return run


@rules.define(expand_rule, empty_ref_p)
def _empty_ref(*, ty: ShapedArray, memory_space: Any) -> Run:
    return lambda: [Ref(AbstractRef(ty, memory_space), zeros_of(ty))]


@rules.define(expand_rule, zero_ref_p)
def _zero_ref(*, aval: AbstractRef) -> Run:
    return lambda: [Ref(aval, zeros_of(aval.inner_aval))]


@rules.define(expand_rule, freeze_p)
def _freeze() -> Run:
    return lambda ref: [ref._value._alias()]


@rules.define(expand_rule, free_ref_p)
def _free_ref() -> Run:
    return lambda ref: []


@rules.define(expand_rule, get_p)
def _get(*, index: StaticIndex) -> Run:
    def run(ref: Any, *operands: Any) -> list[Any]:
        value = _of(ref, "get")._value
        return [read(value, index, operands) if index else value._alias()]

    return run


@rules.define(expand_rule, swap_p)
def _swap(*, index: StaticIndex) -> Run:
    def run(ref: Any, value: Any, *operands: Any) -> list[Any]:
        held, new = _of(ref, "swap"), as_array(value)
        value_of = held._value
        old = read(value_of, index, operands) if index else value_of._alias()
        check_written("swap", held.aval.inner_aval, old.aval, new.aval)
        del value_of
        _write(held, new, index, operands, add=False)
        return [old]

    return run


@rules.define(expand_rule, addupdate_p)
def _addupdate(*, index: StaticIndex) -> Run:
    def run(ref: Any, value: Any, *operands: Any) -> list[Any]:
        held, new = _of(ref, "addupdate"), as_array(value)
        inner = held.aval.inner_aval
        part = part_aval(inner, index, [as_array(x).aval for x in operands])
        check_written("addupdate", inner, part, new.aval)
        _write(held, new, index, operands, add=True)
        return []

    return run


def _of(ref: Any, who: str) -> Ref:
    if type(ref) is not Ref:
        raise ValueError(
            f"Can only call `{who}` on a `Ref`: got {type(ref).__name__}. new_ref makes one."
        )
    return ref


def replace(ref: Ref, value: Array) -> None:
    """Let a reference hold another array of its type."""
    inner = ref.aval.inner_aval
    ref._written |= not value.aval.weak_type
    value = value._alias()
    value.aval = inner
    ref._value = value


# What holds the memory of an array that no other object sees: the array, a name, and the call that counts.
_OWNERS = 3


def _write(ref: Ref, new: Array, index: StaticIndex, operands: Sequence[Any], *, add: bool) -> None:
    place = plain(index, [_on_host(x) for x in operands])
    held = ref._value
    dtype = held.aval.dtype
    plainly = (
        place is not None
        and (index or add)
        and held._placement.host_visible
        and isinstance(dtype, np.dtype)
        and dtype.kind in "iufc"
        and _within(place, held.aval.shape)
    )
    if not plainly:
        replace(ref, as_array(written(held, index, operands, new, add=add)))
        return
    host, values = held._fetch(), new._fetch()
    own = (
        type(host) is np.ndarray
        and host.flags.writeable
        and host.flags.owndata
        and held._buffer is None
        and sys.getrefcount(host) <= _OWNERS
    )
    if not own:
        host = np.array(host)
        ref._value = Array(ref.aval.inner_aval, held._placement, host)
    ref._written |= not add
    if add:
        np.add.at(host, place, values)
    else:
        host[place] = values


def _on_host(x: Any) -> Any:
    return np.asarray(x._fetch()) if type(x) is Array else x


def _within(place: Any, shape: tuple[int, ...]) -> bool:
    """Whether no index is out of bounds, which NumPy refuses and a reference ignores."""
    if any(entry is None or type(entry) is bool for entry in place):
        return False
    return all(
        not isinstance(entry, np.ndarray) or bool(((entry >= -size) & (entry < size)).all())
        for entry, size in zip(place, shape, strict=False)
    )


# Pure forms.

_Values = tuple[list[Any], list[Any]]


@rules.define(discharge_rule, new_ref_p)
def _discharge_new_ref(marked: Sequence[bool], operands: Sequence[Any], **_: Any) -> _Values:
    return [operands[0]], []


@rules.define(discharge_rule, empty_ref_p)
def _discharge_empty_ref(
    marked: Sequence[bool], operands: Sequence[Any], *, ty: ShapedArray, memory_space: Any
) -> _Values:
    return [zeros_of(ty)], []


@rules.define(discharge_rule, zero_ref_p)
def _discharge_zero_ref(
    marked: Sequence[bool], operands: Sequence[Any], *, aval: AbstractRef
) -> _Values:
    return [zeros_of(aval.inner_aval)], []


@rules.define(discharge_rule, freeze_p)
def _discharge_freeze(marked: Sequence[bool], operands: Sequence[Any]) -> _Values:
    return [operands[0]], [operands[0]]


@rules.define(discharge_rule, free_ref_p)
def _discharge_free_ref(marked: Sequence[bool], operands: Sequence[Any]) -> _Values:
    return [], [operands[0]]


@rules.define(discharge_rule, get_p)
def _discharge_get(
    marked: Sequence[bool], operands: Sequence[Any], *, index: StaticIndex
) -> _Values:
    value, *rest = operands
    return [read(value, index, rest)], [value]


@rules.define(discharge_rule, swap_p)
def _discharge_swap(
    marked: Sequence[bool], operands: Sequence[Any], *, index: StaticIndex
) -> _Values:
    value, new, *rest = operands
    return [read(value, index, rest)], [written(value, index, rest, new, add=False)]


@rules.define(discharge_rule, addupdate_p)
def _discharge_addupdate(
    marked: Sequence[bool], operands: Sequence[Any], *, index: StaticIndex
) -> _Values:
    value, new, *rest = operands
    return [], [written(value, index, rest, new, add=True)]
