"""Sizes as values: the primitive that gives a size to arithmetic on arrays."""

from __future__ import annotations

from typing import Any

from plugjax.extend import config
from plugjax.extend.core import Primitive, ShapedArray
from plugjax.extend.dtypes import INT32, INT64
from plugjax.extend.rules import RuleSet, abstract_eval, batching_rule, impl, jvp_rule, lowering

rules = RuleSet(__name__)

dim_as_value_p = Primitive("dim_as_value")


def size_as_value(dim: Any) -> Any:
    """A size as a weakly typed integer of the program that is being traced."""
    return dim_as_value_p.bind(dim=dim)


@rules.define(abstract_eval, dim_as_value_p)
def _aval(*, dim: Any) -> ShapedArray:
    return ShapedArray((), INT64 if config.enable_x64 else INT32, weak_type=True)


@rules.define(impl, dim_as_value_p)
def _refused(*, dim: Any) -> Any:
    raise NotImplementedError(
        f"Evaluation rule for 'dim_as_value' is not implemented: the size '{dim}' has a value only in a function that is "
        "exported. Use it inside of that function, as x.shape[0]."
    )


@rules.define(lowering, dim_as_value_p)
def _lower(ctx: Any, *, dim: Any) -> Any:
    return ctx.size(dim, ctx.avals_out[0].dtype)


rules.absent(jvp_rule, dim_as_value_p, because="it has no operands to differentiate by")
rules.absent(
    batching_rule, dim_as_value_p, because="it has no operands that could have a batch axis"
)
