"""``dce_sink``: values that dead-code elimination keeps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plugjax.extend import pytree
from plugjax.extend.core import Effect, Effects, Primitive, ShapedArray
from plugjax.extend.rules import RuleSet, abstract_eval, batching_rule, effects_rule
from plugjax.extend.transforms import Axis
from plugjax.lax.families import zero_derivative

rules = RuleSet(__name__)

dce_sink_p = Primitive("dce_sink", multiple_results=True)


class UseEffect(Effect):
    """Uses a value, without another effect."""

    def __repr__(self) -> str:
        return "Use"


def dce_sink(val: Any, *, prevent_mlir_dce: bool = False) -> None:
    """Keep the computation of a pytree's leaves although they are unused.

    Args:
        val: the pytree.
        prevent_mlir_dce: whether compilers must keep it too, by a call of Python that does nothing.

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
