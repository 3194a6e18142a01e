"""Parameters that JAX prints and that are none here: shardings, and the like, which are ``None`` on one device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from plugjax.extend.core import Primitive, reduce_sum_p, reshape_p
from plugjax.extend.rules import RuleSet, printed_rule
from plugjax.lax.dot import dot_general_p
from plugjax.lax.gather_scatter import scatter_p
from plugjax.lax.shape import iota_p

rules = RuleSet(__name__)

_NONE: dict[Primitive, tuple[str, ...]] = {
    iota_p: ("sharding",),
    reduce_sum_p: ("out_sharding",),
    reshape_p: ("dimensions", "sharding"),
}


def _with_none(names: tuple[str, ...]) -> Callable[..., dict[str, Any]]:
    return lambda **params: {**params, **dict.fromkeys(names)}


@rules.define(printed_rule, dot_general_p)
def _dot_general_printed(**params: Any) -> dict[str, Any]:
    """Axes as lists, and no parameter that is ``None``."""
    axes = tuple(tuple(map(list, pair)) for pair in params["dimension_numbers"])
    return {k: v for k, v in {**params, "dimension_numbers": axes}.items() if v is not None}


@rules.define(printed_rule, scatter_p)
def _scatter_printed(**params: Any) -> dict[str, Any]:
    """JAX's scatters hold a program that combines old and new elements, and this one none."""
    return {**params, "update_consts": (), "update_jaxpr": None}


for _primitive, _names in _NONE.items():
    rules.define(printed_rule, _primitive)(_with_none(_names))
