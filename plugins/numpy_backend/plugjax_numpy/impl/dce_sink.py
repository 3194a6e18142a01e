"""Kernel of ``dce_sink``, which keeps values from dead-code elimination."""

from __future__ import annotations

from plugjax.extend.rules import RuleSet, impl
from plugjax.lax.dce_sink import dce_sink_p
from plugjax_numpy.kernels import Value

rules = RuleSet(__name__)


@rules.define(impl, dce_sink_p)
def _dce_sink(x: Value, *, prevent_mlir_dce: bool) -> list[Value]:
    return []
