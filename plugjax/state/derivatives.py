"""Derivatives of what references do: beside a reference to values there is one to their tangents.

Transposed, a read adds to the reference to cotangents, a write takes what was collected there, and making a reference ends its
collection.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plugjax.extend import dtypes
from plugjax.extend.core import Zero, aval_of, instantiate
from plugjax.extend.rules import RuleSet, jvp_rule, transpose_rule
from plugjax.state.aval import AbstractRef
from plugjax.state.indices import StaticIndex
from plugjax.state.primitives import (
    addupdate_p,
    empty_ref_p,
    free_ref_p,
    freeze_p,
    get_p,
    new_ref_p,
    swap_p,
    zero_ref_p,
)

rules = RuleSet(__name__)

_Duals = tuple[list[Any], list[Any]]


def _tangent_ref(ref: Any) -> Any:
    """A new reference to zero tangents, beside a reference to what has tangents."""
    aval: AbstractRef = aval_of(ref).to_tangent_aval()  # type: ignore[assignment]  # of a reference
    if aval.dtype == dtypes.float0:
        return Zero(aval)  # type: ignore[arg-type]
    return zero_ref_p.bind(aval=aval)[0]


@rules.define(jvp_rule, new_ref_p)
def _new_ref_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> _Duals:
    ref = new_ref_p.bind(*primals, **params)[0]
    if type(tangents[0]) is Zero:
        return [ref], [_tangent_ref(ref)]
    return [ref], new_ref_p.bind(tangents[0], **params)


@rules.define(jvp_rule, empty_ref_p)
def _empty_ref_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> _Duals:
    ref = empty_ref_p.bind(**params)[0]
    return [ref], [_tangent_ref(ref)]


@rules.define(jvp_rule, zero_ref_p)
def _zero_ref_jvp(primals: Sequence[Any], tangents: Sequence[Any], *, aval: AbstractRef) -> _Duals:
    # A tape would take another zero_ref for one of its own.
    ref = empty_ref_p.bind(ty=aval.inner_aval, memory_space=aval.memory_space)[0]
    return [ref], [_tangent_ref(ref)]


@rules.define(jvp_rule, freeze_p)
def _freeze_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> _Duals:
    found = freeze_p.bind(primals[0])
    if type(tangents[0]) is Zero:
        return found, [_no_tangent(found[0])]
    return found, freeze_p.bind(tangents[0])


@rules.define(jvp_rule, free_ref_p)
def _free_ref_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> _Duals:
    free_ref_p.bind(primals[0])
    return [], []


def _no_tangent(x: Any) -> Zero:
    return Zero(aval_of(x).to_tangent_aval())


@rules.define(jvp_rule, get_p)
def _get_jvp(primals: Sequence[Any], tangents: Sequence[Any], *, index: StaticIndex) -> _Duals:
    ref, *operands = primals
    found = get_p.bind(ref, *operands, index=index)
    if type(tangents[0]) is Zero:
        return found, [_no_tangent(found[0])]
    return found, get_p.bind(tangents[0], *operands, index=index)


def _needs_tangents(who: str, ref: Any, tangents: Sequence[Any]) -> bool:
    """Whether a write goes to the tangents too.

    Raises:
        ValueError: a value with a tangent is written to a reference without.
    """
    if type(tangents[0]) is not Zero:
        return True
    if type(tangents[1]) is not Zero:
        raise ValueError(
            f"performing {who} operation with a differentiated value on a non-differentiated array reference of type "
            f"{aval_of(ref)}: its tangent would be lost. Make the reference an argument of the function that is "
            "differentiated, make it within, or write lax.stop_gradient(value)."
        )
    return False


@rules.define(jvp_rule, swap_p)
def _swap_jvp(primals: Sequence[Any], tangents: Sequence[Any], *, index: StaticIndex) -> _Duals:
    ref, value, *operands = primals
    both = _needs_tangents("a set/swap", ref, tangents)
    found = swap_p.bind(ref, value, *operands, index=index)
    if not both:
        return found, [_no_tangent(found[0])]
    return found, swap_p.bind(tangents[0], instantiate(tangents[1]), *operands, index=index)


@rules.define(jvp_rule, addupdate_p)
def _addupdate_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, index: StaticIndex
) -> _Duals:
    ref, value, *operands = primals
    both = _needs_tangents("an addupdate", ref, tangents)
    addupdate_p.bind(ref, value, *operands, index=index)
    if both and type(tangents[1]) is not Zero:
        addupdate_p.bind(tangents[0], tangents[1], *operands, index=index)
    return [], []


# Transposes: operands are accumulators where the reference is to tangents; a cotangent that there is not is None.


@rules.define(transpose_rule, new_ref_p)
def _new_ref_transpose(cotangents: Sequence[Any], init: Any, **_: Any) -> list[Any]:
    collected = cotangents[0]
    return [None if collected is None else freeze_p.bind(collected)[0]]


@rules.define(transpose_rule, zero_ref_p)
def _zero_ref_transpose(cotangents: Sequence[Any], **_: Any) -> list[Any]:
    return []


@rules.define(transpose_rule, freeze_p)
def _freeze_transpose(cotangents: Sequence[Any], ref: Any) -> list[Any]:
    if cotangents[0] is not None:
        addupdate_p.bind(ref.reference, cotangents[0], index=())
    return [None]


@rules.define(transpose_rule, get_p)
def _get_transpose(
    cotangents: Sequence[Any], ref: Any, *operands: Any, index: StaticIndex
) -> list[Any]:
    if cotangents[0] is not None:
        addupdate_p.bind(ref.reference, cotangents[0], *operands, index=index)
    return [None] * (1 + len(operands))


@rules.define(transpose_rule, swap_p)
def _swap_transpose(
    cotangents: Sequence[Any], ref: Any, value: Any, *operands: Any, index: StaticIndex
) -> list[Any]:
    bar = cotangents[0]
    found = None
    if ref.known or bar is not None:
        before = bar if bar is not None else instantiate(Zero(aval_of(value)))
        found = swap_p.bind(ref.reference, before, *operands, index=index)[0]
    return [None, found, *(None for _ in operands)]


@rules.define(transpose_rule, addupdate_p)
def _addupdate_transpose(
    cotangents: Sequence[Any], ref: Any, value: Any, *operands: Any, index: StaticIndex
) -> list[Any]:
    found = get_p.bind(ref.reference, *operands, index=index)[0] if ref.known else None
    return [None, found, *(None for _ in operands)]
