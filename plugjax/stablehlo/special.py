"""Lowerings of special functions.

Most have a CHLO operation, which compilers expand alike; the others are programs of other primitives, written as
functions of the module.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from plugjax.extend.core import Primitive
from plugjax.extend.rules import RuleSet, lowering
from plugjax.lax import bessel, incomplete_beta, incomplete_gamma, special as lax
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.elementwise import define_elementwise
from plugjax.stablehlo.mlir import Value
from plugjax.stablehlo.programs import staged

rules = RuleSet(__name__)

define_elementwise(
    rules,
    {
        lax.erf_p: "chlo.erf",
        lax.erfc_p: "chlo.erfc",
        # random.normal is built on erf_inv: another expansion would change its bits.
        lax.erf_inv_p: "chlo.erf_inv",
        lax.lgamma_p: "chlo.lgamma",
        lax.digamma_p: "chlo.digamma",
        lax.polygamma_p: "chlo.polygamma",
        lax.zeta_p: "chlo.zeta",
        bessel.bessel_i1e_p: "chlo.bessel_i1e",
    },
)

_PROGRAMS: dict[Primitive, Callable[..., Any]] = {
    bessel.bessel_i0e_p: bessel.bessel_i0e_program,
    incomplete_gamma.igamma_p: incomplete_gamma.igamma_program,
    incomplete_gamma.igammac_p: incomplete_gamma.igammac_program,
    incomplete_gamma.igamma_grad_a_p: incomplete_gamma.igamma_grad_a_program,
    incomplete_beta.regularized_incomplete_beta_p: incomplete_beta.betainc_program,
}


@rules.define(lowering, *_PROGRAMS)
def _by_program(ctx: EqnContext, *operands: Value) -> list[Value]:
    name = ctx.primitive.name
    program = staged(_PROGRAMS[ctx.primitive], tuple(ctx.avals_in), name)
    return ctx.call(program, operands, name)
