"""A place where values go to be used: what computes them is not dropped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plugjax.core import pytree
from plugjax.core.aval import ShapedArray
from plugjax.core.effects import Effect, Effects, effects_rule
from plugjax.core.primitive import Primitive
from plugjax.core.rules import RuleSet, abstract_eval
from plugjax.core.transforms.batching import Axis, batching_rule
from plugjax.lax.families import zero_derivative

rules = RuleSet(__name__)

dce_sink_p = Primitive("dce_sink", multiple_results=True)


class UseEffect(Effect):
    """Uses a value, and does nothing else."""

    def __repr__(self) -> str:
        return "Use"


def dce_sink(val: Any, *, prevent_mlir_dce: bool = False) -> None:
    """Have the leaves of a pytree computed although nothing uses them.

    Args:
        val: the pytree.
        prevent_mlir_dce: whether compilers must compute them too: by a call of Python that does nothing.

    Example:
        >>> import plugjax
        >>> from plugjax import lax
        >>> plugjax.make_jaxpr(lambda x: lax.dce_sink(lax.sin(x)))(1.0)
        { lambda ; a:f32[]. let
            b:f32[] = sin a
            dce_sink[prevent_mlir_dce=False] b
          in () }
    """
    for leaf in pytree.leaves(val):
        dce_sink_p.bind(leaf, prevent_mlir_dce=bool(prevent_mlir_dce))


@rules.define(abstract_eval, dce_sink_p)
def _dce_sink_avals(x: ShapedArray, *, prevent_mlir_dce: bool) -> list[ShapedArray]:
    return []


@rules.define(effects_rule, dce_sink_p)
def _dce_sink_effects(**_: Any) -> Effects:
    return frozenset({UseEffect()})


zero_derivative(rules, dce_sink_p)


@rules.define(batching_rule, dce_sink_p)
def _dce_sink_batching(
    axis: Axis, args: Sequence[Any], dims: Sequence[int | None], **params: Any
) -> tuple[list[Any], list[Any]]:
    return dce_sink_p.bind(*args, **params), []
