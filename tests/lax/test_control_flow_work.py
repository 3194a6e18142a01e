"""Cost of tracing and differentiating control flow, and residuals of loops: counts, not times."""

import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp
from plugjax import lax
from plugjax.core.jaxpr import programs_in


def equations(jaxpr):
    """Equations of a program and its inner programs, each program counted once."""
    seen, left = set(), [jaxpr]
    total = 0
    while left:
        program = left.pop()
        if id(program) in seen:
            continue
        seen.add(id(program))
        total += len(program.jaxpr.eqns)
        for eqn in program.jaxpr.eqns:
            left.extend(programs_in(eqn.params))
    return total


def scans(depth, calls):
    """Loops nested ``depth`` deep, each with a carry that starts as a Python number."""

    def level(d, w, x):
        def body(carry, _):
            calls.append(d)
            inner = jnp.sin(carry * w) if d == 1 else level(d - 1, w, carry)
            return inner * w, jnp.float32(1) * inner

        last, ys = lax.scan(body, x, None, length=2)
        total, _ = lax.scan(lambda c, y: (c + y, None), 0.0, ys)
        return last + total

    return lambda w: level(depth, w, w)


def work(depth, transform):
    calls = []
    program = plugjax.make_jaxpr(transform(scans(depth, calls)))(np.float32(0.3))
    return len(calls), equations(program)


TRANSFORMS = {
    "trace": lambda f: f,
    "grad": plugjax.grad,
    "jvp": lambda f: lambda w: plugjax.jvp(f, (w,), (w,)),
    "grad of grad": lambda f: plugjax.grad(plugjax.grad(f)),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_work_of_nested_scans_grows_linearly_with_depth(name):
    found = [work(depth, TRANSFORMS[name]) for depth in (2, 3, 4, 5)]
    assert [calls for calls, _ in found] == [2, 3, 4, 5]
    steps = np.diff([size for _, size in found])
    assert steps.max() <= steps[0] + 2


@pytest.mark.parametrize("name", ["trace", "grad", "jvp"])
def test_work_of_nested_fori_loops_grows_linearly_with_depth(name):
    def nested(depth, calls):
        def level(d, w, x):
            def body(i, y):
                calls.append(d)
                return jnp.tanh(y * w) if d == 1 else level(d - 1, w, y)

            return lax.fori_loop(0, 3, body, x)

        return lambda w: level(depth, w, 1.0)

    sizes = []
    for depth in (2, 3, 4, 5):
        calls = []
        program = plugjax.make_jaxpr(TRANSFORMS[name](nested(depth, calls)))(np.float32(0.3))
        assert len(calls) == depth
        sizes.append(equations(program))
    steps = np.diff(sizes)
    assert steps.max() <= steps[0] + 2


@pytest.mark.parametrize("kind", ["while", "cond"])
def test_bodies_of_nested_whiles_and_conds_run_once_each(kind):
    calls = []

    def level(d, x):
        def body(y):
            calls.append(d)
            return jnp.sin(y) if d == 1 else level(d - 1, y)

        if kind == "cond":
            return lax.cond(x > 0, body, lambda y: y, x)
        return lax.while_loop(lambda y: y > 3, body, x)

    plugjax.make_jaxpr(lambda x: plugjax.jvp(lambda y: level(5, y), (x,), (x,)))(1.0)
    assert len(calls) == 5


def stacked(f, *args):
    """Shapes that the forward loop of a gradient stacks, per step."""
    program = plugjax.make_jaxpr(plugjax.grad(f, argnums=tuple(range(len(args)))))(*args)
    forward = next(e for e in program.eqns if e.primitive is lax.scan_p)
    count = forward.params["num_carry"]
    return sorted(aval.shape for aval in forward.params["jaxpr"].out_avals[count:])


W, XS, H = np.eye(4, dtype=np.float32), np.ones((7, 4), np.float32), np.zeros(4, np.float32)


def test_constants_are_not_stacked():
    def f(w, xs):
        last, _ = lax.scan(lambda h, x: (w @ h + x, None), jnp.asarray(H), xs)
        return last.sum()

    # The product needs w, which is a constant, and h at the start of a step.
    assert stacked(f, W, XS) == [(4,)]


def test_what_comes_of_constants_alone_is_not_stacked():
    def f(w, xs):
        last, _ = lax.scan(lambda h, x: (jnp.exp(jnp.sin(w)) @ h + x, None), jnp.asarray(H), xs)
        return last.sum()

    assert stacked(f, W, XS) == [(4,)]


def test_results_that_are_residuals_are_stacked_once():
    def f(w, xs):
        def step(h, x):
            h = jnp.exp(x + h)
            return h, h

        _, ys = lax.scan(step, jnp.asarray(H), xs)
        return (w * ys[-1]).sum()

    assert stacked(f, W, XS) == [(4,)]


def test_slices_of_xs_are_not_stacked_again():
    def f(w, xs):
        last, _ = lax.scan(lambda h, x: (h + w * jnp.sum(x * x), None), jnp.zeros((4, 4)), xs)
        return last.sum()

    # The square needs x; the product needs the sum.
    assert stacked(f, W, XS) == [()]


def test_a_linear_body_stacks_nothing():
    def f(w, xs):
        last, _ = lax.scan(lambda h, x: (2 * h + x, None), jnp.asarray(H), xs)
        return (last * w).sum()

    assert stacked(f, W, XS) == []
