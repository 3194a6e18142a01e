"""Loops that IREE 3.13 refuses, or ends the process on, when they are written as they are."""

import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp
from plugjax import lax
from plugjax_iree import workarounds

X = np.array([1, 2], np.float32)
START = np.array([0.7, -0.4, 1.1], np.float32)


def only_the_condition_reads_it(x):
    return lax.while_loop(lambda s: ~s[1], lambda s: (s[0] / 2, s[0].sum() < 0.5), (x, False))


def equal_constants_go_in(x):
    return lax.while_loop(
        lambda s: ~(s[1] | s[2]),
        lambda s: (s[0] / 2, s[0].sum() < 0.5, s[0].max() > 99),
        (x, False, False),
    )


def not_all_that_comes_out_is_used(x):
    return lax.while_loop(
        lambda s: (s[1] > 0.1) & (s[2] < 9),
        lambda s: (s[0] / 2, (s[0] ** 2).sum(), s[2] + 1),
        (x, jnp.float32(1), 0),
    )[0]


def siblings_choose(x):
    def keep(s):
        return s[1].sum() + lax.max(s[1], -s[0]).sum() * 1e-6 < 10

    def body(s):
        a, b, c, d = s
        k = keep(s)
        return (
            a * 2 + 1,
            b * 2 + 1,
            jnp.where(k, c, jnp.minimum(c, a)),
            jnp.where(k, d, jnp.maximum(d, b)),
        )

    return lax.while_loop(lambda s: s[0].sum() < 10, body, (x, x + 1, x, x + 1))


def two_loops_from_one_value(x):
    zeros = jnp.zeros_like(x)
    first = lax.while_loop(lambda s: s[1].sum() < 9, lambda s: (s[0] + 1, s[1] + x), (zeros, zeros))
    return first, lax.while_loop(lambda s: s[1] < 3, lambda s: (s[0] - x, s[1] + 1), (zeros, 0))


LOOPS = [
    only_the_condition_reads_it,
    equal_constants_go_in,
    not_all_that_comes_out_is_used,
    siblings_choose,
    two_loops_from_one_value,
]


def branches_are_given_it_in_vain(x):
    """As solvers are written: each step gets the whole state, and reads the half of it."""

    def one(x, error):
        return x / 2, (x**2).sum()

    def other(x, error):
        return x / 3, (x**2).max()

    return lax.while_loop(
        lambda s: s[1] > 0.1, lambda s: lax.cond(s[0][0] > 0.3, one, other, *s), (x, x.sum())
    )


def test_branches_that_do_not_read_what_the_condition_reads(agrees):
    agrees(branches_are_given_it_in_vain, X, rtol=1e-6, atol=1e-6)
    agrees(
        lambda x: lax.fori_loop(0, 3, lambda i, x: x + branches_are_given_it_in_vain(x)[1], x),
        X,
        rtol=1e-6,
        atol=1e-6,
    )


@pytest.mark.parametrize("length", [6, 7])
def test_steps_at_a_time_that_pass_on_a_row_of_zeros(length, agrees, changes):
    """The row is the same for all steps, as IREE finds, and the carry has no other value after the first step."""

    def program(x):
        rows = jnp.zeros((length, x.size)) + jnp.sum(jnp.broadcast_to(x, (0, x.size)))
        return lax.scan(
            lambda c, row: ((c[0] + jnp.cumsum(c[1]), row), None), (x, x * 2), rows, unroll=2
        )[0]

    agrees(program, X, rtol=1e-6, atol=1e-6)
    assert "one_by_one" not in changes


@pytest.mark.parametrize("given", ["%t", "%s"], ids=["one carry", "two carries"])
def test_loops_with_carries_that_the_body_does_not_read(given, compiled):
    """The logarithm is moved out of the loop, which becomes one that tests at its end; the body does not read %l, nor %e if that becomes %s."""
    compiled(
        f"""func.func public @main(%a: tensor<6xf32>, %b: tensor<f32>) -> (tensor<6xf32>, tensor<f32>, tensor<f32>) {{
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %0:3 = stablehlo.while(%x = %a, %e = %b, %l = %b) : tensor<6xf32>, tensor<f32>, tensor<f32>
  cond {{
    %c = stablehlo.compare GT, %e, %one : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }} do {{
    %x2 = stablehlo.multiply %x, %x : tensor<6xf32>
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %s = stablehlo.reduce(%x2 init: %z) applies stablehlo.add across dimensions = [0] : (tensor<6xf32>, tensor<f32>) -> tensor<f32>
    %t = stablehlo.multiply %s, %e : tensor<f32>
    %log = stablehlo.log %b : tensor<f32>
    %u = stablehlo.add %s, %log : tensor<f32>
    stablehlo.return %x2, {given}, %u : tensor<6xf32>, tensor<f32>, tensor<f32>
  }}
  return %0#0, %0#1, %0#2 : tensor<6xf32>, tensor<f32>, tensor<f32>
}}"""
    )


def test_loops_around_loops_that_do_not_read_their_carries(agrees):
    """Without verification of results each pass is verified; the inner loop runs, so the carry of the outer one is not read."""

    def program(x, a, go):
        def step(c):
            return lax.scan(lambda h, _: ((a + a).astype("int32"), None), c, None, 5, unroll=3)[0]

        return lax.while_loop(lambda c: go & jnp.any(c < 2), step, x)

    with plugjax.config.override("fallback", "error"), plugjax.config.override("verify", "off"):
        for go in (np.bool_(False), np.bool_(True)):
            agrees(program, np.zeros(1, "int32"), np.full(1, 7, "int16"), go, rtol=0, atol=0)


def test_loops():
    def together(x):
        return [loop(x) for loop in LOOPS]

    with plugjax.default_device("numpy"):
        expected = plugjax.tree.leaves(together(X))
    with plugjax.default_device("iree"):
        found = plugjax.tree.leaves(plugjax.jit(together)(X))
    for x, y in zip(found, expected, strict=True):
        assert x.dtype == y.dtype
        np.testing.assert_array_equal(x, y)


def grown(c):
    return lax.while_loop(lambda v: v < 3, lambda v: v * v + 1, c)


def two_loops_that_end_in_loops(x):
    """What the first gives is read by the second, whose last step has nothing to wait for."""
    c, (p, q) = lax.scan(lambda c, a: (grown(c * a), (c * a, c)), x[0], x)
    return lax.scan(
        lambda c, a: ((grown(c[0] * a[0]), grown(c[1] + a[1])), None), (c, x[0]), (p, q)
    )


def tangents_of_loops_in_a_loop(x):
    _, tangents = plugjax.linearize(
        lambda x: lax.scan(lambda c, a: (grown(c * a), c), x[0], x), x * 1.0
    )
    return tangents(x)


@pytest.mark.parametrize("program", [two_loops_that_end_in_loops, tangents_of_loops_in_a_loop])
def test_loops_that_end_in_loops(program):
    """Each in a module of its own: others change what the compiler makes of it."""
    with plugjax.default_device("numpy"):
        expected = plugjax.tree.leaves(program(jnp.asarray(START)))
    with plugjax.default_device("iree"):
        found = plugjax.tree.leaves(plugjax.jit(program)(START))
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-4)


def unrolled_around_a_loop(x):
    """Both inner loops start with equal buffers, which must not be one."""
    return lax.fori_loop(
        0, 4, lambda i, c: c + jnp.sum(lax.map(lambda q: q * 2, x[i])), 0.0, unroll=2
    )


def unrolled_around_a_scan(x):
    def step(c, row):
        inner = lax.scan(lambda h, v: (h * 0.5 + v, h), c[0], row)
        return c + inner[0], inner[1]

    return lax.scan(step, x[0], x, unroll=2)


def unrolled_cell(x):
    return lax.scan(lambda h, row: (jnp.tanh(h @ x + row), h.sum()), x[0], x, unroll=2)


def carries_what_does_not_change(x):
    """What each step computes anew and alike is moved out of the loop."""
    return lax.scan(lambda c, _: (jnp.sin(x[0, 0]), x[0, 0]), x[0, 0], x, unroll=2)


def drops_its_carry(x):
    return lax.scan(lambda c, row: (jnp.exp(x), c.sum() + row), x, x)


def two_loops_in_an_unrolled_one(x):
    def step(c, row):
        one = lax.map(lambda q: q * 2, row)
        other = lax.map(lambda q: q * 2, row + c)
        return c + one.sum(), (one, other)

    return lax.scan(step, 0.0, x, unroll=4)


def sums_whose_rounding_is_not_read(x):
    """The second carry is what the step before made of the first."""

    def step(c, _):
        total = jnp.cumsum(c[0], axis=0)
        return (total, total.astype(jnp.float32)), c[0]

    return lax.scan(step, (jnp.arange(5), x[0, 0] * jnp.ones(5)), None, length=4, unroll=2)[0][1]


UNROLLED = [
    unrolled_around_a_loop,
    unrolled_around_a_scan,
    unrolled_cell,
    carries_what_does_not_change,
    drops_its_carry,
    two_loops_in_an_unrolled_one,
    sums_whose_rounding_is_not_read,
]


@pytest.mark.spread(6)
@pytest.mark.parametrize("program", UNROLLED, ids=lambda f: f.__name__)
def test_unrolled_loops(program, agrees):
    x = np.random.default_rng(0).normal(size=(4, 4)).astype(np.float32)
    agrees(program, x, rtol=1e-5, atol=1e-5)
    agrees(
        plugjax.grad(lambda x: sum(jnp.sum(y**2) for y in plugjax.tree.leaves(program(x)))),
        x,
        rtol=1e-4,
        atol=1e-4,
    )


def searched(x):
    """A search in two phases: the condition reads flags that both phases set."""

    def one(s):
        return s[0] + jnp.sum(x), s[0] > 3, s[0] > 5, s[3]

    def other(s):
        return s[0] * 2 + 1, s[0] > 9, s[0] > 7, s[0] > 1

    return lax.while_loop(
        lambda s: ~(s[1] | s[2]),
        lambda s: lax.cond(s[3], one, other, s),
        (jnp.float32(0), False, False, False),
    )[0]


def search_in_a_loop(x):
    return lax.while_loop(
        lambda c: c[1] < 3, lambda c: (c[0] * 0.9 + searched(c[0]) * 0.1, c[1] + 1), (x, 0)
    )


def search_in_a_scan(x):
    return lax.scan(lambda c, row: (c * 0.9 + searched(c), row * c), x, jnp.stack([x, x + 1]))


def search_in_a_branch(x):
    return lax.cond(x[0] > 0, searched, lambda x: x[1], x)


def search_in_a_branch_in_a_loop(x):
    return lax.fori_loop(0, 2, lambda i, x: x + lax.cond(i > 0, searched, lambda x: x[1], x), x)


def search_until_small(x):
    """One flag, of numbers, and something done to it after the branch."""

    def body(s):
        error, step, fast = lax.cond(
            s[2],
            lambda s: (s[0] * 0.5, s[1] + 1, s[2]),
            lambda s: (s[0] * 0.8, s[1] + 2, s[0] < 3),
            s,
        )
        return error, step, fast

    def search(x):
        return lax.while_loop(lambda s: s[0] > 0.1, body, (jnp.sum(x * x), jnp.float32(0), False))

    return lax.fori_loop(0, 3, lambda i, x: x + search(x)[1], x)


SEARCHES = [
    search_in_a_loop,
    search_in_a_scan,
    search_in_a_branch,
    search_in_a_branch_in_a_loop,
    search_until_small,
]


@pytest.mark.spread(2)
@pytest.mark.parametrize("program", SEARCHES, ids=lambda f: f.__name__)
def test_inner_loops_whose_condition_reads_what_a_branch_gives(program, agrees):
    agrees(program, np.float32([0.5, 1, 2]), rtol=1e-5, atol=1e-5)
    agrees(plugjax.vmap(program), np.float32([[0.5, 1, 2], [-1, 2, 3]]), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32])
def test_loops_start_with_unsigned_constants(dtype, agrees):
    agrees(
        lambda n: [
            lax.fori_loop(0, n, lambda _, c: c, dtype(3)),
            lax.fori_loop(0, n, lambda _, c: c + 1, dtype(3)),
            lax.optimization_barrier(jnp.asarray(7, dtype)),
        ],
        np.int32(2),
        rtol=0,
        atol=0,
    )


def test_two_carries_begin_with_one_value(agrees):
    def program(x, y, z, n):
        first, outs = lax.scan(lambda c, _: (c * 0.5 + jnp.tanh(n), n), x, x, unroll=3)
        last, again = lax.scan(lambda c, _: (z, first), outs, outs)

        def step(c, _):
            return plugjax.grad(lambda v: jnp.sum(jnp.sin(y / (1 + jnp.abs(v)))))(c), c

        slope, slopes = lax.scan(step, outs, again, unroll=3)
        return last, slope, jnp.where(slopes > first, slopes, first)

    x = np.array([0.1, 1, 1.5, 3, 0], np.float32)
    y = np.array([-1, 3.14, -1.5, -2.7, -3], np.float16)
    with workarounds.without(("one_by_one",)):
        agrees(program, x, y, x - 2, np.float32(0), rtol=1e-3, atol=1e-3)


def a_loop_begins_with_half_of_a_kernel(x):
    z = jnp.exp(x)
    return lax.fori_loop(0, 5, lambda _, c: jnp.cos(c) @ x, jnp.sin(z)) * z


def a_row_is_converted_before_a_loop_and_in_it(x):
    n = (x * 4).astype("int8")[0]
    return lax.fori_loop(0, 2, lambda _, c: c + jnp.sin(n.astype(float)).sum(), x / n.astype(float))


def a_row_is_converted_in_two_loops(x):
    n = (x * 4).astype("int8")[0]

    def step(_, c):
        y = c * n.astype(float)
        return lax.fori_loop(0, 3, lambda _, d: d + jnp.cos(n.astype(float)).sum(), y)

    return lax.fori_loop(0, 2, step, x)


@pytest.mark.parametrize(
    "program",
    [
        a_loop_begins_with_half_of_a_kernel,
        a_row_is_converted_before_a_loop_and_in_it,
        a_row_is_converted_in_two_loops,
    ],
    ids=lambda f: f.__name__,
)
def test_what_is_computed_before_a_loop_is_fused(program, agrees):
    x = np.linspace(-1.5, 1, 9, dtype=np.float32).reshape(3, 3)
    with workarounds.without(("one_by_one",)), plugjax.config.override("fallback", "error"):
        agrees(program, x, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32])
def test_unsigned_carries_that_are_scattered(dtype, agrees):
    def program(x, start):
        return lax.fori_loop(0, 3, lambda _, c: lax.dynamic_update_slice(x, c, (start, 0)), x * 2)

    x, starts = np.arange(12, dtype=dtype).reshape(2, 3, 2), np.int32([0, 1])
    with workarounds.without(("one_by_one",)), plugjax.config.override("fallback", "error"):
        agrees(plugjax.vmap(program), x, starts, rtol=0, atol=0)


def test_loops_that_give_empty_arguments(agrees):
    def program(x, go, y):
        return lax.while_loop(lambda s: go, lambda s: (s[0], y), (0, x))

    empty = np.zeros(0, np.float32)
    with plugjax.config.override("fallback", "error"):
        agrees(program, empty, np.bool_(False), empty, rtol=0, atol=0)
