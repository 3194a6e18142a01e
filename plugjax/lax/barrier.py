"""Barriers and names: identities for compilers and for checkpoint policies.

``optimization_barrier`` keeps compilers from moving computation across it: each result waits for all operands. ``name``
names a value for checkpoint policies.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plugjax.extend import pytree
from plugjax.extend.core import (
    Primitive,
    ShapedArray,
    Zero,
    as_array,
    instantiate,
    optimization_barrier_p,
)
from plugjax.extend.rules import (
    RuleSet,
    abstract_eval,
    batching_rule,
    jvp_rule,
    physical_rule,
    transpose_rule,
    varying_rule,
)
from plugjax.extend.transforms import Axis
from plugjax.lax.families import ANY_OR_EXTENDED, elementwise, linear

rules = RuleSet(__name__)

name_p = Primitive("name")
elementwise(rules, name_p, accepts=ANY_OR_EXTENDED)


def optimization_barrier(operand: Any, /) -> Any:
    """The pytree unchanged. Compilers move no computation across it.

    All leaves are computed before anything that reads a result.

    Example:
        >>> from plugjax import lax
        >>> lax.optimization_barrier((1.0, 2.0))
        (Array(1., dtype=float32, weak_type=True), Array(2., dtype=float32, weak_type=True))
    """
    leaves, tree = pytree.flatten(operand)
    values = [x if hasattr(x, "aval") else as_array(x, "optimization_barrier") for x in leaves]
    return pytree.unflatten(tree, optimization_barrier_p.bind(*values))


@rules.define(abstract_eval, optimization_barrier_p)
def _barrier_avals(*avals: ShapedArray) -> list[ShapedArray]:
    return list(avals)


@rules.define(varying_rule, optimization_barrier_p)
def _varying(*names: frozenset[Any]) -> list[frozenset[Any]]:
    return list(names)


@rules.define(batching_rule, optimization_barrier_p)
def _barrier_batching(
    axis: Axis, args: Sequence[Any], dims: Sequence[int | None]
) -> tuple[Any, Sequence[int | None]]:
    return optimization_barrier_p.bind(*args), dims


@rules.define(physical_rule, optimization_barrier_p)
def _barrier_physical(in_avals: Any, out_avals: Any, *stored: Any) -> Any:
    return optimization_barrier_p.bind(*stored)


@rules.define(physical_rule, name_p)
def _name_physical(in_avals: Any, out_avals: Any, x: Any, *, name: str) -> Any:
    return name_p.bind(x, name=name)


@rules.define(jvp_rule, optimization_barrier_p)
def _barrier_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, list[Any]]:
    kept = [t for t in tangents if type(t) is not Zero]
    found = iter(optimization_barrier_p.bind(*kept)) if kept else iter(())
    return optimization_barrier_p.bind(*primals), [
        t if type(t) is Zero else next(found) for t in tangents
    ]


@rules.define(transpose_rule, optimization_barrier_p)
def _barrier_transpose(cotangents: Sequence[Any], *operands: Any) -> Any:
    return optimization_barrier_p.bind(*map(instantiate, cotangents))


@linear(rules, name_p)
def _name_transpose(y_bar: Any, x: Any, *, name: str) -> tuple[Any]:
    return (y_bar,)
