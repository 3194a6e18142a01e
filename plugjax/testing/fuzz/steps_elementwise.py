"""Elementwise steps: functions, operators, stretched operands, conversions."""

from __future__ import annotations

import numpy as np

from plugjax.testing.fuzz.program import Aval
from plugjax.testing.fuzz.scope import NothingFitsError, Scope, rule

# Domains in which a function is defined and moderate; programs of special values mostly ignore
# them.
ANY, POSITIVE, UNIT, MODEST = "{0}", "(jnp.abs({0}) + 0.5)", "(jnp.tanh({0}) * 0.75)", "jnp.clip({0}, -3, 3)"  # fmt: skip

# (function, kinds of dtype, domain, level that it adds).
FUNCTIONS = [
    ("jnp.sin({0})", "fc", ANY, -9),
    ("jnp.cos({0})", "fc", ANY, -9),
    ("jnp.tan({0})", "fc", UNIT, 0),
    ("jnp.sinh({0})", "fc", MODEST, 1),
    ("jnp.cosh({0})", "fc", MODEST, 1),
    ("jnp.tanh({0})", "fc", ANY, -9),
    ("jnp.exp({0})", "fc", MODEST, 1),
    ("jnp.exp2({0})", "f", MODEST, 1),
    ("jnp.expm1({0})", "fc", MODEST, 1),
    ("jnp.log({0})", "fc", POSITIVE, 0),
    ("jnp.log2({0})", "f", POSITIVE, 0),
    ("jnp.log1p({0})", "fc", POSITIVE, 0),
    ("jnp.sqrt({0})", "fc", POSITIVE, 0),
    ("lax.rsqrt({0})", "fc", POSITIVE, 0),
    ("jnp.cbrt({0})", "f", ANY, 0),
    ("jnp.square({0})", "iufc", ANY, 1),
    ("jnp.reciprocal({0})", "fc", POSITIVE, 0),
    ("lax.logistic({0})", "fc", ANY, -9),
    ("jnp.asin({0})", "fc", UNIT, 0),
    ("jnp.acos({0})", "fc", UNIT, 0),
    ("jnp.atan({0})", "fc", UNIT, 0),
    ("jnp.asinh({0})", "fc", ANY, 0),
    ("jnp.acosh({0})", "fc", "(jnp.abs({0}) + 1.5)", 0),
    ("jnp.atanh({0})", "fc", UNIT, 0),
    ("lax.erf({0})", "f", ANY, -9),
    ("lax.erfc({0})", "f", ANY, -9),
    ("lax.erf_inv({0})", "f", UNIT, 0),
    ("lax.lgamma({0})", "f", POSITIVE, 1),
    ("lax.digamma({0})", "f", POSITIVE, 1),
    ("jnp.sinc({0})", "f", ANY, -9),
    ("jnp.deg2rad({0})", "f", ANY, 0),
    ("{0} ** 2", "iufc", ANY, 1),
    ("{0} ** 3", "iufc", ANY, 2),
    ("{0} ** -1", "fc", POSITIVE, 0),
    ("{0} ** 0.5", "f", POSITIVE, 0),
    ("lax.integer_pow({0}, 3)", "iufc", ANY, 2),
    ("1 - {0} * 2", "iufc", ANY, 0),
    ("{0} / 3", "iufc", ANY, 0),
    ("2.5 - {0}", "fc", ANY, 0),
    ("jax.nn.relu({0})", "f", ANY, 0),
    ("jax.nn.gelu({0})", "f", ANY, 0),
    ("jax.nn.silu({0})", "f", ANY, 0),
    ("jax.nn.elu({0})", "f", ANY, 0),
    ("jax.nn.softplus({0})", "f", ANY, 0),
    ("jax.nn.log_sigmoid({0})", "f", ANY, 0),
    ("jnp.abs({0})", "c", ANY, 0),
    ("jnp.angle({0})", "fc", ANY, 0),
]
SIMPLE = [
    ("-{0}", "iufc"),
    ("jnp.abs({0})", "iuf"),
    ("jnp.sign({0})", "iuf"),
    ("jnp.floor({0})", "f"),
    ("jnp.ceil({0})", "f"),
    ("jnp.round({0})", "f"),
    ("jnp.trunc({0})", "f"),
    ("jnp.positive({0})", "iufc"),
    ("jnp.isnan({0})", "fc"),
    ("jnp.isfinite({0})", "fc"),
    ("jnp.isinf({0})", "fc"),
    ("jnp.signbit(jnp.nan_to_num({0}))", "f"),
    ("jnp.nan_to_num({0})", "fc"),
    ("jnp.real({0})", "fc"),
    ("jnp.imag({0})", "fc"),
    ("jnp.conj({0})", "fc"),
    ("jnp.invert({0})", "biu"),
    ("jnp.logical_not({0})", "biufc"),
    ("lax.population_count({0})", "iu"),
    ("lax.clz({0})", "iu"),
    ("jnp.clip({0}, -1, 2)", "if"),
    ("jnp.where({0} > 0, {0}, 0)", "iuf"),
    ("jnp.where({0} != 0, 2.0, {0})", "f"),
    ("jax.nn.relu({0})", "if"),
    ("jax.nn.hard_tanh({0})", "f"),
    ("lax.stop_gradient({0})", "biufc"),
    ("lax.optimization_barrier({0})", "biufc"),
    ("jax.jit(lambda x: x)({0})", "biufc"),
]


@rule(4)
def function(scope: Scope) -> None:
    expression, kinds, domain, grows = scope.one_of(FUNCTIONS)
    i = scope.array(kinds)
    if scope.aval(i).kind in "iu":
        domain = ANY
    elif not scope.shared.special or scope.chance(0.3):
        if scope.level(i) > 2 and domain == ANY and grows > 0:
            domain = "jnp.tanh({0})"
    else:
        domain = ANY
    if scope.aval(i).kind == "c" and domain == MODEST:
        domain = "jnp.sin({0})"
    level = max(1, scope.level(i) + grows) if domain == ANY else 1 + max(grows, 0)
    scope.step(expression.replace("{0}", domain), [i], level=level)


@rule(2)
def simple_function(scope: Scope) -> None:
    expression, kinds = scope.one_of(SIMPLE)
    scope.step(expression, [scope.array(kinds)])


# (operator, kinds, level that it adds).
BINARY = [
    ("{0} + {1}", "iufc", 0),
    ("{0} + {1}", "iufc", 0),
    ("{0} - {1}", "iufc", 0),
    ("{0} * {1}", "biufc", 1),
    ("{0} * {1}", "biufc", 1),
    ("{0} / {1}", "iufc", 1),
    ("{0} / (1 + jnp.abs({1}))", "iuf", 0),
    ("jnp.maximum({0}, {1})", "biuf", 0),
    ("jnp.minimum({0}, {1})", "biuf", 0),
    ("jnp.fmax({0}, {1})", "iuf", 0),
    ("{0} ** {1}", "f", 2),
    ("(jnp.abs({0}) + 0.5) ** jnp.sin({1})", "f", 1),
    ("{0} ** jnp.abs({1} % 4)", "iu", 2),
    ("jnp.arctan2({0}, {1})", "f", 0),
    ("jnp.hypot({0}, {1})", "f", 0),
    ("jnp.logaddexp({0}, {1})", "f", 0),
    ("{0} % {1}", "iuf", 0),
    ("lax.rem({0}, {1})", "iuf", 0),
    ("jnp.fmod({0}, {1})", "iuf", 0),
    ("{0} // {1}", "iuf", 1),
    ("lax.div({0}, {1})", "iuf", 1),
    ("jnp.copysign({0}, jnp.nan_to_num({1}))", "f", 0),
    ("lax.nextafter({0}, {1})", "f", 0),
    ("jnp.heaviside({0}, {1})", "f", 0),
    ("jnp.gcd({0}, {1})", "iu", 0),
    ("lax.complex({0}, {1})", "f32", 0),
    ("{0} == {1}", "biufc", 0),
    ("{0} != {1}", "biufc", 0),
    ("{0} < {1}", "biuf", 0),
    ("{0} >= {1}", "biuf", 0),
    ("{0} & {1}", "biu", 0),
    ("{0} | {1}", "biu", 0),
    ("{0} ^ {1}", "biu", 0),
    ("{0} << {1}", "iu", 0),
    ("{0} >> {1}", "iu", 0),
    ("lax.shift_right_logical({0}, {1})", "iu", 0),
    ("jnp.where({0} > {1}, {0}, {1})", "biuf", 0),
    ("jnp.where({0} < {1}, 1, {1})", "biuf", 0),
]
SAME_TYPE = ("lax.", "jnp.copysign", "jnp.nextafter")


def stretchable(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    """Whether two shapes broadcast."""
    pairs = zip(reversed(a), reversed(b), strict=False)
    return all(m == n or 1 in (m, n) for m, n in pairs)


def beside(scope: Scope, shape: tuple[int, ...]) -> tuple[int, ...]:
    """A shape that broadcasts with another one."""
    kept = shape[scope.integer(0, len(shape)) :] if shape and scope.chance(0.5) else shape
    return tuple(1 if scope.chance(0.3) else n for n in kept)


@rule(6)
def operator(scope: Scope) -> None:
    expression, kinds, grows = scope.one_of(BINARY)
    needs = "f" if kinds == "f32" else kinds
    i = scope.array(needs)
    a = scope.aval(i)
    if kinds == "f32" and a.dtype not in ("float32", "float64"):
        raise NothingFitsError
    if "nextafter" in expression and scope.differentiated:
        raise NothingFitsError
    # An exponent that is a known integer does not promote the base. Use one type; otherwise the
    # result's type would depend on `jit`.
    strict = expression.startswith(SAME_TYPE) or (kinds == "iu" and "**" in expression)

    def fits(b: Aval) -> bool:
        if strict:
            return b.shape == a.shape and b.dtype == a.dtype
        return b.kind in needs and stretchable(a.shape, b.shape)

    k = scope.want(fits, a.dtype if strict or scope.chance(0.7) else scope.dtype(needs), a.shape if strict else beside(scope, a.shape))  # fmt: skip
    if not strict and scope.chance(0.5):
        i, k = k, i
    scope.step(expression, [i, k], level=max(scope.level(i), scope.level(k)) + grows)


@rule(2)
def number_operator(scope: Scope) -> None:
    i = scope.array("iuf")
    number = scope.one_of([0, 1, 2, 3] if scope.aval(i).kind == "u" else [-2, -1, 0, 1, 2, 3])
    if scope.aval(i).kind == "f" and scope.chance(0.5):
        number = scope.one_of([-1.5, 0.5, 0.25, 3.0])
    expression, _, grows = scope.one_of([b for b in BINARY[:18] if "u" in b[1]])
    if "**" in expression or expression.startswith(SAME_TYPE):
        raise NothingFitsError
    place = scope.integer(0, 1)
    template = expression.replace(f"{{{place}}}", f"({number})").replace("{1}", "{0}")
    scope.step(template, [i], level=scope.level(i) + grows)


@rule(2)
def choice(scope: Scope) -> None:
    i = scope.array()
    shape = scope.aval(i).shape
    k = scope.want(lambda b: stretchable(shape, b.shape), scope.aval(i).dtype, beside(scope, shape))
    both = np.broadcast_shapes(shape, scope.aval(k).shape)
    condition = scope.want(
        lambda b: b.kind == "b" and stretchable(both, b.shape), "bool", beside(scope, both)
    )
    scope.step("jnp.where({0}, {1}, {2})", [condition, i, k])


@rule(1)
def selection(scope: Scope) -> None:
    i = scope.array()
    a = scope.aval(i)
    k, l = (
        scope.want(lambda b: (b.dtype, b.shape) == (a.dtype, a.shape), a.dtype, a.shape)
        for _ in range(2)
    )
    which = scope.input(Aval("int32", a.shape), [str(scope.integer(0, 2)) for _ in range(a.size)])
    scope.step("lax.select_n({0}, {1}, {2}, {3})", [which, i, k, l])


@rule(1)
def clamp(scope: Scope) -> None:
    i = scope.array("iuf")
    a = scope.aval(i)
    # JAX has no derivative by a scalar bound of an array.
    shapes = [a.shape] if scope.differentiated else [(), a.shape]
    low, high = (
        scope.want(lambda b: b.dtype == a.dtype and b.shape in shapes, a.dtype, shapes[0])
        for _ in range(2)
    )
    scope.step("lax.clamp({0}, {1}, {2})", [low, i, high])


@rule(3)
def conversion(scope: Scope) -> None:
    i = scope.array()
    to = scope.dtype("biuf" if scope.aval(i).kind != "c" else "c")
    if scope.aval(i).kind == "f" and to.startswith("uint") and not scope.shared.special:
        raise NothingFitsError
    scope.step(f"{{0}}.astype('{to}')", [i])


@rule(0.7)
def reinterpretation(scope: Scope) -> None:
    i = scope.array("iuf")
    bits = {"8": ["int8", "uint8"], "16": ["int16", "uint16", "float16", "bfloat16"], "32": ["int32", "uint32", "float32"], "64": ["int64", "uint64", "float64"]}  # fmt: skip
    dtype = scope.aval(i).dtype
    if scope.aval(i).weak:
        raise NothingFitsError
    names = next(names for names in bits.values() if dtype in names)
    to = scope.one_of(
        [n for n in names if not (scope.reversible and Aval(n, ()).kind == "f")] or names
    )
    if Aval(to, ()).kind == "f" and not scope.shared.special:
        raise NothingFitsError
    # The sign and the payload of a nan are unspecified.
    value = "jnp.where(jnp.isnan({0}), 1, {0})" if scope.aval(i).kind == "f" else "{0}"
    scope.step(f"lax.bitcast_convert_type({value}, '{to}')", [i])


@rule(1.5)
def squash(scope: Scope) -> None:
    i = scope.array("f")
    scope.step(scope.one_of(["jnp.tanh({0})", "jnp.sin({0})", "jax.nn.sigmoid({0})", "{0} / (1 + jnp.abs({0}))"]), [i], level=1)  # fmt: skip


@rule(0.7)
def constant(scope: Scope) -> None:
    shape, dtype = scope.shape(), scope.dtype()
    expressions = [
        f"jnp.zeros({shape}, '{dtype}')",
        f"jnp.ones({shape}, '{dtype}')",
        f"jnp.full({shape}, 3, '{dtype}')",
    ]
    kind = Aval(dtype, ()).kind
    if kind != "b":
        expressions.append(f"jnp.arange({scope.integer(0, 5)}, dtype='{dtype}')")
        expressions.append(f"jnp.eye({scope.integer(0, 3)}, {scope.integer(1, 4)}, k={scope.integer(-1, 1)}, dtype='{dtype}')")  # fmt: skip
        if shape:
            expressions.append(f"lax.broadcasted_iota('{dtype}', {shape}, {scope.integer(0, len(shape) - 1)})")  # fmt: skip
    if kind == "f":
        expressions.append(f"jnp.linspace(-1, 2, {scope.integer(0, 5)}, dtype='{dtype}')")
    expression = scope.one_of(expressions)
    scope.step(expression, [])
