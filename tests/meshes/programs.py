"""Programs over a mesh of eight devices, for plugjax and for JAX: ``python -m tests.meshes.programs jax|numpy|xla|iree FILE``.

Each gets a namespace with the framework's names and a mesh of 4 x 2 devices with axes ``x`` and ``y``, and returns a tree of
arrays. What is written to the file: for each leaf its values, dtype and partition spec; or the type of the error.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import warnings
from types import SimpleNamespace

import numpy as np

PROGRAMS = {}


def program(function):
    PROGRAMS[function.__name__] = function
    return function


def _a(shape=(8, 4), dtype="float32", seed=0):
    rng = np.random.default_rng(seed)
    return rng.integers(-8, 8, shape).astype(dtype)


# Values -------------------------------------------------------------------------------------------


@program
def put_and_read(e):
    x = e.jax.device_put(_a(), e.named("x", "y"))
    return x, x.addressable_shards[3].data, x.addressable_data(5)


@program
def shards_know_where_they_are(e):
    x = e.jax.device_put(_a(), e.named("y"))
    return [
        (
            np.array(s.replica_id),
            *(np.array([i.start or 0, -1 if i.stop is None else i.stop]) for i in s.index),
        )
        for s in x.addressable_shards
    ]


@program
def descriptions_of_shardings(e):
    s = e.named(None, ("x", "y"))
    same = e.named("x").is_equivalent_to(e.named("x", None), 2)
    other = e.named("x").is_equivalent_to(e.named("y"), 1)
    indices = list(s.devices_indices_map((2, 16)).values())
    return (
        np.array(s.shard_shape((2, 16))), np.array([same, other, s.is_fully_replicated, s.is_fully_addressable]),
        np.array([i[1].start for i in indices]), np.array([s.num_devices, len(s.device_set)]),
    )  # fmt: skip


@program
def trees_and_prefixes(e):
    tree = {"a": _a(), "b": (_a((8,)), _a((2, 8)))}
    placed = e.jax.device_put(tree, {"a": e.named("x"), "b": (e.named("x"), e.named(None, "y"))})
    return placed, e.jax.device_put(tree["b"], e.named())


@program
def moving_between_shardings(e):
    x = e.jax.device_put(_a(), e.named("x"))
    y = e.jax.device_put(x, e.named(None, "x"))
    return x, y, e.jax.device_put(y, e.named())


@program
def arrays_from_callbacks(e):
    whole = _a()
    x = e.jax.make_array_from_callback((8, 4), e.named("x", "y"), lambda index: whole[index])
    parts = [s.data for s in x.addressable_shards]
    return x, e.jax.make_array_from_single_device_arrays((8, 4), e.named("x", "y"), parts)


@program
def arrays_from_local_data(e):
    return e.jax.make_array_from_process_local_data(e.named("x"), _a())


@program
def small_dtypes_and_scalars(e):
    put = lambda x, *spec: e.jax.device_put(x, e.named(*spec))
    return (
        put(np.array(3, "int8")), put(_a((8,), "bool"), "x"), put(_a((8, 2), "uint8"), "x"),
        put(_a((8, 2), "complex64"), "x", "y"), put(e.jnp.arange(8, dtype="bfloat16"), "x"),
    )  # fmt: skip


@program
def keys_are_spread(e):
    keys = e.jax.random.split(e.jax.random.key(3), 8)
    spread = e.jax.device_put(keys, e.named("x"))
    return e.np(
        (e.jax.vmap(lambda k: e.jax.random.normal(k, (2,)))(spread), e.jax.random.key_data(spread))
    )


# Computing with spread arrays ---------------------------------------------------------------------


@program
def operators(e):
    x = e.jax.device_put(_a(), e.named("x", "y"))
    y = e.jax.device_put(_a(seed=1), e.named("x", "y"))
    return x + y, x * 2 - 1, -x, x / (y + 20), x > y


@program
def uncommitted_operands_follow(e):
    x = e.jax.device_put(_a(), e.named("x"))
    return x + e.jnp.ones((8, 4)), x * np.float32(2), e.jnp.where(x > 0, x, 0.0)


@program
def reductions_and_shapes(e):
    x = e.jax.device_put(_a(), e.named("x", "y"))
    return [
        e.np(v) for v in (x.sum(), x.sum(0), x.max(1), x.T, x.reshape(-1), x[0], x[2:4], x.mean(1))
    ]


@program
def products(e):
    x = e.jax.device_put(_a(), e.named("x"))
    w = e.jax.device_put(_a((4, 6), seed=2), e.named(None, "y"))
    return e.np(x @ w), e.np(e.jnp.einsum("ij,kj->ik", x, x))


@program
def sorting_and_scans(e):
    x = e.jax.device_put(_a((8,)), e.named("x"))
    return e.np(e.jnp.sort(x)), e.np(e.jnp.cumsum(x)), e.np(e.jnp.argmax(x)), e.np(x.at[3].set(9))


@program
def jit_follows_arguments(e):
    x = e.jax.device_put(_a(), e.named("x", "y"))
    return e.jax.jit(lambda x: (x * 2, e.jnp.tanh(x)))(x)


@program
def jit_in_shardings(e):
    f = e.jax.jit(
        lambda x, y: x * 2 + y,
        in_shardings=(e.named("x"), e.named("x")),
        out_shardings=e.named("x"),
    )
    return f(_a(), _a(seed=1))


@program
def jit_out_shardings(e):
    f = e.jax.jit(
        lambda x: {"a": x + 1, "b": x.sum(0)},
        out_shardings={"a": e.named("x", "y"), "b": e.named("y")},
    )
    return f(_a())


@program
def jit_out_shardings_prefix(e):
    return e.jax.jit(lambda x: (x, x * 2), out_shardings=e.named(None, "y"))(_a())


@program
def jit_with_specs_of_the_mesh_in_force(e):
    with e.jax.set_mesh(e.mesh):
        return e.jax.jit(lambda x: x + 1, in_shardings=e.P("x"), out_shardings=e.P("x", "y"))(_a())


@program
def the_old_mesh_context(e):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with e.mesh:
            return e.jax.jit(lambda x: e.jax.lax.with_sharding_constraint(x + 1, e.P("x", "y")))(
                _a()
            )


@program
def donation(e):
    x = e.jax.device_put(_a(), e.named("x"))
    y = e.jax.jit(lambda x: x + 1, donate_argnums=0, out_shardings=e.named("x"))(x)
    return y, np.array(x.is_deleted())


@program
def constraints(e):
    constrain = e.jax.lax.with_sharding_constraint

    def f(x):
        y = constrain(x @ x.T, e.named("x", "y"))
        return constrain(y + 1, e.named("y"))

    return e.jax.jit(f)(_a())


@program
def constraints_eager_and_differentiated(e):
    constrain = e.jax.lax.with_sharding_constraint
    x = constrain(e.jnp.asarray(_a()), e.named("x"))
    g = e.jax.jit(e.jax.grad(lambda x: (constrain(x, e.named("x")) ** 2).sum()))(_a())
    return x, e.np(g)


@program
def constraints_under_vmap(e):
    constrain = e.jax.lax.with_sharding_constraint
    f = e.jax.vmap(lambda x: constrain(x * 2, e.named("x")))
    return e.np(e.jax.jit(f)(_a((3, 8))))


@program
def constraints_under_vmap_with_a_name(e):
    constrain = e.jax.lax.with_sharding_constraint
    f = e.jax.vmap(lambda x: constrain(x * 2, e.named("x")), spmd_axis_name="y")
    return e.jax.jit(f)(_a((2, 8)))


@program
def constraints_in_a_scan(e):
    constrain = e.jax.lax.with_sharding_constraint

    def body(c, x):
        c = constrain(c + x, e.named("x"))
        return c, c.sum()

    return e.np(e.jax.jit(lambda xs: e.jax.lax.scan(body, e.jnp.zeros(8), xs))(_a((3, 8))))


@program
def loops_over_spread_values(e):
    x = e.jax.device_put(_a((8,)), e.named("x"))
    f = e.jax.jit(lambda x: e.jax.lax.fori_loop(0, 4, lambda i, c: c * 2 - x, x))
    return e.np(f(x)), e.np(
        e.jax.jit(lambda x: e.jax.lax.cond(x[0] > 0, e.jnp.sin, e.jnp.cos, x))(x)
    )


@program
def gradients_of_spread_values(e):
    x = e.jax.device_put(_a(), e.named("x"))
    w = e.jax.device_put(_a((4, 3), seed=1), e.named())
    loss = lambda w, x: (e.jnp.tanh(x @ w / 10) ** 2).mean()
    value, g = e.jax.jit(e.jax.value_and_grad(loss))(w, x)
    return e.np(value), e.np(g), e.np(e.jax.grad(loss)(w, x))


@program
def device_put_inside_jit(e):
    return e.jax.jit(lambda x: e.jax.device_put(x + 1, e.named("x")))(_a())


@program
def a_mesh_of_one_axis(e):
    mesh = e.jax.sharding.Mesh(e.devices[:4], ("i",))
    x = e.jax.device_put(_a(), e.jax.NamedSharding(mesh, e.P(None, "i")))
    return x * 2, e.jax.jit(lambda x: x + 1)(x)


@program
def a_mesh_of_one_device(e):
    mesh = e.jax.sharding.Mesh(e.devices[:1], ("i",))
    x = e.jax.device_put(_a(), e.jax.NamedSharding(mesh, e.P("i")))
    return e.np(x.sum()), e.np(x + 1), e.np(e.jax.jit(lambda x: x @ x.T)(x))


@program
def ahead_of_time(e):
    shape = e.jax.ShapeDtypeStruct((8, 4), "float32", sharding=e.named("x"))
    compiled = e.jax.jit(lambda x: x * 2, out_shardings=e.named("x")).lower(shape).compile()
    return compiled(e.jax.device_put(_a(), e.named("x")))


# shard_map ----------------------------------------------------------------------------------------


def _mapped(e, f, *args, i=None, o=None, **options):
    return e.jax.shard_map(f, mesh=e.mesh, in_specs=i, out_specs=o, **options)(*args)


@program
def map_elementwise(e):
    P = e.P
    return _mapped(e, lambda x: x * 2, _a(), i=P("x", "y"), o=P("x", "y"))


@program
def map_trees(e):
    P = e.P
    f = lambda t, s: {"sum": t["a"] + s, "b": t["b"]}
    return _mapped(
        e,
        f,
        {"a": _a(), "b": _a((8,))},
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
    return _mapped(e, f, _a(), i=P("x", "y"), o=(P(None, "y"), P(), P("x"), P(None, "y"), P("x")))


@program
def map_psum_of_constants(e):
    P, lax = e.P, e.lax
    return _mapped(e, lambda x: x * lax.psum(1, "x") + lax.axis_size("y"), _a(), i=P("x"), o=P("x"))


@program
def map_axis_index(e):
    P, lax = e.P, e.lax
    f = lambda x: x + lax.axis_index("x") * 10 + lax.axis_index(("x", "y"))
    return _mapped(e, f, _a(), i=P("x", "y"), o=P("x", "y"))


@program
def map_all_gather(e):
    P, lax = e.P, e.lax
    f = lambda x: (lax.all_gather(x, "x"), lax.all_gather(x, "y", axis=1, tiled=True))
    return _mapped(e, f, _a(), i=P("x", "y"), o=(P("x", None, "y"), P("x", "y")))


@program
def map_all_gather_invarying(e):
    P, lax = e.P, e.lax
    return _mapped(
        e, lambda x: lax.all_gather(x, "x", tiled=True, to="invarying"), _a(), i=P("x"), o=P()
    )


@program
def map_psum_scatter(e):
    P, lax = e.P, e.lax
    f = lambda x: lax.psum_scatter(x, "y", scatter_dimension=1, tiled=True)
    return _mapped(e, f, _a(), i=P("x"), o=P("x", "y"))


@program
def map_ppermute(e):
    P, lax = e.P, e.lax
    ring = [(i, (i + 1) % 4) for i in range(4)]
    f = lambda x: (lax.ppermute(x, "x", ring), lax.ppermute(x, "y", [(0, 1)]))
    return _mapped(e, f, _a(), i=P("x", "y"), o=P("x", "y"))


@program
def map_all_to_all(e):
    P, lax = e.P, e.lax
    f = lambda x: (lax.all_to_all(x, "x", 1, 0, tiled=True), lax.all_to_all(x, "x", 1, 1))
    return _mapped(e, f, _a(), i=P("x"), o=(P("x"), P("x")))


@program
def map_pbroadcast_and_shuffle(e):
    P, lax = e.P, e.lax
    return _mapped(e, lambda x: lax.pshuffle(x, "x", [2, 0, 3, 1]), _a(), i=P("x"), o=P("x"))


@program
def map_some_axes(e):
    P, lax = e.P, e.lax
    f = lambda x: x - lax.pmean(x, "x") + lax.axis_index("x")
    g = e.jax.shard_map(f, mesh=e.mesh, in_specs=P("x"), out_specs=P("x"), axis_names={"x"})
    return e.np(e.jax.jit(g)(_a()))


@program
def map_several_axes_on_one(e):
    P = e.P
    return _mapped(
        e, lambda x: x.sum(0, keepdims=True), _a((16, 3)), i=P(("x", "y")), o=P(("x", "y"))
    )


@program
def map_reversed_axes_on_one(e):
    P, lax = e.P, e.lax
    f = lambda x: x + lax.axis_index(("y", "x"))
    return _mapped(e, f, _a((16, 3)), i=P(("y", "x")), o=P(("y", "x")))


@program
def map_without_vma(e):
    P, lax = e.P, e.lax
    f = lambda x: lax.all_gather(x, "x", tiled=True)
    return _mapped(e, f, _a(), i=P("x"), o=P(), check_vma=False)


@program
def map_under_jit_with_other_work(e):
    P, lax = e.P, e.lax
    f = e.jax.shard_map(
        lambda x: x - lax.pmean(x, "x"), mesh=e.mesh, in_specs=P("x"), out_specs=P("x")
    )
    return e.np(e.jax.jit(lambda x: e.jnp.sin(f(x * 2)).sum(1))(_a()))


@program
def map_with_closures(e):
    P = e.P
    w = e.jnp.asarray(_a((4,), seed=4))
    return _mapped(e, lambda x: x * w, _a(), i=P("x"), o=P("x"))


@program
def map_of_the_mesh_in_force(e):
    P = e.P
    with e.jax.set_mesh(e.mesh):
        return e.jax.shard_map(lambda x: x + 1, in_specs=P("x"), out_specs=P("x"))(_a())


@program
def map_as_a_decorator(e):
    P = e.P

    @e.jax.shard_map(mesh=e.mesh, in_specs=P("y"), out_specs=P("y"))
    def f(x):
        return x * 3

    return f(_a())


@program
def map_with_static_arguments(e):
    P = e.P
    f = lambda x, n: x * (n if isinstance(n, int) else 0)
    return _mapped(e, f, _a(), 3, i=(P("x"), None), o=P("x"))


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
    return e.np(e.jax.jit(f)(_a()))


@program
def map_loops(e):
    P, lax = e.P, e.lax

    def f(x):
        def body(c, row):
            return lax.ppermute(c, "x", [(i, (i + 1) % 4) for i in range(4)]) + row, row.sum()

        return lax.scan(body, lax.pcast(e.jnp.zeros(4), ("x",), to="varying"), x)

    return _mapped(e, f, _a(), i=P("x"), o=(P("x"), P("x")))


@program
def map_branches(e):
    P, lax = e.P, e.lax
    f = lambda x: lax.cond(lax.axis_index("x") % 2 == 0, lambda v: v * 2, lambda v: v - 1, x)
    return _mapped(e, f, _a(), i=P("x"), o=P("x"))


@program
def map_while(e):
    P, lax = e.P, e.lax
    f = lambda x: lax.fori_loop(0, 3, lambda i, c: c * 2 - lax.pmean(c, "x"), x)
    return _mapped(e, f, _a(), i=P("x"), o=P("x"))


@program
def map_inner_jit(e):
    P, lax = e.P, e.lax
    g = e.jax.jit(lambda x: lax.psum(x, "x") + 1)
    return _mapped(e, lambda x: g(x), _a(), i=P("x"), o=P())


@program
def map_random(e):
    P, lax = e.P, e.lax
    f = lambda k: e.jax.random.normal(e.jax.random.fold_in(k, lax.axis_index("x")), (1, 3))
    return _mapped(e, f, e.jax.random.key(0), i=P(), o=P("x"))


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

    return _mapped(e, f, _a(), _a(seed=1), _a(seed=2), i=P("x"), o=P("x"))


# Derivatives and batches --------------------------------------------------------------------------


@program
def map_gradients(e):
    P, lax = e.P, e.lax
    f = e.jax.shard_map(
        lambda x, w: lax.psum((e.jnp.sin(x) @ w).sum(), ("x", "y")),
        mesh=e.mesh,
        in_specs=(P("x", "y"), P("y")),
        out_specs=P(),
    )
    return e.np(e.jax.grad(f, (0, 1))(_a(), _a((4, 3))))


@program
def map_gradients_of_repeated(e):
    P = e.P
    f = e.jax.shard_map(lambda w, x: w * x, mesh=e.mesh, in_specs=(P(), P("x")), out_specs=P("x"))
    return e.np(e.jax.grad(lambda w, x: (f(w, x) ** 2).sum(), (0, 1))(np.float32(2), _a()))


@program
def map_gradients_without_vma(e):
    P, lax = e.P, e.lax
    f = e.jax.shard_map(
        lambda w, x: lax.psum((w * x) ** 2, "x"),
        mesh=e.mesh,
        in_specs=(P(), P("x")),
        out_specs=P(),
        check_vma=False,
    )
    return e.np(e.jax.grad(lambda w, x: f(w, x).sum(), (0, 1))(np.float32(2), _a()))


@program
def map_gradients_inside(e):
    P, lax = e.P, e.lax

    def step(w, x):
        loss = lambda w: lax.pmean(((x @ w) ** 2).mean(), ("x", "y"))
        return w - 0.1 * e.jax.grad(loss)(w)

    return _mapped(e, step, _a((4, 2)), _a(), i=(P(), P(("x", "y"))), o=P())


@program
def map_gradients_inside_without_vma(e):
    P, lax = e.P, e.lax

    def step(w, x):
        g = e.jax.grad(lambda w: ((x @ w) ** 2).mean())(w)
        return w - 0.1 * lax.pmean(g, ("x", "y"))

    return _mapped(e, step, _a((4, 2)), _a(), i=(P(), P(("x", "y"))), o=P(), check_vma=False)


@program
def map_gradients_inside_of_local_values(e):
    P, lax = e.P, e.lax

    def g(w, x):
        return e.jax.grad(lambda w: (w * x).sum())(lax.pcast(w, ("x", "y"), to="varying")).reshape(
            1
        )

    return _mapped(e, g, np.float32(2), _a(), i=(P(), P("x", "y")), o=P(("x", "y")))


@program
def map_gradients_through_scan_inside(e):
    P, lax = e.P, e.lax

    def loss(w, x):
        def body(c, row):
            return c + lax.psum(e.jnp.tanh(row * w / 8).sum(), "x") * c / 30, None

        return lax.scan(body, e.jnp.float32(1.0), x)[0]

    return _mapped(
        e,
        lambda w, x: e.jax.value_and_grad(loss)(w, x),
        np.float32(0.5),
        _a(),
        i=(P(), P("x")),
        o=(P(), P()),
    )


@program
def map_tensor_parallel(e):
    P, lax = e.P, e.lax

    def mlp(x, w1, w2):
        return lax.psum(e.jnp.tanh(x @ w1 / 8) @ w2, "y")

    f = e.jax.shard_map(mlp, mesh=e.mesh, in_specs=(P("x"), P(None, "y"), P("y")), out_specs=P("x"))
    loss = lambda x, w1, w2: (f(x, w1, w2) ** 2).mean()
    return e.np(e.jax.jit(e.jax.value_and_grad(loss, (0, 1, 2)))(_a(), _a((4, 6)), _a((6, 4))))


@program
def map_second_derivatives(e):
    P, lax = e.P, e.lax
    f = e.jax.shard_map(
        lambda x: lax.psum((x**3).sum(), "x"), mesh=e.mesh, in_specs=P("x"), out_specs=P()
    )
    return e.np(e.jax.hessian(f)(_a((4,))))


@program
def map_jvp_and_linearize(e):
    P, lax = e.P, e.lax
    f = e.jax.shard_map(
        lambda x: lax.psum(e.jnp.sin(x), "x"), mesh=e.mesh, in_specs=P("x"), out_specs=P()
    )
    y, linear = e.jax.linearize(f, _a())
    return e.np(e.jax.jvp(f, (_a(),), (_a(seed=1),))), e.np(linear(_a(seed=1)))


@program
def map_gathers_differentiated(e):
    P, lax = e.P, e.lax

    def f(x):
        g = lax.all_gather(x, "x", tiled=True)
        s = lax.psum_scatter(g * g, "x", tiled=True)
        return lax.ppermute(s, "x", [(0, 2), (2, 0), (1, 3), (3, 1)])

    g = e.jax.shard_map(f, mesh=e.mesh, in_specs=P("x"), out_specs=P("x"))
    return e.np(e.jax.grad(lambda x: (g(x) * _a(seed=3)).sum())(_a()))


@program
def map_invarying_gathers_differentiated(e):
    P, lax = e.P, e.lax
    f = lambda x: (lax.all_gather(x, "x", tiled=True, to="invarying") * _a(seed=3)).sum()
    g = e.jax.shard_map(f, mesh=e.mesh, in_specs=P("x"), out_specs=P())
    return e.np(e.jax.grad(g)(_a()))


@program
def map_batched(e):
    P, lax = e.P, e.lax
    f = e.jax.shard_map(
        lambda x, s: x * s - lax.pmean(x, "x"),
        mesh=e.mesh,
        in_specs=(P("x"), P()),
        out_specs=P("x"),
    )
    return e.np(e.jax.vmap(f, in_axes=(1, None), out_axes=1)(_a((8, 3, 2)), np.float32(3)))


@program
def map_batched_with_a_name(e):
    P, lax = e.P, e.lax
    f = e.jax.shard_map(
        lambda x: x - lax.pmean(x, "x"), mesh=e.mesh, in_specs=P("x"), out_specs=P("x")
    )
    return e.np(e.jax.jit(e.jax.vmap(f, spmd_axis_name="y"))(_a((4, 8))))


@program
def map_batched_inside(e):
    P, lax = e.P, e.lax
    f = lambda x: e.jax.vmap(lambda r: r - lax.pmean(r, "x") + lax.psum(r, "b"), axis_name="b")(x)
    return _mapped(e, f, _a(), i=P("x"), o=P("x"))


@program
def map_checkpointed(e):
    P, lax = e.P, e.lax
    f = e.jax.checkpoint(lambda x: e.jnp.sin(e.jnp.cos(x)) * lax.pmean(x, "x"))
    g = e.jax.shard_map(f, mesh=e.mesh, in_specs=P("x"), out_specs=P("x"))
    return e.np(e.jax.grad(lambda x: g(x).sum())(_a()))


@program
def map_custom_derivatives(e):
    P, lax = e.P, e.lax

    @e.jax.custom_vjp
    def f(x):
        return x * 2

    f.defvjp(lambda x: (f(x), x), lambda x, g: (g * x,))
    g = e.jax.shard_map(lambda x: lax.psum(f(x), "x"), mesh=e.mesh, in_specs=P("x"), out_specs=P())
    return e.np(e.jax.grad(lambda x: g(x).sum())(_a()))


# pmap and smap ------------------------------------------------------------------------------------


@program
def pmap_maps_over_devices(e):
    return e.np(e.jax.pmap(lambda x, y: x * 2 + y, in_axes=(0, None))(_a((8, 3)), np.float32(1)))


@program
def pmap_collectives(e):
    f = e.jax.pmap(lambda x: (x / e.lax.psum(x, "i"), e.lax.axis_index("i")), axis_name="i")
    return e.np(f(np.abs(_a((8, 2))) + 1))


@program
def pmap_some_devices_and_axes(e):
    f = e.jax.pmap(
        lambda x, s: (x.sum() + s, x), in_axes=(1, 0), out_axes=(0, 1), devices=list(e.devices[:4])
    )
    return e.np(f(_a((3, 4)), _a((4,))))


@program
def pmap_static_arguments_and_gradients(e):
    f = e.jax.pmap(lambda x, n: x**n, static_broadcasted_argnums=1)
    return e.np(f(_a((8,)), 2)), e.np(e.jax.grad(lambda x: f(x, 3).sum())(_a((8,))))


@program
def pmap_training_step(e):
    def step(w, x):
        g = e.jax.grad(lambda w: ((x @ w) ** 2).mean())(w)
        return w - 0.1 * e.lax.pmean(g, "batch")

    w = np.broadcast_to(_a((4, 2)), (8, 4, 2))
    return e.np(e.jax.pmap(step, axis_name="batch")(w, _a((8, 3, 4))))


@program
def smap_maps_one_axis(e):
    f = lambda x: e.jax.smap(
        lambda v: v - e.lax.pmean(v, "x"), in_axes=0, out_axes=0, axis_name="x"
    )(x)
    with e.jax.set_mesh(e.mesh):
        return e.np(e.jax.jit(f)(_a()))


# The host -----------------------------------------------------------------------------------------


def _doubled(e, x):
    return e.jax.pure_callback(
        lambda a: 2 * np.asarray(a), e.jax.ShapeDtypeStruct(x.shape, x.dtype), x
    )


@program
def callback_of_a_spread_array(e):
    x = e.jax.device_put(_a(), e.named("x", "y"))
    return e.np(e.jax.jit(lambda x: _doubled(e, x) + 1)(x))


@program
def callback_of_each_device(e):
    P = e.P
    return _mapped(e, lambda x: _doubled(e, x) + x, _a(), i=P("x", "y"), o=P("x", "y"))


@program
def callbacks_of_a_print(e):
    seen = []
    x = e.jax.device_put(_a(), e.named("x"))

    def f(x):
        e.jax.debug.callback(lambda total: seen.append(float(total)), x.sum())
        return 2 * x

    y = e.np(e.jax.jit(f)(x))
    e.jax.effects_barrier()
    return y, np.array(sorted(set(seen)))


@program
def linear_algebra_of_a_spread_matrix(e):
    linalg = e.jnp.linalg
    a = _a((8, 8)) + 20 * np.eye(8, dtype="float32")
    x = e.jax.device_put(a @ a.T, e.named("x", "y"))
    functions = (linalg.cholesky, linalg.inv, linalg.eigvalsh, lambda v: linalg.svd(v)[1])
    return [e.np(e.jax.jit(lambda v, f=f: f(v) / 100)(x)) for f in functions]


@program
def groups_of_devices(e):
    groups = [[0, 1, 2, 3], [4, 5, 6, 7]]
    f = e.jax.pmap(lambda a: e.lax.psum(a, "i", axis_index_groups=groups), axis_name="i")
    return e.np(f(np.arange(8, dtype="float32")))


@program
def values_like_a_spread_array(e):
    x = e.jax.device_put(_a(), e.named("x", "y"))
    return e.jnp.zeros_like(x), e.jnp.full_like(x, 3)


# Errors -------------------------------------------------------------------------------------------


def _fails(name, function):
    PROGRAMS[f"error_{name}"] = function


_fails("unknown axis", lambda e: e.named("z"))
_fails("axis twice", lambda e: e.named("x", "x"))
_fails("spec longer than the rank", lambda e: e.jax.device_put(np.ones(8), e.named("x", "y")))
_fails("uneven", lambda e: e.jax.device_put(np.ones(6), e.named("x")))
_fails("uneven in jit", lambda e: e.jax.jit(lambda x: x, in_shardings=e.named("x"))(np.ones(6)))
_fails("uneven result", lambda e: e.jax.jit(lambda x: x, out_shardings=e.named("x"))(np.ones(6)))
_fails("too many devices", lambda e: e.jax.make_mesh((3, 3), ("a", "b")))
_fails("shape of the mesh", lambda e: e.jax.sharding.Mesh(e.devices, ("a", "b")))
_fails(
    "types of axes", lambda e: e.jax.make_mesh((4, 2), ("a", "b"), axis_types=(e.AxisType.Auto,))
)
_fails("spec without a mesh", lambda e: e.jax.device_put(np.ones(8), e.P("x")))
_fails(
    "spec without a mesh in jit",
    lambda e: e.jax.jit(lambda x: x, out_shardings=e.P("x"))(np.ones(8)),
)
_fails(
    "constraint without a mesh", lambda e: e.lax.with_sharding_constraint(e.jnp.ones(8), e.P("x"))
)
_fails("other devices", lambda e: e.jax.device_put(np.ones(8), e.named("x")) + e.jax.device_put(np.ones(8), e.jax.NamedSharding(e.jax.sharding.Mesh(e.devices[:4], ("i",)), e.P("i"))))  # fmt: skip
_fails("one device beside a mesh", lambda e: e.jax.device_put(np.ones(8), e.named("x")) + e.jax.device_put(np.ones(8), e.devices[1]))  # fmt: skip
_fails("another sharding than jit wants", lambda e: e.jax.jit(lambda x: x, in_shardings=e.named("y"))(e.jax.device_put(np.ones(8), e.named("x"))))  # fmt: skip
_fails("in_shardings of another tree", lambda e: e.jax.jit(lambda x, y: x, in_shardings=(e.named("x"),))(np.ones(8), np.ones(8)))  # fmt: skip
_fails(
    "out_shardings of another tree",
    lambda e: e.jax.jit(lambda x: (x, x), out_shardings=(e.named("x"),))(np.ones(8)),
)
_fails(
    "keywords with in_shardings",
    lambda e: e.jax.jit(lambda x: x, in_shardings=e.named("x"))(x=np.ones(8)),
)
_fails("no sharding in jit", lambda e: e.jax.jit(lambda x: x, in_shardings=3)(np.ones(8)))
_fails(
    "map without a mesh",
    lambda e: e.jax.shard_map(lambda x: x, in_specs=e.P("x"), out_specs=e.P("x"))(_a()),
)
_fails("map unknown axis", lambda e: _mapped(e, lambda x: x, _a(), i=e.P("z"), o=e.P()))
_fails(
    "map unknown axis of result", lambda e: _mapped(e, lambda x: x, _a(), i=e.P("x"), o=e.P("z"))
)
_fails("map varying result", lambda e: _mapped(e, lambda x: x, _a(), i=e.P("x"), o=e.P()))
_fails(
    "map tree of arguments",
    lambda e: _mapped(e, lambda x: x, _a(), i=(e.P("x"), e.P()), o=e.P("x")),
)
_fails(
    "map tree of results", lambda e: _mapped(e, lambda x: x, _a(), i=e.P("x"), o=(e.P("x"), e.P()))
)
_fails("map uneven", lambda e: _mapped(e, lambda x: x, _a((6,)), i=e.P("x"), o=e.P("x")))
_fails(
    "map rank of argument", lambda e: _mapped(e, lambda x: x, np.float32(1), i=e.P("x"), o=e.P("x"))
)
_fails("map rank of result", lambda e: _mapped(e, lambda x: x.sum(), _a(), i=e.P("x"), o=e.P("x")))
_fails(
    "map psum over an unknown axis",
    lambda e: _mapped(e, lambda x: e.lax.psum(x, "z"), _a(), i=e.P("x"), o=e.P("x")),
)
_fails("map specs that are none", lambda e: _mapped(e, lambda x: x, _a(), i="x", o=e.P("x")))
_fails(
    "map no specs", lambda e: e.jax.shard_map(lambda x: x, mesh=e.mesh, out_specs=e.P("x"))(_a())
)
_fails(
    "map names beside the mesh",
    lambda e: _mapped(e, lambda x: x, _a(), i=e.P("x"), o=e.P("x"), axis_names={"q"}),
)
_fails("map carry that varies", lambda e: _mapped(e, lambda x: e.lax.scan(lambda c, r: (c + r.sum(), r), 0.0, x)[1], _a(), i=e.P("x"), o=e.P("x")))  # fmt: skip
_fails("psum outside", lambda e: e.lax.psum(e.jnp.ones(3), "x"))
_fails("pmap sizes", lambda e: e.jax.pmap(lambda x, y: x)(np.ones((8, 2)), np.ones((4, 2))))
_fails("pmap too many", lambda e: e.jax.pmap(lambda x: x)(np.ones((9, 2))))
_fails(
    "callback of another shape",
    lambda e: e.jax.make_array_from_callback((8,), e.named("x"), lambda i: np.ones(3)),
)
_fails(
    "too few arrays",
    lambda e: e.jax.make_array_from_single_device_arrays((8,), e.named("x"), [e.jnp.ones(2)]),
)
_fails("mesh in a trace", lambda e: e.jax.jit(lambda x: (e.jax.set_mesh(e.mesh), x)[1])(1.0))
_fails("two meshes", lambda e: e.jax.jit(lambda x: e.lax.with_sharding_constraint(x, e.jax.NamedSharding(e.jax.sharding.Mesh(e.devices[:4], ("i",)), e.P("i"))))(e.jax.device_put(np.ones(8), e.named("x"))))  # fmt: skip


# Running ------------------------------------------------------------------------------------------


def environment(framework):
    """The namespace of the programs."""
    if framework == "jax":
        os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
        jax = importlib.import_module("jax")
    else:
        os.environ["PLUGJAX_BACKEND"] = framework
        jax = importlib.import_module("plugjax")
        jax.config.update("jax_num_cpu_devices", 8)
    name = jax.__name__
    kind = importlib.import_module(f"{name}.sharding").AxisType
    devices = np.array(jax.devices()[:8], dtype=object)
    mesh = jax.make_mesh((4, 2), ("x", "y"), axis_types=(kind.Auto, kind.Auto))
    tree_map = importlib.import_module(f"{name}.tree_util").tree_map
    return SimpleNamespace(
        jax=jax,
        jnp=importlib.import_module(f"{name}.numpy"),
        lax=importlib.import_module(f"{name}.lax"),
        P=jax.P,
        AxisType=kind,
        mesh=mesh,
        devices=devices,
        named=lambda *spec: jax.NamedSharding(mesh, jax.P(*spec)),
        # Values without their shardings, where these are the compiler's choice.
        np=lambda tree: tree_map(np.asarray, tree),
        leaves=importlib.import_module(f"{name}.tree_util").tree_leaves,
    )


def described(e, leaf):
    spec = getattr(getattr(leaf, "sharding", None), "spec", None)
    value = np.asarray(leaf)
    plain = value.astype(np.complex128 if value.dtype.kind == "c" else np.float64)
    parts = (
        [plain.real.tolist(), plain.imag.tolist()] if value.dtype.kind == "c" else plain.tolist()
    )
    trimmed = list(spec) if spec is not None else []
    while trimmed and trimmed[-1] is None:
        trimmed.pop()
    return {
        "dtype": str(value.dtype),
        "value": parts,
        "spec": None if spec is None else str(trimmed),
    }


def outcome(e, function):
    try:
        return [described(e, leaf) for leaf in e.leaves(function(e))]
    except Exception as error:
        kinds = [k.__name__ for k in type(error).__mro__]
        return {"error": kinds, "message": str(error)[:500]}


def main(framework, path, names=()):
    e = environment(framework)
    chosen = {n: f for n, f in PROGRAMS.items() if not names or n in names}
    found = {name: outcome(e, function) for name, function in chosen.items()}
    with open(path, "w") as file:
        json.dump(found, file)


if __name__ == "__main__":
    main(*sys.argv[1:3], names=sys.argv[3:])
