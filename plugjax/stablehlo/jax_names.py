"""JAX's names of what lowering rules get, and of the contexts that modules are made in: those of ``plugjax.extend.lowering``."""

from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.mlir import JaxIrContext, upstream_dialects

LoweringRuleContext = EqnContext

__all__ = ["JaxIrContext", "LoweringRuleContext", "upstream_dialects"]
