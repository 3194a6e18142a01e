"""Buffers that IREE would update in place although they have other users: arguments, constants, carries, results of barriers.

Many programs are compiled together as one, so that buffers have users in several of them. A program whose argument has no later
user is compiled alone.
"""

from itertools import permutations

import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp
from plugjax import lax
from plugjax.lax import dynamic_update_slice as update

X = np.arange(1, 10, dtype=np.float32)
I = np.array([1, 2, 10, 1, 3], np.int32)
N = 6


def ones(x, i):
    return update(x, jnp.ones(2, np.float32) * i, (i,))


def rows(x, i):
    return x.at[jnp.stack([i, i + 1, i])].add(1.0)


def counted(step, carry, n):
    """A loop whose number of steps is not known."""
    return lax.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, *step(*s)), (0, *carry))[1:]


@plugjax.jit
def called(x, i):
    for _ in range(6):  # A program that is too long to be written where it is called.
        i = jnp.minimum(jnp.maximum(i * 3 - i * 2, 0), 5)
    return update(x, jnp.ones(2, np.float32) * i, (i,))


def scanned(step, carry, **options):
    return lax.scan(step, carry, jnp.arange(4), **options)


# What is written, and what else has its buffer.
PROGRAMS = {
    "argument and its uses": lambda x, n: (x.at[I].add(1.0), x * 3),
    "value and its uses": lambda x, n: ((x * 2).at[I].mul(2.0), x * 2 * 3),
    "values of each other": lambda x, n: (update(x, (x * 2)[:2], (n,)), update(x * 2, x[:2], (n,))),
    "barriers": lambda x, n: (
        lax.optimization_barrier(x * 2).at[I].add(1.0),
        lax.optimization_barrier(x).at[n].set(5.0),
        x * 2,
    ),
    "constants": lambda x, n: (
        jnp.arange(9.0).at[I].add(x[:5]),
        jnp.arange(9.0).at[I].mul(x[:5]),
        update(jnp.arange(9.0), x[:2], (n,)),
        jnp.arange(9.0),
    ),
    "orders": lambda x, n: [lax.top_k(v, 3) for v in (x, x * 2, -x, jnp.arange(9.0))],
    "branches": lambda x, n: [
        lax.cond(n > 2, lambda: ones(x * 2, n), lambda: x * 2),
        lax.switch(n - 3, [lambda: ones(x * 3, n), lambda: x * 3, lambda: -x]),
        x * 2,
    ],
    "calls": lambda x, n: (called(x, n), called(x, n + 1), called(called(x * 2, n), n + 1), x * 2),
    "checkpoint": lambda x, n: plugjax.grad(
        plugjax.checkpoint(lambda x: (jnp.sin(x).at[I].set(1.0) * x).sum())
    )(x),
    # A part of what is written to.
    "moved": lambda x, n: (update(x, x[:7], (n - 2,)), update(x * 3, (x * 3)[:7], (n - 2,))),
    "moved and changed": lambda x, n: (x.at[1:].add(x[:-1]), update(x, x[:7] * 2, (n - 2,))),
    "moved by rows": lambda x, n: (x.at[I].add(x[:5]), (x * 3).at[I].add((x * 3)[:5] * 2)),
    "rows chosen by rows": lambda x, n: x.astype(int).at[x.astype(int)[:4]].add(1),
    "moved in loops": lambda x, n: [
        lax.fori_loop(0, stop, lambda i, c, f=f: f(c, i), x)
        for stop in (3, n)
        for f in (
            lambda c, i: update(c, c[:5], (i + 1,)),
            lambda c, i: c.at[1:].add(c[:-1]),
            lambda c, i: c.at[I].add(c[I + 1] * 0.1),
        )
    ],
    # Loops.
    "stacks": lambda x, n: scanned(lambda c, i: (c + 1, (c, c * 2, c)), x),
    "carry and output": lambda x, n: scanned(lambda c, i: (lambda d: (d, d))(ones(c, i)), x),
    "carries that change places": lambda x, n: scanned(
        lambda c, i: ((ones(c[1], i), c[0]), c[0]), (x, x)
    ),
    "carry from outside": lambda x, n: scanned(
        lambda c, i: ((ones(c[1], i), x), c[0]), (x * 2, x * 3)
    ),
    "carry that is called": lambda x, n: scanned(lambda c, i: (called(c, i), None), x),
    "called on what is outside": lambda x, n: scanned(lambda c, i: (c + called(x, i), None), x),
    "chosen carry": lambda x, n: [
        scanned(lambda c, i: (ones(lax.cond(i > 1, lambda: c * 2, lambda: c), i), c), x),
        scanned(lambda c, i: (ones(jnp.where(i > 1, c * 2, c), i), c), x),
        scanned(lambda c, i: (jnp.where(i > 1, ones(c, i), c), c[0]), x),
    ],
    "loops in loops": lambda x, n: [
        scanned(lambda c, i: (scanned(lambda d, j: (ones(d, j), None), c)[0], c[0]), x),
        scanned(lambda c, i: (c + scanned(lambda d, j: (ones(d, j), None), x)[0], c[0]), x),
    ],
    "several steps at once": lambda x, n: [
        lax.scan(lambda c, i: (ones(c, i), c.sum()), x, jnp.arange(5), unroll=2),
        lax.scan(lambda c, i: (c + ones(x, i), c.sum()), x, jnp.arange(5), unroll=2),
    ],
    "reverse derivative": lambda x, n: plugjax.grad(
        lambda x: scanned(lambda c, i: (ones(jnp.sin(c), i), c.sum()), x)[1].sum()
    )(x),
    "batched loop": lambda x, n: plugjax.vmap(
        lambda a, k: scanned(lambda c, i: (ones(c * a, (i + k) % 5), c), x)
    )(x[:3], jnp.arange(3)),
    "known and unknown loops": lambda x, n: (
        counted(lambda i, c: (c.at[I].add(1.0),), (x,), n),
        lax.fori_loop(0, 3, lambda i, c: (c[0].at[I + i].add(1.0), c[1] + c[0]), (x, x)),
    ),
    **{
        f"{f.__name__} in an unknown loop, {name}": lambda x, n, f=f, step=step: (
            counted(lambda i, a, b: step(f, x, i, a, b), (x * 2, x * 3), n),
            x * 2,
        )
        for f in (ones, rows)
        for name, step in {
            "value from outside": lambda f, x, i, a, b: (f(b, i), x),
            "earlier value": lambda f, x, i, a, b: (f(a, i), a),
            "other shape": lambda f, x, i, a, b: (
                f(a, i),
                f(a, i).reshape(3, 3).reshape(9),
            ),
            "changing places": lambda f, x, i, a, b: (f(b, i), a),
            "read by another": lambda f, x, i, a, b: (f(a, i), b + f(a, i).sum()),
            "in a loop": lambda f, x, i, a, b: counted(lambda j, c, d: (f(c, j), d + c), (a, b), i),
            "constant": lambda f, x, i, a, b: (f(b, i), jnp.zeros(9)),
        }.items()
    },
}

# Nothing else reads the argument, or what the compiler knows to be the argument.
ARGUMENTS = {
    "itself": lambda x: x,
    "product": lambda x: x * 1,
    "maximum": lambda x: jnp.maximum(x, x),
    "choice": lambda x: jnp.where(True, x, x + 1),
    "negated twice": lambda x: lax.neg(lax.neg(x)),
    "real part": lambda x: lax.real(lax.complex(x, x)),
    "slice": lambda x: lax.dynamic_slice(x, (jnp.int32(0),), (9,)),
    "shapes": lambda x: x.reshape(3, 3).T.T.reshape(9),
    "bits": lambda x: lax.bitcast_convert_type(lax.bitcast_convert_type(x, np.int32), np.float32),
    "barrier": lax.optimization_barrier,
}


def on_iree(f, *args, device="iree"):
    """Results, and whether the arguments, in memory of IREE's own, still are what they were."""
    with plugjax.default_device(device):
        own = plugjax.jit(lambda args: plugjax.tree.map(lambda x: x + x - x, args))(args)
        found = [np.asarray(y) for y in plugjax.tree.leaves(plugjax.jit(f)(*own))]
        for x, y in zip(own, args, strict=True):
            np.testing.assert_array_equal(x, y)
    return found


def agree(f, *args, device="iree"):
    found = on_iree(f, *args, device=device)
    expected = plugjax.tree.leaves(plugjax.jit(f)(*args))
    for i, (x, y) in enumerate(zip(found, expected, strict=True)):
        np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-4, err_msg=f"result {i}")


@pytest.mark.spread(6)
@pytest.mark.parametrize("part", range(6))
def test_many_at_once(part):
    programs = list(PROGRAMS.values())[part::6]
    # On threads, what is not ordered may happen at the same time.
    device = ("iree:local:0", "iree:task:0")[part % 2]
    agree(lambda x, n: [f(x, n) for f in programs], X, np.int32(3), device=device)


@pytest.mark.spread(8)
@pytest.mark.parametrize("write", [ones, rows])
@pytest.mark.parametrize("name", ARGUMENTS)
def test_an_argument_that_nobody_reads_afterwards(name, write):
    agree(lambda x, n: write(ARGUMENTS[name](x), n), X, np.int32(3))


@pytest.mark.spread(3)
@pytest.mark.parametrize("name", ["moved", "moved and changed", "moved by rows", "moved in loops"])
def test_a_part_of_what_is_written_to(name):
    agree(PROGRAMS[name], X, np.int32(3))


def test_what_is_gathered_whole_is_written_to():
    """The gather of all elements is the array, as IREE finds."""

    def program(x, start):
        whole = lax.dynamic_slice(x, (start, start), x.shape)
        return whole.at[np.array([2, 0, 1])].min(x, mode="drop"), whole.at[1:].add(x[:-1])

    x = np.random.default_rng(0).normal(size=(2, 3, 4)).astype(np.float32)
    agree(plugjax.vmap(program), x, np.zeros(2, np.int32))


SLICES = {
    "the same element": lambda x, i: x.at[0].add(0, mode="clip"),
    "the same rows": lambda x, i: (x * 3).at[1:3].mul(1),
    "rows that move": lambda x, i: update(x, (x + 0)[:3], (i, 0)),
    "rows at computed places": lambda x, i: update(
        x * 2, lax.dynamic_slice(x * 2, (i, 0), (2, 5)) * 1, (i + 1, 0)
    ),
    "a scatter of rows": lambda x, i: x.at[np.array([2, 0, 1])].set(x[:3] + 0),
    "a scatter of all": lambda x, i: x.at[np.array([2, 0, 1, 3])].add(x * 1),
    "in loops": lambda x, i: lax.fori_loop(0, 3, lambda j, x: update(x, (x + 0)[:3], (j, 0)), x),
}


@pytest.mark.parametrize("name", SLICES)
def test_what_turns_out_to_be_a_slice(name):
    x = np.arange(20, dtype=np.int32).reshape(4, 5)
    agree(lambda x, i: SLICES[name](x, i), x, np.int32(1))


@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_what_turns_out_to_be_filled(dtype):
    def program(x, i):
        filled = jnp.abs(jnp.sum(jnp.broadcast_to(x, (0, *x.shape)), 0)) + 2
        columns = filled.at[:, jnp.stack([i] * 5)].add(1, mode="clip")
        return columns, lax.cumsum(filled, 1), update(filled.T, x.T[:2], (1, i))

    agree(program, np.arange(10).reshape(5, 2).astype(dtype), np.int32(1))


@pytest.mark.parametrize("dtype", ["uint8", "int32"])
def test_what_turns_out_to_be_an_argument(dtype):
    def program(x, y, i):
        zeros = lax.dot_general(jnp.zeros(1, x.dtype), y, (((), ()), ((), ())))
        return lax.dynamic_update_index_in_dim(x | zeros, y[:1], i, 1)

    agree(program, np.arange(1, 4, dtype=dtype), np.ones(3, dtype), np.int32(2))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8"])
def test_parts_that_are_set_to_one_number(dtype):
    """In any order, and in two dimensions."""

    def rows(x):
        places = permutations(range(4), 3)
        return [x[0].at[i].set(0).at[j].set(n).at[k].set(0) for i, j, k in places for n in (0, 1)]

    def blocks(x):
        y = x.at[2:].set(0).at[1, 2:].set(0).at[1, :2].set(0)
        return y, x.at[:, 3].set(1).at[:, 2].set(1), x.at[3, 1].set(2).at[3, 0].set(2).at[2].set(2)

    for function in (rows, blocks):
        agree(lambda x, f=function: f(x.astype(dtype)), np.arange(16).reshape(4, 4))


def test_stacks_that_begin_with_the_same_rows():
    """Both have zeros first; a later row of the one was written over that of the other."""

    def forth(c, a, v, z):
        return (c[0] * v + a, c[1] * v + c[0] * z + a), c

    def back(c, rows, v, z):
        (a, b, e, f), (d, q) = c, rows
        return (a * v, a * z + b * v, e + a * d, f + b * d + a * q), (jnp.sum(a), jnp.sum(b))

    def program(u, _):
        v = jnp.tanh(u)
        z, zeros = u * (1 - v * v), jnp.zeros(3)
        rows = lax.scan(lambda c, a: forth(c, a, v, z), (zeros, zeros), u, unroll=16)[1]
        start = (zeros + 1, zeros, zeros, zeros)
        return lax.scan(lambda c, x: back(c, x, v, z), start, rows, reverse=True, unroll=16)

    agree(program, np.ones(3, np.float32), np.int32(1))


def test_a_slice_of_what_a_branch_gives():
    def program(x, n):
        def step(_, x):
            rows = lax.cond(n > 0, lambda: x, lambda: x * 2)[:3]
            return update(x, rows, (n, 0))

        return lax.fori_loop(0, 2, step, x)

    agree(program, np.arange(20, dtype=np.float32).reshape(4, 5), np.int32(1))


def test_orders_of_integers_leave_them():
    agree(lambda x: (jnp.sort(x), jnp.argsort(x)), np.arange(9, 0, -1, dtype=np.int32))


def random_program(rng, depth=0):
    """Steps: what is done, on which of three values, with which indices; and the steps of an inner program."""
    steps = []
    for _ in range(rng.integers(2, 6)):
        kind = int(rng.integers(0, 9 if depth < 2 else 7))
        places = tuple(int(v) for v in rng.integers(0, 3, 3))
        inner = random_program(rng, depth + 1) if kind >= 7 else None
        steps.append((kind, *places, rng.integers(0, N, 3), int(rng.integers(2)), inner))
    return steps


def run(program, values, n):
    values = list(values)
    for kind, a, b, to, index, other, inner in program:
        x, y = values[a], values[b]
        if kind == 0:
            x = x.at[index].add(y[:3])
        elif kind == 1:
            x = update(x, y[:2], (n,))
        elif kind == 2:
            x = x * 0.5 + y
        elif kind == 4:
            x = x.at[index[0]].set(7.0)
        elif kind == 5:
            x = jnp.sort(x)
        elif kind == 6:
            x = (jnp.zeros(N) if other else jnp.arange(float(N))).at[index].add(y[:3])
        elif kind == 7 and other:
            step = lambda j, c, inner=inner: tuple(run(inner, c, j))  # noqa: E731
            values = list(lax.fori_loop(0, 2, step, tuple(values)))
        elif kind == 7:
            body = lambda c, j, inner=inner, a=a: (tuple(run(inner, c, j)), c[a])  # noqa: E731
            carry, ys = lax.scan(body, tuple(values), jnp.arange(3))
            values, x = list(carry), carry[to] + ys.sum(0) * 0.1
        elif kind == 8 and other:
            advance = lambda i, *c, inner=inner: run(inner, c, i)  # noqa: E731
            values = list(counted(advance, tuple(values), n + 1))
        elif kind == 8:
            first = lambda *c, inner=inner: tuple(run(inner, c, n))  # noqa: E731
            values = list(lax.cond(n > 1, first, lambda *c: c[::-1], *values))
        if kind < 7 or (kind == 7 and not other):
            values[to] = jnp.clip(x, -50, 50)
    return values


@pytest.mark.spread(8)
@pytest.mark.parametrize("seed", range(12))
def test_random_programs(seed):
    rng = np.random.default_rng(seed)
    program = random_program(rng)
    values = rng.uniform(-2, 2, (3, N)).astype(np.float32)
    device = ("iree:local:0", "iree:task:0")[seed % 2]
    agree(lambda n, *xs: run(program, xs, n), np.int32(2), *values, device=device)


def test_eager_updates_leave_their_operand():
    with plugjax.default_device("iree"):
        x, u = plugjax.jit(lambda x: (x * 1, x.astype(np.uint8)))(np.arange(9, dtype=np.float32))
        np.testing.assert_array_equal(x.at[I].add(1), [0, 3, 3, 4, 4, 5, 6, 7, 8])
        np.testing.assert_array_equal(u.at[I].set(9), [0, 9, 9, 9, 4, 5, 6, 7, 8])
        for y in (x, u):
            np.testing.assert_array_equal(y, np.arange(9))


def test_donated_arguments_are_not_copied():
    x = np.arange(9, dtype=np.float32)
    with plugjax.default_device("iree"):
        write = plugjax.jit(lambda x: x.at[I].add(1), donate_argnums=0)
        kept = plugjax.jit(lambda x: x.at[I].add(1))
        count = [f.lower(x).as_text().count("stablehlo.select") for f in (write, kept)]
        np.testing.assert_array_equal(write(jnp.array(x)), kept(x))
    assert count[1] == count[0] + 1


def test_a_loop_writes_its_outputs_in_place():
    """Behind barriers: without, each step copies all that earlier ones gave."""
    with plugjax.default_device("iree"):
        text = plugjax.jit(lambda x: scanned(lambda c, i: (c + 1, c), x)).lower(X).as_text()
    body = text[text.index("} do {") :]
    assert body.count("stablehlo.optimization_barrier") == 2


def _updated_in_a_step(x, y):
    return lax.scan(lambda c, _: (c + jnp.sum(x.at[::-1].min(y)), c), 0.0, None, length=3)


def _updated_in_an_unrolled_step(x, y):
    return lax.scan(lambda c, _: (c + jnp.sum(x.at[0].set(c)), c), 0.0, None, length=4, unroll=2)


def _updated_slice(x, y):
    table = x.reshape(2, 2)
    return lax.scan(lambda c, row: (c + jnp.sum(row.at[0].set(c)), row), 0.0, table)


def _updated_in_a_while(x, y):
    return lax.while_loop(
        lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] + x.at[1:].add(y[1:])), (0, y)
    )


@pytest.mark.parametrize(
    "program",
    [_updated_in_a_step, _updated_in_an_unrolled_step, _updated_slice, _updated_in_a_while],
    ids=lambda f: f.__name__,
)
def test_loops_leave_what_they_close_over(program):
    values = np.arange(4, dtype=np.float32), np.array([5, -1, 2, 0], np.float32)
    with plugjax.default_device("numpy"):
        expected = plugjax.tree.leaves(program(*map(jnp.asarray, values)))
    with plugjax.default_device("iree"):
        # In the device's memory, where the compiled program finds them.
        x, y = plugjax.jit(lambda a, b: (a * 2, b * 2))(*(v / 2 for v in values))
        found = plugjax.tree.leaves(plugjax.jit(program)(x, y))
    np.testing.assert_array_equal(x, values[0])
    np.testing.assert_array_equal(y, values[1])
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


def _many(i):
    """Indices of the test's vectors that the compiler does not know."""
    return jnp.floor(jnp.abs(i)).astype(jnp.int32) % 4


# An update of what does not change from step to step, at places that are not known when the program is compiled.
UPDATES_OF_WHAT_STAYS = {
    "first value": lambda x, y: lax.fori_loop(0, 3, lambda _, c: x.at[_many(y)].add(y), x),
    "other first value": lambda x, y: lax.fori_loop(
        0, 3, lambda _, c: x.at[_many(y)].add(y), x * 2
    ),
    "with the carry": lambda x, y: lax.fori_loop(0, 3, lambda _, c: x.at[_many(y)].add(y) + c, x),
    "by the step": lambda x, y: lax.fori_loop(0, 3, lambda i, c: x.at[_many(y)].add(y * i), x),
    "product": lambda x, y: lax.fori_loop(0, 3, lambda _, c: x.at[_many(y)].multiply(y), x),
    "stacked": lambda x, y: lax.scan(lambda c, _: (c, x.at[_many(y)].add(y)), x, None, length=3)[1],
    "stacked, by element": lambda x, y: lax.scan(lambda c, v: (c, x.at[_many(y)].add(v)), x, y)[1],
    "computed in the step": lambda x, y: lax.fori_loop(
        0, 3, lambda _, c: (x * 3).at[_many(y)].add(y) + c, x
    ),
    "in a branch": lambda x, y: lax.fori_loop(
        0, 3, lambda i, c: c + lax.cond(i > 0, lambda: x.at[_many(y)].add(y), lambda: y), x
    ),
    "in an inner loop": lambda x, y: lax.fori_loop(
        0, 3, lambda _, c: lax.fori_loop(0, 2, lambda _, d: c.at[_many(y)].add(y) + d, c) + c, x
    ),
    "of a while": lambda x, y: lax.while_loop(
        lambda c: c[0] < 40, lambda c: x.at[_many(y)].add(y) + c, jnp.abs(x)
    ),
    "unsigned": lambda x, y: lax.fori_loop(
        0, 3, lambda _, c: x.astype(jnp.uint32).at[_many(y)].add(2), x.astype(jnp.uint32)
    ),
}


@pytest.mark.spread(8)
@pytest.mark.parametrize("name", UPDATES_OF_WHAT_STAYS)
def test_each_step_updates_what_was_there_before_the_loop(name):
    program = UPDATES_OF_WHAT_STAYS[name]
    values = np.arange(1, 5, dtype=np.float32), np.array([5, 1, 2, 5], np.float32)
    with plugjax.default_device("numpy"):
        expected = program(*map(jnp.asarray, values))
    with plugjax.default_device("iree"):
        found = plugjax.jit(program)(*values)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("start", [0, "n"])
def test_an_update_of_everything_is_no_argument(start):
    """What is updated next is not the first update's operand."""

    def program(x, y, n):
        whole = update(x, y, (n if start == "n" else start,))
        return update(whole, x[:2], (n,))

    with plugjax.default_device("iree"):
        x, y = plugjax.jit(lambda v: (v * 1, v * 2))(X)
        found = plugjax.jit(program)(x, y, 1)
    np.testing.assert_array_equal(y, X * 2)
    np.testing.assert_array_equal(found, [2, 1, 2, *(X * 2)[3:]])


@pytest.mark.parametrize(("length", "unroll"), [(3, 2), (4, 3), (6, 3)])
def test_what_each_step_updates_is_stacked_before_the_next(length, unroll):
    def stacked(x, y, place):
        def step(carry, _):
            carry = tuple(c.at[place, np.array([2, 1, 0])].add(1.0, mode="drop") for c in carry)
            return carry, carry

        return lax.scan(step, (x, y), None, length=length, unroll=unroll)[1]

    x = np.arange(9, dtype=np.float32).reshape(3, 3)
    with plugjax.default_device("iree"):
        found = plugjax.jit(stacked, tiered=False)(x, x * 2, np.uint32(1))
    for ours, start in zip(found, (x, x * 2), strict=True):
        sums = np.tile(start, (length, 1, 1))
        sums[:, 1] += np.arange(1, length + 1)[:, None]
        np.testing.assert_array_equal(np.asarray(ours), sums)


@pytest.mark.spread(2)
@pytest.mark.parametrize(("length", "unroll"), [(1, 1), (2, 2), (5, 8), (5, 2), (5, True), (4, 2)])
def test_unrolled_loops_leave_what_they_begin_with(length, unroll):
    def program(x, i):
        return lax.scan(
            lambda c, _: (update(c, jnp.ones(2, np.float32), (i,)), None),
            x,
            None,
            length,
            unroll=unroll,
        )[0]

    with plugjax.default_device("iree"):
        x = plugjax.jit(lambda v: v * 2)(X)
        found = plugjax.jit(program)(x, 3)
    np.testing.assert_array_equal(x, X * 2)
    np.testing.assert_array_equal(found, [2, 4, 6, 1, 1, 12, 14, 16, 18])
