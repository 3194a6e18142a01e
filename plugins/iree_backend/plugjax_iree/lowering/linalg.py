"""Cholesky factors and triangular systems: operations of StableHLO that IREE lacks."""

from __future__ import annotations

from plugjax.extend.rules import RuleSet, lowering
from plugjax.lax.linalg.cholesky import cholesky_p
from plugjax.lax.linalg.triangular_solve import triangular_solve_p
from plugjax.stablehlo.linalg import by_host_or_program

rules = RuleSet(__name__)

rules.define(lowering, cholesky_p, triangular_solve_p, platform="iree")(by_host_or_program)
