"""Values of which the devices along an axis of a mesh have a summand each, and values whose cotangents are such: casts and collectives.

Within ``shard_map`` a value that all devices have may be cast to ``Reduced``. Its cotangent on a device is then what that device adds to it
(``Unreduced``): a program may add up many cotangents, and take one sum over the devices. Each row holds two operations that are one
another's transpose:

    preduced              same -> reduced         unreduced_psum            summands -> same
    reduced_vary_cast     reduced -> varying      vary_unreduced_cast       varying -> summands
    all_gather_reduced    varying -> reduced      unreduced_reduce_scatter  summands -> varying

Casts change types alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from plugjax.extend.core import Primitive, add_any_p, aval_of
from plugjax.extend.meshes import Reduced, Unreduced, axis_of, without_names
from plugjax.extend.rules import (
    RuleSet,
    abstract_eval,
    axis_names_rule,
    batching_rule,
    conversion_rule,
    impl,
    varying_rule,
)
from plugjax.extend.transforms import typed_axes
from plugjax.lax.collectives import (
    axis_index_p,
    gather_batching,
    gathered_aval,
    marking,
    names_of_exchange,
    names_of_reduction,
    psum_p,
    pvary_p,
    reduced_aval,
    reduction_batching,
    scatter_batching,
    scattered_aval,
)
from plugjax.lax.comparison import eq
from plugjax.lax.families import linear
from plugjax.lax.reduction import reduce_sum
from plugjax.lax.selection import select
from plugjax.lax.shape import full_like

rules = RuleSet(__name__)

Names: TypeAlias = frozenset[Any]
Axes: TypeAlias = tuple[Any, ...]

preduced_p = Primitive("preduced")
unreduced_psum_p = Primitive("unreduced_psum")
reduced_vary_cast_p = Primitive("reduced_vary_cast_p")
vary_unreduced_cast_p = Primitive("vary_unreduced_cast_p")
all_gather_reduced_p = Primitive("all_gather_reduced")
unreduced_reduce_scatter_p = Primitive("unreduced_reduce_scatter")

CASTS = (preduced_p, reduced_vary_cast_p, vary_unreduced_cast_p)

# What types say of results along the axes ---------------------------------------------------------


def _along(primitive: Primitive, said: Callable[[Axes], Sequence[Any]]) -> None:
    @rules.define(varying_rule, primitive)
    def _varying(names: Names, *, axes: Axes = (), axis_name: Axes = (), **_: Any) -> Names:
        return without_names(names, axes or axis_name).union(said(axes or axis_name))


def _reduced(axes: Axes) -> list[Reduced]:
    return [Reduced(name) for name in axes]


def _unreduced(axes: Axes) -> list[Unreduced]:
    return [Unreduced(name) for name in axes]


_along(preduced_p, _reduced)
_along(unreduced_psum_p, lambda axes: ())
_along(reduced_vary_cast_p, lambda axes: axes)
_along(vary_unreduced_cast_p, _unreduced)
_along(all_gather_reduced_p, _reduced)
_along(unreduced_reduce_scatter_p, lambda axes: axes)


# Casts --------------------------------------------------------------------------------------------

for _cast_p in CASTS:
    marking(rules, _cast_p)


def _transposes(one: Primitive, other: Primitive) -> None:
    linear(rules, one)(lambda bar, x, *, axes: (other.bind(bar, axes=axes),))
    linear(rules, other)(lambda bar, x, *, axes: (one.bind(bar, axes=axes),))


_transposes(preduced_p, unreduced_psum_p)
_transposes(reduced_vary_cast_p, vary_unreduced_cast_p)

# Collectives --------------------------------------------------------------------------------------

rules.absent(
    impl,
    unreduced_psum_p,
    all_gather_reduced_p,
    unreduced_reduce_scatter_p,
    because="an axis name means the instances of a vmap or the devices of a mesh: one value is not enough",
)


rules.define(axis_names_rule, unreduced_psum_p)(names_of_reduction)
rules.define(axis_names_rule, all_gather_reduced_p, unreduced_reduce_scatter_p)(names_of_exchange)
rules.define(abstract_eval, unreduced_psum_p)(reduced_aval)
rules.define(batching_rule, unreduced_psum_p)(
    partial(reduction_batching, unreduced_psum_p, reduce_sum)
)
rules.define(abstract_eval, all_gather_reduced_p)(gathered_aval)
rules.define(abstract_eval, unreduced_reduce_scatter_p)(scattered_aval)
rules.define(batching_rule, all_gather_reduced_p)(partial(gather_batching, all_gather_reduced_p))
rules.define(batching_rule, unreduced_reduce_scatter_p)(
    partial(scatter_batching, unreduced_reduce_scatter_p)
)


@linear(rules, all_gather_reduced_p)
def _gather_transpose(bar: Any, x: Any, *, all_gather_dimension: int, **params: Any) -> tuple[Any]:
    return (unreduced_reduce_scatter_p.bind(bar, scatter_dimension=all_gather_dimension, **params),)


@linear(rules, unreduced_reduce_scatter_p)
def _scatter_transpose(bar: Any, x: Any, *, scatter_dimension: int, **params: Any) -> tuple[Any]:
    return (all_gather_reduced_p.bind(bar, all_gather_dimension=scatter_dimension, **params),)


# Between the states of a value ----------------------------------------------------------------------------


def state_along(who: str, aval: Any, axes: Sequence[Any]) -> str:
    """What a type says of values along some axes, in a word: varying, unreduced, reduced or invarying.

    Raises:
        ValueError: something else of one than of another.
    """
    found = {_state(aval.vma, name) for name in axes}
    if len(found) > 1:
        raise ValueError(
            f"{who} can only accept axis_name which corresponds to one of varying, unreduced, reduced or invarying state of the "
            f"input. Got {aval.str_short()}, which is {' and '.join(sorted(found))} along {sorted(axes, key=str)}. Name only those along "
            "which it is alike, or mark it by lax.pcast(x, axes, to='varying')."
        )
    return found.pop()


def _state(vma: Names, name: Any) -> str:
    if name in vma:
        return "varying"
    if Unreduced(name) in vma:
        return "unreduced"
    return "reduced" if Reduced(name) in vma else "invarying"


@rules.define(conversion_rule, add_any_p)
def _converted(x: Any, names: Names) -> Any:
    found = aval_of(x).vma
    axes = {axis_of(n) for n in found ^ names} & typed_axes()
    steps: dict[tuple[str, str], list[Any]] = {}
    for name in sorted(axes, key=str):
        steps.setdefault((_state(found, name), _state(names, name)), []).append(name)
    for (source, target), along in steps.items():
        for step in _STEPS[source, target]:
            x = step(x, tuple(along))
    return x


def _cast(primitive: Primitive) -> Callable[[Any, Axes], Any]:
    return lambda x, axes: primitive.bind(x, axes=axes)


def _sum(x: Any, axes: Axes) -> Any:
    return psum_p.bind(x, axes=axes, axis_index_groups=None)


def on_first(x: Any, axes: Axes) -> Any:
    """The value on the first device along axes, and zeros on the others: summands of the value."""
    for name in axes:
        here = eq(axis_index_p.bind(axis_name=name), np.int32(0))
        x = select(here, x, full_like(x, 0))
    return x


_vary, _reduce, _free = map(_cast, (pvary_p, preduced_p, reduced_vary_cast_p))
_leave, _take = map(_cast, (vary_unreduced_cast_p, unreduced_psum_p))
_STEPS: dict[tuple[str, str], tuple[Callable[[Any, Axes], Any], ...]] = {
    ("invarying", "varying"): (_vary,),
    ("invarying", "reduced"): (_reduce,),
    ("invarying", "unreduced"): (_vary, on_first, _leave),
    ("varying", "invarying"): (_sum,),
    ("varying", "reduced"): (_sum, _reduce),
    ("varying", "unreduced"): (_leave,),
    ("reduced", "varying"): (_free,),
    ("reduced", "invarying"): (_free, on_first, _sum),
    ("reduced", "unreduced"): (_free, on_first, _leave),
    ("unreduced", "invarying"): (_take,),
    ("unreduced", "varying"): (_take, _vary),
    ("unreduced", "reduced"): (_take, _reduce),
}
