"""Lowerings of trigonometric and hyperbolic primitives."""

from __future__ import annotations

from collections.abc import Callable

from plugjax.extend.core import ShapedArray
from plugjax.extend.rules import RuleSet, lowering
from plugjax.lax import trigonometric as lax
from plugjax.stablehlo import mlir
from plugjax.stablehlo.comparison import compare
from plugjax.stablehlo.complex import real_aval
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.elementwise import define_elementwise
from plugjax.stablehlo.mlir import Value

rules = RuleSet(__name__)

define_elementwise(
    rules,
    {
        lax.tan_p: "stablehlo.tan",
        lax.asin_p: "chlo.asin",
        lax.acos_p: "chlo.acos",
        lax.atan_p: "chlo.atan",
        lax.atan2_p: "stablehlo.atan2",
        lax.sinh_p: "chlo.sinh",
        lax.cosh_p: "chlo.cosh",
        lax.tanh_p: "stablehlo.tanh",
        lax.asinh_p: "chlo.asinh",
        lax.acosh_p: "chlo.acosh",
        lax.atanh_p: "chlo.atanh",
    },
)


class _ComplexSine:
    """Sine and cosine of ``a + ib``, from real functions.

    Compilers expand the complex operations into exponentials, which cancel near 0 and are nan where ``exp(b)``
    overflows.
    """

    def __init__(self, ctx: EqnContext, x: Value) -> None:
        self.aval = ctx.avals_in[0]
        self.part: ShapedArray = real_aval(self.aval)
        self.zero, self.two = ctx.constant(0, self.part), ctx.constant(2, self.part)
        a, b = self._apply("real", x), self._apply("imag", x)
        self.on_axis = compare("EQ", self.part, a, self.zero)
        self.sine, self.cosine = self._apply("sine", a), self._apply("cosine", a)
        up = self._apply("exponential_minus_one", b)
        down = self._apply("exponential_minus_one", self._apply("negate", b))
        self.sinh = self._apply("divide", self._apply("subtract", up, down), self.two)
        both = self._apply("add", self._apply("add", up, down), self.two)
        self.cosh = self._apply("divide", both, self.two)

    def _apply(self, name: str, *operands: Value) -> Value:
        return mlir.value(f"stablehlo.{name}", self.part, operands)

    def _zero_on_axis(self, v: Value) -> Value:
        # Where a is 0 one factor is 0, and the other may be infinite.
        return mlir.value("stablehlo.select", self.part, [self.on_axis, self.zero, v])

    def sin(self) -> Value:
        real = self._zero_on_axis(self._apply("multiply", self.sine, self.cosh))
        imag = self._apply("multiply", self.cosine, self.sinh)
        return mlir.value("stablehlo.complex", self.aval, [real, imag])

    def cos(self) -> Value:
        real = self._apply("multiply", self.cosine, self.cosh)
        negated = self._apply("negate", self.sine)
        imag = self._zero_on_axis(self._apply("multiply", negated, self.sinh))
        return mlir.value("stablehlo.complex", self.aval, [real, imag])


def _sine(operation: str, on_complex: Callable[[_ComplexSine], Value]) -> Callable[..., Value]:
    def rule(ctx: EqnContext, x: Value) -> Value:
        (aval,) = ctx.avals_in
        if aval.dtype.kind == "c":
            return on_complex(_ComplexSine(ctx, x))
        return mlir.value(operation, aval, [x])

    return rule


sin = rules.define(lowering, lax.sin_p)(_sine("stablehlo.sine", _ComplexSine.sin))
cos = rules.define(lowering, lax.cos_p)(_sine("stablehlo.cosine", _ComplexSine.cos))
