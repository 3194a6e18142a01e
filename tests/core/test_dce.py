"""Dead code inside of loops and branches: what is dropped, what stays, and that values are unchanged."""

import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp
from plugjax import lax
from plugjax.core.jaxpr import eval_closed
from plugjax.transforms.dce import dce
from plugjax.transforms.jaxpr_check import check_jaxpr

X = np.float32(0.5)


def while_with_a_dead_carry(x):
    """The second carry is read by itself and by the third only; neither is a result."""

    def body(carry):
        i, a, b, y = carry
        return i + 1, jnp.sin(a), b + a * x, y * x

    return lax.while_loop(lambda carry: carry[0] < 3, body, (0, x, x, x))[3]


def while_whose_condition_reads(x):
    return lax.while_loop(
        lambda c: c[0] < 3.0, lambda c: (c[0] + c[1], c[1] * 1.5, c[2]), (x, x, x)
    )[2]


def scan_with_a_dead_carry(x):
    def body(carry, row):
        return (carry[0] * row, jnp.sin(carry[1])), jnp.cos(row)

    return lax.scan(body, (x, x), jnp.arange(3.0))[0][0]


def branches_with_a_dead_result(x):
    branch = lambda f: lambda y: (f(y), jnp.sin(y) * x)  # noqa: E731
    return lax.cond(x > 0, branch(jnp.exp), branch(jnp.tanh), x)[0]


def loop_in_a_loop(x):
    def body(i, carry):
        a, b = lax.fori_loop(0, i, lambda _, c: (c[0] * x, jnp.sin(c[1])), (carry[0], carry[1]))
        return a, b

    return lax.while_loop(lambda c: c[0] < 2, lambda c: (c[0] + 1, *body(c[0], c[1:])), (0, x, x))[
        1
    ]


DEAD = {
    while_with_a_dead_carry: "sin",
    scan_with_a_dead_carry: "sin",
    branches_with_a_dead_result: "sin",
    loop_in_a_loop: "sin",
    while_whose_condition_reads: None,
}


@pytest.mark.parametrize("function", DEAD, ids=lambda f: f.__name__)
def test_what_nobody_reads_is_dropped(function):
    program = plugjax.make_jaxpr(function)(X)
    pruned = dce(program)
    check_jaxpr(pruned)
    if DEAD[function] is not None:
        assert f"{DEAD[function]} " in str(program)
        assert f"{DEAD[function]} " not in str(pruned)
    before, after = (plugjax.extend.core.jaxpr_as_fun(p)(X) for p in (program, pruned))
    np.testing.assert_array_equal(before, after)


def test_what_the_condition_reads_stays():
    (loop,) = dce(plugjax.make_jaxpr(while_whose_condition_reads)(X)).eqns
    assert len(loop.outvars) == 3


def test_constants_of_a_dead_carry_are_no_operands_any_more():
    def f(x, unread):
        return lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * unread), (0, x))[0]

    (loop,) = dce(plugjax.make_jaxpr(f)(X, X)).eqns
    assert len(loop.invars) == 1


def test_effects_in_a_loop_stay(capsys):
    def f(x):
        def body(carry):
            plugjax.debug.print("a is {}", carry[1], ordered=True)
            return carry[0] + 1, carry[1] * 2, jnp.sin(carry[2])

        return lax.while_loop(lambda c: c[0] < 2, body, (0, x, x))[0]

    pruned = dce(plugjax.make_jaxpr(f)(X))
    assert "sin" not in str(pruned)
    plugjax.extend.core.jaxpr_as_fun(pruned)(X)
    plugjax.effects_barrier()
    assert capsys.readouterr().out == "a is 0.5\na is 1.0\n"


@pytest.mark.parametrize(
    "transform", [plugjax.jit, plugjax.vmap, lambda f: plugjax.jit(plugjax.vmap(f))]
)
def test_pruned_loops_under_transformations(transform, backend):
    xs = jnp.array([0.5, 0.25, 1.0])
    argument = xs if transform is not plugjax.jit else xs[0]
    expected = np.asarray(argument) ** 4
    with plugjax.default_device(plugjax.devices(backend)[0]):
        np.testing.assert_allclose(
            transform(while_with_a_dead_carry)(argument), expected, rtol=1e-6
        )


BODIES = {
    "scan": lambda x: lax.scan(lambda c, _: (jnp.cos(c), jnp.sin(c), c * 2)[1:2] * 2, x, None, 3),
    "while_loop": lambda x: lax.while_loop(
        lambda c: c < 3, lambda c: (jnp.cos(c), c + abs(jnp.sin(c)) + 1)[1], x
    ),
    "cond": lambda x: lax.cond(x > 0, lambda x: (jnp.cos(x), jnp.sin(x))[1], lambda x: x, x),
    "jit": plugjax.jit(lambda x: (jnp.cos(x), jnp.sin(x))[1]),
}


@pytest.mark.parametrize("name", BODIES)
def test_dead_code_in_bodies_whose_results_are_all_read(name):
    program = plugjax.make_jaxpr(BODIES[name])(1.0)
    pruned = dce(program)
    assert "cos" in str(program)
    assert "cos" not in str(pruned)
    assert "sin" in str(pruned)
    assert dce(pruned) is pruned
    np.testing.assert_array_equal(
        eval_closed(pruned, jnp.float32(1.0))[0], eval_closed(program, jnp.float32(1.0))[0]
    )
