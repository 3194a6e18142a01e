"""Steps with bodies: loops, branches, calls."""

from __future__ import annotations

from plugjax.testing.fuzz.program import Aval
from plugjax.testing.fuzz.scope import Inner, NothingFitsError, Scope, rule


def like(scope: Inner, wanted: Aval) -> int:
    """A value of a type in a body: a late one of its shape, or one of the type combined with a value of the body.

    For a carry the last parameter of the type always exists.
    """
    late = [
        i
        for i in scope.visible
        if scope.aval(i).shape == wanted.shape and i not in scope.parameters
    ]
    own = {r for step in scope.steps for r in step.results}
    late = [i for i in late if i in own and (scope.aval(i).kind != "c" or wanted.kind == "c")]
    scope.rule = "conversion"
    if late:
        number = late[-1] if scope.chance(0.7) else scope.one_of(late)
        if (scope.aval(number).dtype, scope.aval(number).weak) == (wanted.dtype, wanted.weak):
            return number
        return scope.step(f"{{0}}.astype('{wanted.dtype}')", [number], level=2)[0]
    base = next(i for i in reversed(scope.visible) if scope.aval(i) == wanted)
    computed = [i for i in scope.visible if i in own and scope.aval(i).kind in "biuf"]
    if not computed or wanted.kind == "b":
        return base
    total = f"{{0}} * 0.5 + jnp.tanh(jnp.sum({{1}}.astype('float32'))).astype('{wanted.dtype}')"
    template = (
        total if wanted.kind in "fc" else f"{{0}} + jnp.any({{1}} != 0).astype('{wanted.dtype}')"
    )
    return scope.step(f"({template}).astype('{wanted.dtype}')", [base, computed[-1]], level=2)[0]


def carry(scope: Scope) -> int:
    """A value for the carry of a loop: without weak type."""
    i = scope.array("biufc", most=2)
    if scope.aval(i).weak:
        raise NothingFitsError
    return i


def unroll(scope: Scope) -> str:
    """The option ``unroll`` of a loop."""
    return str(scope.one_of(["1", "1", "2", "3", "True"]))


@rule(2.5, nests=True)
def fori_loop(scope: Scope) -> None:
    c = carry(scope)
    a = scope.aval(c)
    # A bound that is an array makes a while loop, whose index has the array's type.
    counted = scope.chance(0.75) or scope.reversible
    body = scope.body([Aval("int32", (), weak=counted), a], scope.integer(1, 3))
    result = like(body, a)
    low, high = scope.one_of([(0, 3), (0, 4), (0, 0), (0, 1), (1, 3), (2, 1), (-1, 1)])
    given = unroll(scope)
    if not counted:
        n = scope.input(Aval("int32", ()), [str(scope.integer(0, 4))])
        scope.step(f"lax.fori_loop({low}, {{1}}, {{f0}}, {{0}})", [c, n], [body.close([result])], level=scope.level(c) + 1)  # fmt: skip
        return
    scope.step(f"lax.fori_loop({low}, {high}, {{f0}}, {{0}}, unroll={given})", [c], [body.close([result])], level=scope.level(c) + 1)  # fmt: skip


@rule(3.5, nests=True)
def scan(scope: Scope) -> None:
    c = carry(scope)
    a = scope.aval(c)
    xs = scope.array(least=1, most=3)
    x = scope.aval(xs)
    body = scope.body([a, Aval(x.dtype, x.shape[1:], x.weak)], scope.integer(1, 4))
    result = like(body, a)
    y = body.pick()
    extra = f"reverse={scope.chance(0.3)}, unroll={unroll(scope)}"
    if x.shape[0] == 0:
        extra = "unroll=1"
    scope.step(f"lax.scan({{f0}}, {{0}}, {{1}}, {extra})", [c, xs], [body.close([result, y])], results=2, level=max(scope.level(c), scope.level(xs)) + 1)  # fmt: skip


@rule(1, nests=True)
def two_carries(scope: Scope) -> None:
    """A scan with two carries and a length."""
    c, d = carry(scope), carry(scope)
    a, b = scope.aval(c), scope.aval(d)
    body = scope.body([a, b], scope.integer(1, 4))
    results = [like(body, a), like(body, b)]
    if scope.chance(0.3) and a == b:
        results.reverse()
    expression = f"lax.scan(lambda c, _: ({{f0}}(*c), c[0]), ({{0}}, {{1}}), None, length={scope.integer(0, 4)}, unroll={scope.one_of([1, 2])})"  # fmt: skip
    scope.step(f"jax.tree.leaves({expression})", [c, d], [body.close(results)], results=3, level=max(scope.level(c), scope.level(d)) + 1)  # fmt: skip


@rule(2, nests=True)
def while_loop(scope: Scope) -> None:
    """A loop whose condition counts and reads a value of the body."""
    if scope.reversible:
        raise NothingFitsError
    c = carry(scope)
    a = scope.aval(c)
    count = Aval("int32", ())
    condition = scope.body([count, a], scope.integer(0, 1))
    condition.rule = "operator"
    go = condition.step("{0} < " + str(scope.integer(0, 4)), [condition.parameters[0]])[0]
    if a.kind in "biuf" and scope.chance(0.5):
        more = condition.step("jnp.any({0} < 2)", [condition.parameters[1]])[0]
        go = condition.step("{0} & {1}", [go, more])[0]
    body = scope.body([count, a], scope.integer(1, 3))
    result = like(body, a)
    body.rule = "operator"
    advanced = body.step("{0} + 1", [body.parameters[0]])[0]
    expression = "lax.while_loop(lambda c: {f0}(*c), lambda c: {f1}(*c), (np.int32(0), {0}))"
    scope.step(expression, [c], [condition.close([go]), body.close([advanced, result])], results=2, level=scope.level(c) + 1)  # fmt: skip


@rule(1.5, nests=True)
def mapping(scope: Scope) -> None:
    xs = scope.array(least=1, most=3)
    x = scope.aval(xs)
    body = scope.body([Aval(x.dtype, x.shape[1:], x.weak)], scope.integer(1, 3))
    batch = ""
    if x.shape[0] > 1 and scope.chance(0.3):
        batch = f", batch_size={scope.integer(1, x.shape[0])}"
    scope.step(f"lax.map({{f0}}, {{0}}{batch})", [xs], [body.close([body.pick()])], level=scope.level(xs) + 1)  # fmt: skip


@rule(2.5, nests=True)
def cond(scope: Scope) -> None:
    c = carry(scope)
    a = scope.aval(c)
    bodies = [scope.body([a], scope.integer(0, 3)) for _ in range(2)]
    closed = [body.close([like(body, a)]) for body in bodies]
    p = scope.want(lambda b: b.shape == () and b.kind == "b", "bool", ())
    scope.step("lax.cond({1}, {f0}, {f1}, {0})", [c, p], closed, level=scope.level(c) + 1)


@rule(1.5, nests=True)
def switch(scope: Scope) -> None:
    c = carry(scope)
    a = scope.aval(c)
    closed = []
    for _ in range(scope.integer(1, 3)):
        body = scope.body([a], scope.integer(0, 2))
        closed.append(body.close([like(body, a)]))
    p = scope.want(lambda b: b.shape == () and b.dtype == "int32", "int32", ())
    names = ", ".join(f"{{f{i}}}" for i in range(len(closed)))
    scope.step(f"lax.switch({{1}}, [{names}], {{0}})", [c, p], closed, level=scope.level(c) + 1)


@rule(2, nests=True)
def call(scope: Scope) -> None:
    """A function under ``jit``, ``checkpoint`` or a name."""
    operands = [scope.array() for _ in range(scope.integer(1, 2))]
    body = scope.body([scope.aval(i) for i in operands], scope.integer(1, 3))
    count = scope.integer(1, 2)
    results = [body.pick() for _ in range(count)]
    wrapper = scope.one_of(["jax.jit", "jax.jit", "jax.checkpoint", "jax.named_call"])
    names = ", ".join(f"{{{i}}}" for i in range(len(operands)))
    scope.step(f"{wrapper}({{f0}})({names})", operands, [body.close(results)], results=count)


@rule(1, nests=True)
def ruled_call(scope: Scope) -> None:
    """A function with a custom derivative."""
    x = scope.array("f", most=2)
    a = scope.aval(x)
    if a.weak:
        raise NothingFitsError
    body, derivative = (
        scope.body([a], scope.integer(1, 3), reversible=True, ruled=True) for _ in range(2)
    )
    closed = [body.close([like(body, a)]), derivative.close([like(derivative, a)])]
    if scope.forward or scope.chance(0.5):
        # The derivative is a factor, so it is linear in the tangent.
        given = "type('F', (), {{'f': (h := jax.custom_jvp({f0})), 'r': h.defjvp(lambda p, t: ({f0}(*p), {f1}(*p) * t[0]))}}).f"  # fmt: skip
    else:
        given = "type('F', (), {{'f': (h := jax.custom_vjp({f0})), 'r': h.defvjp(lambda x: ({f0}(x), {f1}(x)), lambda r, t: (r * t,))}}).f"  # fmt: skip
    scope.step(f"{given}({{0}})", [x], closed, level=scope.level(x) + 1)
