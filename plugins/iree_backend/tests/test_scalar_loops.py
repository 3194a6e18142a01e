"""Loops of elementwise steps, which become one kernel."""

import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp
from plugjax import lax
from plugjax_iree.workarounds import without

ROW = np.linspace(0.1, 0.8, 8, dtype=np.float32)
TABLE = ROW.reshape(2, 4)


def several(x):
    return lax.while_loop(
        lambda s: s[0] < 50,
        lambda s: (s[0] + 1, s[1] * 0.5 + s[2], s[2] - s[1] * 0.25, s[1]),
        (0, x[0], x[1], x[2]),
    )


def exchanged(x):
    return lax.fori_loop(0, 70, lambda i, s: (s[1], s[2], s[0] + i), (x[0], x[1], x[2]))


def newton(x):
    def step(s):
        return s[0] - (s[0] ** 3 - x[0]) / (3 * s[0] ** 2), s[0]

    return lax.while_loop(lambda s: jnp.abs(s[0] - s[1]) > 1e-6, step, (x[1] + 1, x[1]))


def collatz(x):
    def step(s):
        return jnp.where(s[0] % 2 == 0, s[0] // 2, 3 * s[0] + 1), s[1] + 1

    return lax.while_loop(lambda s: s[0] != 1, step, (jnp.int32(x[0] * 0) + 27, 0))


def nested(x):
    def inner(i, s):
        return lax.while_loop(lambda t: (t[0] < i) & (t[1] < 100), lambda t: (t[0] + 1, t[1] * 1.5), (0, s))[1]  # fmt: skip

    return lax.fori_loop(0, 5, inner, x[0])


def branches(x):
    def step(i, s):
        return lax.cond(s < 0.4, lambda s: s * 2 + i, lambda s: s / 2, s)

    return lax.fori_loop(0, 90, step, x[0])


def switches(x):
    def step(i, s):
        return lax.switch(i % 3, [jnp.sin, jnp.cos, lambda s: s * s], s)

    return lax.fori_loop(0, 8, step, x[0])


def arrays(x):
    return lax.fori_loop(0, 60, lambda i, s: (s[0] * 0.9 + s[1] / (i + 1), jnp.sin(s[0])), (x, x))


def arrays_and_scalars(x):
    def step(s):
        return s[0] + 1, s[1] * s[3] + 1, s[2] + s[1], s[3] * 0.9

    return lax.while_loop(lambda s: s[3] > 0.2, step, (0, x, x * 2, jnp.float32(1)))


def only_the_counter(x):
    return lax.while_loop(lambda s: s[2] > 0.2, lambda s: (s[0] + 1, s[1] + x, s[2] / 2), (0, x, x.sum()))[0]  # fmt: skip


def unread(x):
    return lax.while_loop(lambda s: s[0] < 4, lambda s: (s[0] + 1, x, s[1]), (0, x * 3, x))


def bools(x):
    return lax.while_loop(lambda s: s[0], lambda s: ((s[1] < 3) | (s[1] < 1), s[1] + x[0], ~s[0]), (True, x[1], False))  # fmt: skip


def narrow(x):
    y = x.astype(jnp.bfloat16)
    return lax.fori_loop(0, 50, lambda i, s: s * y + jnp.bfloat16(0.5), y).astype(jnp.float32)


def never(x):
    return lax.while_loop(lambda s: s[0] > 5, lambda s: (s[0] + 1, s[1] * 2), (0.0, x))


def constants(x):
    half = jnp.full(8, 0.5)

    def step(s):
        return s[0] + 1, jnp.where(s[1] > half, s[1] * half, half + s[1] * 0.25)

    return lax.while_loop(lambda s: s[0] < 20, step, (0, half))[1] + x


def behind_barriers(x):
    def step(s):
        return lax.optimization_barrier((s[0] + 1, s[1] * 0.9, s[2] * 0.9))

    return lax.while_loop(lambda s: s[2] > 0.2, step, (0, x, jnp.float32(1)))


def started_alike(x):
    return lax.while_loop(lambda s: s[0] < 9, lambda s: (s[0] + s[1], s[1] * 2, s[2] + x[1]), (0, 1, 1.0))  # fmt: skip


def unsigned(x):
    word = x[:4].view(jnp.uint32)
    return lax.fori_loop(0, 90, lambda i, s: (s ^ (s << 13)) * jnp.uint32(5) + (s >> 7), word)


REPLACED = (several, exchanged, newton, collatz, nested, branches, arrays, arrays_and_scalars,
            only_the_counter, unread, bools, narrow, never, constants, behind_barriers, started_alike,
            unsigned)  # fmt: skip


def with_sum(x):
    return lax.while_loop(lambda s: s[1].sum() < 50, lambda s: (s[0] + 1, s[1] * 1.5), (0, x))


def with_product(x):
    return lax.fori_loop(0, 4, lambda i, s: jnp.tanh(s @ s.T @ s), x.reshape(2, 4))


def with_element(x):
    return lax.fori_loop(0, 8, lambda i, s: s * 0.5 + x[i], 0.0)


def with_rows(x):
    return lax.scan(lambda c, a: (c * 0.5 + a, c), 0.0, x)


def with_two_shapes(x):
    return lax.fori_loop(0, 4, lambda i, s: (s[0] * 2, s[1] + 1), (x, x[:3]))


def with_index(x):
    return lax.fori_loop(0, 4, lambda i, s: s + jnp.arange(8) * i, x)


def with_call(x):
    def step(i, s):
        return plugjax.pure_callback(np.sin, plugjax.ShapeDtypeStruct((), jnp.float32), s)

    return lax.fori_loop(0, 3, step, x[0])


LEFT = (with_sum, with_product, with_element, with_rows, with_two_shapes, with_index, with_call)


def compile_anew(program, x):
    plugjax.clear_caches()
    with plugjax.default_device("iree"):
        plugjax.jit(program)(x)


@pytest.mark.spread(8)
@pytest.mark.parametrize("program", [*REPLACED, *LEFT, switches], ids=lambda f: f.__name__)
def test_loops(program, agrees):
    # Within a kernel results of bfloat16 are not rounded each.
    agrees(program, ROW, rtol=2e-2 if program is narrow else 2e-5, atol=1e-6)


@pytest.mark.spread(6)
@pytest.mark.parametrize("program", REPLACED, ids=lambda f: f.__name__)
def test_elementwise_loops_are_replaced(program, changes):
    compile_anew(program, ROW)
    assert changes["scalar_loops"] >= 1


@pytest.mark.parametrize("program", LEFT, ids=lambda f: f.__name__)
def test_other_loops_are_left(program, changes):
    compile_anew(program, ROW)
    assert changes["scalar_loops"] == 0


def test_large_arrays_keep_their_vectors(changes):
    compile_anew(arrays, np.ones(100_000, np.float32))
    assert changes["scalar_loops"] == 0


@pytest.mark.spread(2)
@pytest.mark.parametrize("program", [several, arrays, branches, newton], ids=lambda f: f.__name__)
def test_batches_and_derivatives(program, agrees):
    batch = np.stack([ROW, ROW[::-1], ROW * 2])
    agrees(plugjax.vmap(program), batch, rtol=2e-5, atol=1e-6)

    def tangents(x):
        def floats(x):
            return [y for y in plugjax.tree.leaves(program(x)) if y.dtype == x.dtype]

        return plugjax.jvp(floats, (x,), (jnp.ones_like(x),))

    agrees(tangents, ROW, rtol=1e-4, atol=1e-5)


def test_arrays_of_two_axes(agrees):
    agrees(arrays, TABLE, rtol=2e-5, atol=1e-6)


def test_loops_over_empty_arrays_are_left(changes, agrees):
    empty = np.zeros((0, 3), np.float32)
    with without(("one_by_one",)):
        agrees(lambda x, y: lax.fori_loop(0, 4, lambda i, c: y, x), empty, empty, rtol=0, atol=0)
    assert changes["scalar_loops"] == 0


def two_carries(x):
    return lax.while_loop(
        lambda s: s[2] < 9, lambda s: (s[0] * 1.5 + 1, s[1] + s[0], s[2] + 1), (x, x * 2, 0)
    )[:2]


@pytest.mark.parametrize(
    "program",
    [
        plugjax.vmap(two_carries, 1),
        plugjax.vmap(two_carries, 0, 1),
        lambda x: [y.T for y in two_carries(x)],
        lambda x: [jnp.sin(y.T) for y in two_carries(x.T)],
        lambda x: (two_carries(x)[0].T, two_carries(jnp.sin(x).T)[1]),
    ],
)
def test_results_that_are_transposed(program, agrees):
    with without(("one_by_one",)):
        agrees(program, TABLE, rtol=2e-5, atol=1e-6)
