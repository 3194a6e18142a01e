"""Lowerings of special functions: each has a CHLO operation, which compilers expand alike."""

from __future__ import annotations

from plugjax.core.rules import RuleSet
from plugjax.lax import special as lax
from plugjax.stablehlo.elementwise import define_elementwise

rules = RuleSet(__name__)

define_elementwise(
    rules,
    {
        lax.erf_p: "chlo.erf",
        lax.erfc_p: "chlo.erfc",
        # random.normal is built on it: any other expansion would change its bits.
        lax.erf_inv_p: "chlo.erf_inv",
    },
)
