"""Kernel of composites: the decomposition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plugjax.extend.core import ClosedJaxpr
from plugjax.extend.rules import RuleSet, impl
from plugjax.lax.composite import composite_p
from plugjax_numpy.codegen import host_function
from plugjax_numpy.kernels import Value

rules = RuleSet(__name__)


@rules.define(impl, composite_p)
def _composite(*operands: Value, jaxpr: ClosedJaxpr, **_: Any) -> Sequence[Value]:
    return host_function(jaxpr)(*operands)
