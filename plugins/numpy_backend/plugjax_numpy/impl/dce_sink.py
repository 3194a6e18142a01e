"""Kernel of the place where values go to be used."""

from __future__ import annotations

from plugjax.core import RuleSet, impl
from plugjax.lax.dce_sink import dce_sink_p
from plugjax_numpy.kernels import Value

rules = RuleSet(__name__)


@rules.define(impl, dce_sink_p)
def _dce_sink(x: Value, *, prevent_mlir_dce: bool) -> list[Value]:
    return []
