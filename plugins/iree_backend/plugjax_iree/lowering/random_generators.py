"""Random numbers from a hidden state. The host draws them, since IREE 3.13 gives the same numbers at every call."""

from __future__ import annotations

from collections.abc import Sequence

from plugjax.extend import registry
from plugjax.extend.rules import RuleSet, impl, lowering
from plugjax.lax.random_generators import rng_uniform_p
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.host_call import kernel_call
from plugjax.stablehlo.mlir import Value

rules = RuleSet(__name__)


@rules.define(lowering, rng_uniform_p, platform="iree")
def _rng_uniform(ctx: EqnContext, a: Value, b: Value, *, shape: tuple[int, ...]) -> Sequence[Value]:
    return ctx.host_call(kernel_call(ctx.eqn, registry.table(impl)[rng_uniform_p]), [a, b])
