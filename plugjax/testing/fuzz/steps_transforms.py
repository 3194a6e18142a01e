"""Steps that transform a function of the program: derivatives and batches."""

from __future__ import annotations

from plugjax.testing.fuzz.program import Aval
from plugjax.testing.fuzz.scope import Inner, NothingFitsError, Scope, rule


def scalar(body: Inner) -> int:
    """A real scalar, the result of a body."""
    own = [r for step in body.steps for r in step.results if body.aval(r).kind in "fc"]
    number = own[-1] if own else body.parameters[0]
    template = "jnp.sum({0})" if body.aval(number).kind == "f" else "jnp.sum(jnp.real({0} * {0}))"
    if body.chance(0.4):
        template = template.replace("{0}", "jnp.sin({0})", 1) if body.aval(number).kind == "f" else template  # fmt: skip
    body.rule = "whole_reduction"
    return body.step(template, [number], level=2)[0]


def differentiable(scope: Scope) -> int:
    """A value for differentiation."""
    i = scope.array("f", most=2)
    if scope.aval(i).weak:
        raise NothingFitsError
    return i


@rule(4, nests=True)
def gradient(scope: Scope) -> None:
    operands = [differentiable(scope) for _ in range(scope.integer(1, 2))]
    body = scope.body([scope.aval(i) for i in operands], scope.integer(1, 4), reversible=True)
    closed = body.close([scalar(body)])
    names = ", ".join(f"{{{i}}}" for i in range(len(operands)))
    wrapped = scope.one_of(["{f0}", "{f0}", "jax.checkpoint({f0})", "jax.jit({f0})"])
    expression = f"jax.grad({wrapped}, argnums={tuple(range(len(operands)))})({names})"
    if len(operands) == 1:
        expression += "[0]"
    scope.step(expression, operands, [closed], results=len(operands), level=max(map(scope.level, operands)) + 1)  # fmt: skip


@rule(2, nests=True)
def tangent(scope: Scope) -> None:
    x = differentiable(scope)
    a = scope.aval(x)
    t = scope.want(lambda b: b == a, a.dtype, a.shape)
    body = scope.body([a], scope.integer(1, 4), forward=True)
    y = body.pick(lambda b: b.kind in "fc")
    template = scope.one_of(["jax.jvp({f0}, ({0},), ({1},))", "jax.jvp({f0}, ({0},), ({1},))", "(lambda p: (p[0], p[1]({1})))(jax.linearize({f0}, {0}))"])  # fmt: skip
    scope.step(template, [x, t], [body.close([y])], results=2, level=scope.level(x) + 1)  # fmt: skip


@rule(2, nests=True)
def pullback(scope: Scope) -> None:
    x = differentiable(scope)
    body = scope.body([scope.aval(x)], scope.integer(1, 4), reversible=True)
    y = body.pick(lambda b: b.kind == "f")
    b = body.aval(y)
    closed = body.close([y])
    weak = b.weak
    t = scope.want(lambda c: c == b, b.dtype, b.shape)
    if weak:
        raise NothingFitsError
    scope.step("jax.vjp({f0}, {0})[1]({1})[0]", [x, t], [closed], level=max(scope.level(x), scope.level(t)) + 1)  # fmt: skip


@rule(1, nests=True)
def jacobian(scope: Scope) -> None:
    x = scope.array("f", most=1)
    if scope.aval(x).weak or scope.aval(x).dtype != "float32":
        raise NothingFitsError
    second = scope.chance(0.5)
    body = scope.body([scope.aval(x)], scope.integer(1, 3), reversible=True, forward=True)
    if second:
        closed = body.close([scalar(body)])
        name = scope.one_of(["jax.hessian({f0})", "jax.jacrev(jax.grad({f0}))", "jax.grad(lambda z: jnp.sum(jax.grad({f0})(z) ** 2))"])  # fmt: skip
    else:
        closed = body.close([body.pick(lambda b: b.kind == "f" and len(b.shape) < 3)])
        name = scope.one_of(["jax.jacfwd({f0})", "jax.jacrev({f0})"])
    scope.step(f"{name}({{0}})", [x], [closed], level=scope.level(x) + 2)


@rule(4, nests=True)
def batch(scope: Scope) -> None:
    """``vmap`` over one or two operands, from any axis to any axis."""
    xs = scope.array(least=1)
    axis = scope.axis(xs)
    x = scope.aval(xs)
    n = x.shape[axis]
    if n == 0:
        raise NothingFitsError
    operands, axes = [xs], [str(axis)]
    parameters = [Aval(x.dtype, x.shape[:axis] + x.shape[axis + 1 :], x.weak)]
    if scope.chance(0.6):
        other = scope.array()
        b = scope.aval(other)
        places = [j for j, m in enumerate(b.shape) if m == n]
        place = scope.one_of([None, *places])
        operands.append(other)
        axes.append(str(place))
        parameters.append(b if place is None else Aval(b.dtype, b.shape[:place] + b.shape[place + 1 :], b.weak))  # fmt: skip
    body = scope.body(parameters, scope.integer(1, 4))
    y = body.pick()
    out = scope.integer(0, len(body.aval(y).shape))
    names = ", ".join(f"{{{i}}}" for i in range(len(operands)))
    expression = f"jax.vmap({{f0}}, in_axes=({', '.join(axes)},), out_axes={out})({names})"
    scope.step(expression, operands, [body.close([y])], level=max(map(scope.level, operands)))
