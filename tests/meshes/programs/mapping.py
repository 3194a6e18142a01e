"""``shard_map`` and collectives."""

import numpy as np

from tests.meshes.programs.table import drawn, mapped, program


@program
def map_elementwise(e):
    P = e.P
    return mapped(e, lambda x: x * 2, drawn(), i=P("x", "y"), o=P("x", "y"))


@program
def map_trees(e):
    P = e.P
    f = lambda t, s: {"sum": t["a"] + s, "b": t["b"]}
    return mapped(
        e,
        f,
        {"a": drawn(), "b": drawn((8,))},
        np.float32(2),
        i=({"a": P("x"), "b": P("y")}, P()),
        o={"sum": P("x"), "b": P("y")},
    )


@program
def map_psum(e):
    P, lax = e.P, e.lax
    f = lambda x: (
        lax.psum(x, "x"),
        lax.psum(x, ("x", "y")),
        lax.pmean(x, "y"),
        lax.pmax(x, "x"),
        lax.pmin(x, "y"),
    )
    return mapped(e, f, drawn(), i=P("x", "y"), o=(P(None, "y"), P(), P("x"), P(None, "y"), P("x")))


@program
def map_psum_of_constants(e):
    P, lax = e.P, e.lax
    return mapped(
        e, lambda x: x * lax.psum(1, "x") + lax.axis_size("y"), drawn(), i=P("x"), o=P("x")
    )


@program
def map_axis_index(e):
    P, lax = e.P, e.lax
    f = lambda x: x + lax.axis_index("x") * 10 + lax.axis_index(("x", "y"))
    return mapped(e, f, drawn(), i=P("x", "y"), o=P("x", "y"))


@program
def map_all_gather(e):
    P, lax = e.P, e.lax
    f = lambda x: (lax.all_gather(x, "x"), lax.all_gather(x, "y", axis=1, tiled=True))
    return mapped(e, f, drawn(), i=P("x", "y"), o=(P("x", None, "y"), P("x", "y")))


@program
def map_all_gather_invarying(e):
    P, lax = e.P, e.lax
    return mapped(
        e, lambda x: lax.all_gather(x, "x", tiled=True, to="invarying"), drawn(), i=P("x"), o=P()
    )


@program
def map_psum_scatter(e):
    P, lax = e.P, e.lax
    f = lambda x: lax.psum_scatter(x, "y", scatter_dimension=1, tiled=True)
    return mapped(e, f, drawn(), i=P("x"), o=P("x", "y"))


@program
def map_ppermute(e):
    P, lax = e.P, e.lax
    ring = [(i, (i + 1) % 4) for i in range(4)]
    f = lambda x: (lax.ppermute(x, "x", ring), lax.ppermute(x, "y", [(0, 1)]))
    return mapped(e, f, drawn(), i=P("x", "y"), o=P("x", "y"))


@program
def map_all_to_all(e):
    P, lax = e.P, e.lax
    f = lambda x: (lax.all_to_all(x, "x", 1, 0, tiled=True), lax.all_to_all(x, "x", 1, 1))
    return mapped(e, f, drawn(), i=P("x"), o=(P("x"), P("x")))


@program
def map_pbroadcast_and_shuffle(e):
    P, lax = e.P, e.lax
    return mapped(e, lambda x: lax.pshuffle(x, "x", [2, 0, 3, 1]), drawn(), i=P("x"), o=P("x"))


@program
def map_some_axes(e):
    P, lax = e.P, e.lax
    f = lambda x: x - lax.pmean(x, "x") + lax.axis_index("x")
    g = e.jax.shard_map(f, mesh=e.mesh, in_specs=P("x"), out_specs=P("x"), axis_names={"x"})
    return e.np(e.jax.jit(g)(drawn()))


@program
def map_several_axes_on_one(e):
    P = e.P
    return mapped(
        e, lambda x: x.sum(0, keepdims=True), drawn((16, 3)), i=P(("x", "y")), o=P(("x", "y"))
    )


@program
def map_reversed_axes_on_one(e):
    P, lax = e.P, e.lax
    f = lambda x: x + lax.axis_index(("y", "x"))
    return mapped(e, f, drawn((16, 3)), i=P(("y", "x")), o=P(("y", "x")))


@program
def map_without_vma(e):
    P, lax = e.P, e.lax
    f = lambda x: lax.all_gather(x, "x", tiled=True)
    return mapped(e, f, drawn(), i=P("x"), o=P(), check_vma=False)


@program
def map_under_jit_with_other_work(e):
    P, lax = e.P, e.lax
    f = e.jax.shard_map(
        lambda x: x - lax.pmean(x, "x"), mesh=e.mesh, in_specs=P("x"), out_specs=P("x")
    )
    return e.np(e.jax.jit(lambda x: e.jnp.sin(f(x * 2)).sum(1))(drawn()))


@program
def map_with_closures(e):
    P = e.P
    w = e.jnp.asarray(drawn((4,), seed=4))
    return mapped(e, lambda x: x * w, drawn(), i=P("x"), o=P("x"))


@program
def map_of_the_mesh_in_force(e):
    P = e.P
    with e.jax.set_mesh(e.mesh):
        return e.jax.shard_map(lambda x: x + 1, in_specs=P("x"), out_specs=P("x"))(drawn())


@program
def map_as_a_decorator(e):
    P = e.P

    @e.jax.shard_map(mesh=e.mesh, in_specs=P("y"), out_specs=P("y"))
    def f(x):
        return x * 3

    return f(drawn())


@program
def map_with_static_arguments(e):
    P = e.P
    f = lambda x, n: x * (n if isinstance(n, int) else 0)
    return mapped(e, f, drawn(), 3, i=(P("x"), None), o=P("x"))


@program
def map_nested(e):
    P, lax = e.P, e.lax

    def inner(x):
        return x + lax.axis_index("y")

    def outer(x):
        return e.jax.shard_map(
            inner, in_specs=P(None, "y"), out_specs=P(None, "y"), axis_names={"y"}
        )(x * 2)

    f = e.jax.shard_map(outer, mesh=e.mesh, in_specs=P("x"), out_specs=P("x"), axis_names={"x"})
    return e.np(e.jax.jit(f)(drawn()))


@program
def map_loops(e):
    P, lax = e.P, e.lax

    def f(x):
        def body(c, row):
            return lax.ppermute(c, "x", [(i, (i + 1) % 4) for i in range(4)]) + row, row.sum()

        return lax.scan(body, lax.pcast(e.jnp.zeros(4), ("x",), to="varying"), x)

    return mapped(e, f, drawn(), i=P("x"), o=(P("x"), P("x")))


@program
def map_branches(e):
    P, lax = e.P, e.lax
    f = lambda x: lax.cond(lax.axis_index("x") % 2 == 0, lambda v: v * 2, lambda v: v - 1, x)
    return mapped(e, f, drawn(), i=P("x"), o=P("x"))


@program
def map_while(e):
    P, lax = e.P, e.lax
    f = lambda x: lax.fori_loop(0, 3, lambda i, c: c * 2 - lax.pmean(c, "x"), x)
    return mapped(e, f, drawn(), i=P("x"), o=P("x"))


@program
def map_inner_jit(e):
    P, lax = e.P, e.lax
    g = e.jax.jit(lambda x: lax.psum(x, "x") + 1)
    return mapped(e, lambda x: g(x), drawn(), i=P("x"), o=P())


@program
def map_random(e):
    P, lax = e.P, e.lax
    f = lambda k: e.jax.random.normal(e.jax.random.fold_in(k, lax.axis_index("x")), (1, 3))
    return mapped(e, f, e.jax.random.key(0), i=P(), o=P("x"))


@program
def map_ring_attention_like(e):
    P, lax = e.P, e.lax
    ring = [(i, (i + 1) % 4) for i in range(4)]

    def f(q, k, v):
        total, weight = e.jnp.zeros_like(q), e.jnp.zeros((*q.shape[:1], 1))
        weight = lax.pcast(weight, ("x",), to="varying")
        for _ in range(4):
            s = e.jnp.exp(q @ k.T / 30)
            total, weight = total + s @ v, weight + s.sum(1, keepdims=True)
            k, v = lax.ppermute((k, v), "x", ring)
        return total / weight

    return mapped(e, f, drawn(), drawn(seed=1), drawn(seed=2), i=P("x"), o=P("x"))


def _grouped(e, f):
    rows = e.jax.make_mesh((8,), ("i",), axis_types=(e.AxisType.Auto,))
    options = {"mesh": rows, "in_specs": e.P("i"), "out_specs": e.P("i"), "check_vma": False}
    return e.jax.shard_map(f, **options)


GROUPS = ([[0, 2, 4, 6], [1, 3, 5, 7]], [[0, 1], [2, 3], [7, 4], [6, 5]])


def _collectives(e, groups):
    k, options = len(groups[0]), {"axis_index_groups": groups}
    return (
        lambda a: e.lax.all_gather(a, "i", **options)[None],
        lambda a: e.lax.all_gather(a, "i", axis=1, tiled=True, **options),
        lambda a: e.lax.all_to_all(a.reshape(k, 8 // k), "i", 0, 1, **options),
        lambda a: e.lax.all_to_all(a, "i", 1, 0, tiled=True, **options),
        lambda a: e.lax.psum_scatter(a.reshape(k, 8 // k), "i", **options),
        lambda a: e.lax.psum_scatter(a, "i", scatter_dimension=1, tiled=True, **options),
    )


@program
def collectives_within_groups(e):
    functions = [f for groups in GROUPS for f in _collectives(e, groups)]
    return [e.np(e.jax.jit(_grouped(e, f))(drawn((8, 8)))) for f in functions]


@program
def derivatives_within_groups(e):
    gather = _grouped(
        e, lambda a: e.lax.all_gather(a, "i", axis_index_groups=GROUPS[1], tiled=True, axis=1) ** 2
    )
    scatter = _grouped(
        e,
        lambda a: e.lax.psum_scatter(a, "i", scatter_dimension=1, axis_index_groups=GROUPS[0], tiled=True) ** 2,
    )  # fmt: skip
    weights = drawn((8, 16), seed=4)
    return [
        e.np(e.jax.jit(e.jax.grad(lambda x, f=f, n=n: (f(x) * weights[:, :n]).sum()))(drawn((8, 8))))
        for f, n in ((gather, 16), (scatter, 2))
    ]  # fmt: skip


@program
def error_groups_of_two_sizes(e):
    f = _grouped(e, lambda a: e.lax.all_gather(a, "i", axis_index_groups=[[0, 1, 2], [3, 4, 5, 6, 7]], tiled=True))  # fmt: skip
    return f(drawn((8, 8)))


@program
def error_groups_under_vmap(e):
    f = lambda a: e.lax.all_gather(a, "i", axis_index_groups=GROUPS[0])
    return e.jax.vmap(f, axis_name="i")(drawn((8, 8)))
