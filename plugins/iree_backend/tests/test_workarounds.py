"""Programs that IREE 3.13 computes wrongly or not at all, unless barriers and copies are inserted before it begins."""

import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp
from plugjax import lax, random
from plugjax_iree.compile import CompileTarget, compiler, pipeline, tuning
from plugjax_iree.workarounds import without

RNG = np.random.default_rng(0)
X = RNG.normal(size=(4, 4)).astype(np.float32)
V = RNG.normal(size=4).astype(np.float32)
CLOSE = {"rtol": 1e-4, "atol": 1e-5}


def differences(x, v):
    r = x.sum(1)
    return r[:, None] - r[None, :]


def squared_distances(x, v):
    s = (x**2).sum(1)
    return s[:, None] + s[None, :] - 2 * x @ x.T


def different_functions_of_it(x, v):
    r = x.max(0)
    return jnp.exp(0.1 * r)[:, None] * (r + v)[None, :]


def a_user_between(x, v):
    r = x.sum(1)
    y = x * r[:, None]
    return y, y - r[None, :]


def slices(x, v):
    r = x.sum(1)
    return r[1:][:, None] * x[1:, 1:] - r[1:][None, :]


def split_axes(x, v):
    r = x.sum(1)
    return jnp.repeat(r, 4).reshape(4, 4) - r


def rows_of_a_matrix(x, v):
    r = (x[:, :, None] * x).sum(1) + x
    return r[:, None] - r[None, :]


def a_product_of_rows(x, v):
    r = jnp.einsum("ij,ij->i", x, x)
    return r[:, None] - r[None, :]


def windows(x, v):
    r = lax.reduce_window(v, -np.inf, lax.max, (2,), (1,), "SAME")
    return r[:, None] * r[None, :] * x


def another_function(x, v):
    return plugjax.jit(lambda r: r[:, None] - r[None, :])(x.sum(1))


def in_a_loop(x, v):
    def step(c, row):
        r = jnp.abs(c).max(1)
        return 0.3 * (r[:, None] - r[None, :]) + row, r

    return lax.scan(step, x, x)


def a_normalized_graph(x, v):
    a = jnp.abs(x + x.T)
    d = 1 / jnp.sqrt(a.sum(1))
    return jnp.eye(4) - d[:, None] * a * d[None, :]


PAIRED = [
    differences,
    squared_distances,
    different_functions_of_it,
    a_user_between,
    slices,
    split_axes,
    rows_of_a_matrix,
    a_product_of_rows,
    windows,
    another_function,
    in_a_loop,
    a_normalized_graph,
]


def normal_numbers(x, v):
    return x + random.normal(random.key(0), (4, 4))


def keys_and_a_loop(x, v):
    keys = random.split(random.key(3), 4)
    return lax.scan(lambda c, k: (c + random.uniform(k, (4,)), c), v, keys)


def a_long_recurrence(x, v):
    a = jnp.arange(4, dtype=np.uint32)
    b = a + 1
    for _ in range(20):
        a = a + b
        b = ((b << 13) | (b >> 19)) ^ a
    return x + (b % 7).astype(np.float32)


CONSTANT = [normal_numbers, keys_and_a_loop, a_long_recurrence]


def multiplied_by_its_beginning(x, v):
    z = jnp.exp(v)
    return lax.fori_loop(0, 5, lambda i, c: c * 0.5, z) * z


def two_loops_from_one_value(x, v):
    z = jnp.exp(v)
    one = lax.scan(lambda c, row: (c * row, c), z, x)
    other = lax.fori_loop(0, 3, lambda i, c: c.at[i].add(c[3]), z)
    return one, other, z


def a_loop_in_a_loop(x, v):
    def step(q, row):
        p = jnp.exp(row)
        end, _ = lax.fori_loop(0, 5, lambda i, c: (c[0] + 0.1 * c[1], c[1] * 0.5), (q, p))
        return jnp.where(end.sum() + p.sum() > 0, end, q), p

    return lax.scan(step, v, x)


def loops_that_read_one_value(x, v):
    z = jnp.sin(x)

    def loop(start):
        def step(c, row):
            return (z, c[0], c[2] + row), c[2].sum()

        return lax.scan(step, (z, jnp.cos(x), start), x[:, 0], unroll=2)

    return loop(x), loop(x * 2), z


def a_part_before_a_loop(x, v):
    part, row = jnp.sin(x) @ x, (x @ x)[0]
    end = lax.fori_loop(0, 3, lambda i, c: c.at[i].set(row), x)
    return jnp.concatenate([end, part]), lax.dynamic_update_slice(end, part[:2] * v, (1, 0))


def parts_of_what_a_branch_gives(x, v):
    def step(c, row):
        part = jnp.cos(x) @ row
        chosen = lax.cond(row[0] > 0, lambda c: c * v[0] + x[1], lambda c: c - x[2], c)
        return jnp.stack([chosen, part])[1], jnp.concatenate([chosen, part])

    return lax.scan(step, v, x)


def a_loop_that_updates_constant_places(x, v):
    def loop(v, start):
        def step(c, _):
            y = x[:1].at[-1, np.array([0, 1])].min(v, mode="clip")
            return c * 0.5 + jnp.tanh(y.sum()), c

        return lax.scan(step, start, None, length=5, unroll=2)[0]

    return plugjax.value_and_grad(loop, (0, 1))(v[:2], x[1, 0]), plugjax.vmap(loop)(x[:, :2], v)


def a_part_that_is_shaped_behind_a_loop(x, v):
    y, half = 1 / v[0], np.float16(0.5)
    rows = lax.fori_loop(0, 3, lambda i, c: jnp.tanh(c @ x.T @ x), x)

    def step(i, c):
        return c * half + jnp.tanh(jnp.sum(rows * i)).astype(c.dtype)

    return jnp.stack([lax.fori_loop(0, 3, step, half).astype(jnp.float32), y])


MOVED = [
    a_part_before_a_loop,
    parts_of_what_a_branch_gives,
    a_part_that_is_shaped_behind_a_loop,
]

# And how many barriers stand behind their loops.
SHARED = [(multiplied_by_its_beginning, 1), (two_loops_from_one_value, 0), (a_loop_in_a_loop, 1)]


def padded_and_updated(x, v):
    pad = jnp.pad(x, [(0, 0), (1, 0)], constant_values=0.5)
    return pad, jnp.arange(2.0) * 0.3, x.at[0].add(v)


def a_softmax_and_an_update(x, v):
    p = plugjax.nn.softmax(x, 1)
    return p[:, :, None], jnp.convolve(v, v, "same"), x.at[1].max(v)[1:3].sum(0)


def an_update_of_a_transposed_axis_of_one(x, v):
    def row(factors, value, place):
        y = jnp.ones((1, 4)).at[jnp.uint8(0), ::-1].multiply(factors, mode="clip")
        return y, lax.dynamic_update_index_in_dim(y, value, place, 1), y.argmax(1)

    return plugjax.vmap(row)(x[:2], v[:2, None], jnp.uint8([0, 2]))


USED_LATE = [padded_and_updated, a_softmax_and_an_update, an_update_of_a_transposed_axis_of_one]


def layers(x, v):
    h = plugjax.nn.relu(x @ x + v)
    h = (h - h.mean(-1, keepdims=True)) / jnp.sqrt(h.var(-1, keepdims=True) + 1e-5)
    h = (h - h.mean(0)) / (h.std(0) + 1)
    return plugjax.nn.softmax(h) @ x.T


def a_fold(x, v):
    return lax.scan(lambda c, row: (jnp.tanh(c @ x + row), c.sum()), v, x)


def updated_in_place(x, v):
    # The lowering copies what is updated already.
    z = jnp.sin(x)
    return lax.fori_loop(0, 3, lambda i, c: c.at[i].set(c[i + 1] + i), z), z


def updates_one_after_another(x, v):
    return x.at[0].add(v).at[1].set(v * 2).at[2].max(v)


UNHARMED = [layers, a_fold, updated_in_place, updates_one_after_another]


def strided_and_gathered(x, v):
    def total(x):
        return jnp.sin(lax.slice(x, (0, 3), (3, 4), (2, 2))[v[:3].astype(int)]).sum()

    return plugjax.grad(total)(x)


def columns_that_are_gathered(x, v):
    places = v[:3].astype(int)
    return jnp.sum(x[:, 1][places] * x[:, 2][places])


def bits_of_a_column_that_are_gathered(x, v):
    bits = lax.bitcast_convert_type(x[:, 1], jnp.int32)
    places = v[:3].astype(int)
    return jnp.sum(bits[places] * x[:, 2][places].astype(jnp.int32))


def what_a_pad_cuts_off_and_is_gathered(x, v):
    padded = lax.pad(x.reshape(2, 8, 1), 0.0, ((-1, 2, 2), (1, -1, 1), (1, -1, 2)))
    return padded.at[:, (v * 3).astype(int) % 4].get(mode="promise_in_bounds")


def columns_at_computed_places_that_are_gathered(x, v):
    column = lax.dynamic_index_in_dim(x, v[0].astype(int) % 4, 1, keepdims=False)
    return column.at[(v * 3).astype(int) % 4].get(mode="promise_in_bounds")


def a_part_of_a_column_that_branches_give_alike(x, v):
    column = x[:, 1][None]
    column = lax.cond(v[0] > 0, lambda: column, lambda: column)
    return column[0, 1:].at[(v[:3] * 2).astype(int) % 3].get(mode="promise_in_bounds")


GATHERED = [
    a_part_of_a_column_that_branches_give_alike,
    what_a_pad_cuts_off_and_is_gathered,
    columns_at_computed_places_that_are_gathered,
    strided_and_gathered,
    columns_that_are_gathered,
    bits_of_a_column_that_are_gathered,
]


def gradient_of_a_reversed_cumulative_sum(x, v):
    return plugjax.grad(lambda x: lax.cumlogsumexp(x, reverse=True).sum())(x[:3, :3])


def kernels_before_and_between_loops(x, v):
    def sums(start, rows):
        def step(total, _):
            chosen = rows.at[jnp.array([[1, 1], [0, 0], [1, 0]], jnp.int8)]
            chosen = chosen.get(mode="promise_in_bounds")
            return total * 0.5 + jnp.tanh(jnp.sum(chosen.astype("float32"))), None

        return lax.scan(step, start, None, 5, unroll=2)[0]

    rows = v[:4].reshape(2, 2).astype(int)
    return sums(x[0], rows), plugjax.vmap(sums)(x[:2], jnp.stack([rows, rows * 2]))


def slices_of_what_branches_give_alike(x, v):
    zeros, start = jnp.zeros((2, 4, 3)), v[0] > 0
    array = lax.rev(lax.cond(start, lambda: zeros, lambda: zeros), (1,))
    part = lax.slice(array, (0, 0, 0), (2, 1, 3), (1, 2, 1))
    return lax.pad(part, 0.0, ((0, 0, 0), (0, 3, 0), (0, 0, 0))) + v[:4, None], array[:, ::2] * v[0]


def loops_and_branches_read_what_a_loop_gives(x, v):
    z = lax.fori_loop(0, 3, lambda _, c: jnp.tanh(c @ x), x)
    for _ in range(2):
        x = lax.fori_loop(0, x[0, 0].astype(int) + 3, lambda _, c: c @ z + 1, x)
        x = lax.cond(x[0, 0] > 0, lambda x: z, lambda x: x @ z, x)
    return x, z


def loops_in_branches_that_begin_with_a_constant(x, v):
    start = lax.broadcasted_iota("float32", x.shape, 0)

    def branch(x, p):
        def loop():
            return lax.fori_loop(0, p.astype(int), lambda i, c: c[::-1] * x + c, start)

        return lax.cond(p > 2, loop, lambda: start)

    y = branch(x, v[0] + 4)
    return y, branch(x + 1, v[1])


def elements_with_and_without_axes(x, v):
    first, last = v[:1].reshape(1, 1), lax.dynamic_index_in_dim(v, x[0, 0].astype(int), 0)
    return first, jnp.sin(first), last.reshape(1, 1, 1), last * first


def halves_before_and_in_loops(x, v):
    x, last = x.astype(jnp.bfloat16), lax.sort(v.astype(jnp.bfloat16))[3]

    def loop(edge):
        edges = ((edge, edge, 0), (0, 0, 0))
        return lax.fori_loop(0, 4, lambda i, c: lax.sort(lax.pad(c, last, edges))[:4], x)

    return lax.reduce(x, last, lax.max, (1,)), loop(1), loop(2)


def slices_with_steps_that_take_one_element(x, v):
    x = x[:2, :3].reshape(1, 2, 1, 3)
    empty = lax.slice(v, (3,), (3,), (2,))
    return [jnp.pad(x[:, :, ::2, 2:].reshape(n, m), 1) for n, m in ((1, 2), (2, 1))], empty


VALUES = [loops_that_read_one_value, loops_and_branches_read_what_a_loop_gives]

WORKED_AROUND = [
    *((f, "paired_reductions") for f in PAIRED),
    *((f, "constant_chains") for f in CONSTANT),
    *((f, "late_users") for f in USED_LATE),
    *((f, "moved_loops") for f in MOVED),
    (a_loop_that_updates_constant_places, "shared_kernels"),
    (gradient_of_a_reversed_cumulative_sum, "sliced_fills"),
    (slices_of_what_branches_give_alike, "sliced_fills"),
    *((f, "gathered_slices") for f in GATHERED),
    (kernels_before_and_between_loops, "shared_kernels"),
    (slices_with_steps_that_take_one_element, "single_steps"),
    (elements_with_and_without_axes, "sliced_numbers"),
    (halves_before_and_in_loops, "halves_read_back"),
    (loops_in_branches_that_begin_with_a_constant, "hidden_sizes"),
]


@pytest.mark.spread(8)
@pytest.mark.parametrize(
    ("function", "name"), WORKED_AROUND, ids=lambda f: getattr(f, "__name__", f)
)
def test_values_are_those_of_numpy(function, name, changes, agrees):
    agrees(function, X, V, **CLOSE)
    assert changes[name]


@pytest.mark.parametrize(("function", "count"), SHARED, ids=lambda f: getattr(f, "__name__", f))
def test_values_that_loops_begin_with_are_read_behind_them(function, count, changes, agrees):
    with without(("scalar_loops", "one_by_one")):
        agrees(function, X, V, **CLOSE)
    assert changes["ordered_loops"] == count


@pytest.mark.spread(2)
@pytest.mark.parametrize("function", VALUES, ids=lambda f: f.__name__)
def test_values_behind_barriers_and_loops(function, agrees):
    with without(("one_by_one",)):
        agrees(function, X, V, **CLOSE)


@pytest.mark.parametrize("view", [lambda x: x.reshape(16), lambda x: x.T])
@pytest.mark.parametrize("compute", [jnp.exp, jnp.sin, lambda x: x.astype(jnp.float16)])
def test_functions_of_views_and_of_what_they_are_broadcast_to(compute, view, agrees):
    def program(x):
        y = view(x)
        return compute(jnp.broadcast_to(y, (2, *y.shape))).sum(0), compute(y) * 3

    with without(("one_by_one",)), plugjax.config.override("fallback", "error"):
        agrees(program, X, **CLOSE)


@pytest.mark.parametrize("function", UNHARMED, ids=lambda f: f.__name__)
def test_other_programs_stay_as_they_are(function, changes, agrees):
    agrees(function, X, V, **CLOSE)
    assert {changes[name] for _, name in WORKED_AROUND} == {0}


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "int32"])
def test_reversed_columns(dtype):
    """Of unsigned numbers, which are reversed as signed ones, they were refused."""

    def turned(table):
        return lax.rev(table[:, :1], (0,)).astype(jnp.float32)

    def program(x):
        tables = jnp.stack([jnp.stack([x, x + 1], 1)] * 2)
        return turned(jnp.stack([x + 1, x + 2], 1)), plugjax.vmap(turned)(tables)

    x, options = np.arange(8).astype(dtype), {"without": ("one_by_one",)}
    with plugjax.config.override("fallback", "error"):
        found = plugjax.jit(program, device="iree", compiler_options=options)(x)
    for a, b in zip(found, program(jnp.asarray(x)), strict=True):
        np.testing.assert_array_equal(a, b)


def chosen_by_a_product(x, v):
    def total(x, y):
        columns = plugjax.vmap(lambda a: a * a.sum(), 1, 1)(y)
        chosen = lax.cond(
            columns.sum() > 0, lambda a, b: a * 2 + b, lambda a, b: jnp.sin(b) - a, x, x
        )
        return jnp.sin(chosen).sum()

    return plugjax.grad(total, (0, 1))(x, x[:3])


REFUSED = [chosen_by_a_product]


@pytest.mark.parametrize("function", REFUSED, ids=lambda f: f.__name__)
def test_what_is_refused_is_compiled_one_by_one(function, changes, agrees, monkeypatch):
    monkeypatch.setattr(compiler, "_MOST_ALONE", 0)
    with without(("uneven_products",)):
        agrees(function, X, V, **CLOSE)
    assert changes["one_by_one"] > 2


@pytest.mark.parametrize("function", REFUSED, ids=lambda f: f.__name__)
def test_the_operation_that_is_refused_is_compiled_alone(function, changes, agrees):
    with without(("uneven_products",)):
        agrees(lambda x, v: function(x, v), X, V, **CLOSE)
    # Before its operand and behind its result.
    assert changes["one_by_one"] == 2


def test_branches_that_read_what_a_loop_reads(agrees):
    def program(x):
        z = lax.optimization_barrier(jnp.sin(x))
        for _ in range(2):
            x = lax.fori_loop(0, x[0, 0].astype(int) + 3, lambda i, c: c * z + 1, x)
            x = lax.cond(x[0, 0] > 0, lambda x: z, lambda x: x + z, x)
        return x

    agrees(program, X, **CLOSE)


def set_elements(x, v):
    places = (x[:3, :2] * 2).astype(int)
    written = x.at[places[:, 0], places[:, 1]]
    return written.set(2.0), written.max(0.0)


def set_to_what_is_computed(x, v):
    places = (x[:3, :2] * 2).astype(int)
    return x.at[places[:, 0], places[:, 1]].set(x[:3, 0] * v[:3], mode="drop")


def the_gradient_of_maxima(x, v):
    places = (x[:3, :2] * 2).astype(int)
    return plugjax.grad(lambda x: (x.at[places[:, 0], places[:, 1]].max(v[:3]) ** 2).sum())(x)


PLACES = [set_elements, set_to_what_is_computed, the_gradient_of_maxima]


@pytest.mark.parametrize("function", PLACES, ids=lambda f: f.__name__)
def test_scatters_to_places_that_are_computed(function, agrees):
    agrees(function, X, V, **CLOSE)


def scattered(x, places, values):
    return x.at[places % 10].add(values * 2, mode="drop")


@pytest.mark.parametrize("rows", [8, 800])
@pytest.mark.parametrize("width", [12, 16])
def test_scatters_of_values_that_are_computed(rows, width, agrees):
    x, values = np.ones((900, width), np.float32), np.ones((rows, width), np.float32)
    agrees(scattered, x, np.arange(rows, dtype=np.int32), values, rtol=1e-6, atol=0)


def test_a_scatter_of_large_values_is_compiled_at_the_first_attempt():
    with plugjax.default_device("iree"):
        text = plugjax.jit(scattered).lower(np.ones((900, 16), np.float32), np.arange(800, dtype=np.int32), np.ones((800, 16), np.float32)).as_text()  # fmt: skip
    target = CompileTarget()
    flags = ("--iree-input-type=stablehlo", *target.flags(), *next(iter(tuning.steps(text, target))).tuning)  # fmt: skip
    assert pipeline.compile_elsewhere(text, flags)
