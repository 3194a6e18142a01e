"""Derivatives and batches."""

import numpy as np

from tests.meshes.programs.table import drawn, mapped, program


@program
def map_gradients(e):
    P, lax = e.P, e.lax
    f = e.jax.shard_map(
        lambda x, w: lax.psum((e.jnp.sin(x) @ w).sum(), ("x", "y")),
        mesh=e.mesh,
        in_specs=(P("x", "y"), P("y")),
        out_specs=P(),
    )
    return e.np(e.jax.grad(f, (0, 1))(drawn(), drawn((4, 3))))


@program
def map_gradients_of_repeated(e):
    P = e.P
    f = e.jax.shard_map(lambda w, x: w * x, mesh=e.mesh, in_specs=(P(), P("x")), out_specs=P("x"))
    return e.np(e.jax.grad(lambda w, x: (f(w, x) ** 2).sum(), (0, 1))(np.float32(2), drawn()))


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
    return e.np(e.jax.grad(lambda w, x: f(w, x).sum(), (0, 1))(np.float32(2), drawn()))


@program
def map_gradients_inside(e):
    P, lax = e.P, e.lax

    def step(w, x):
        loss = lambda w: lax.pmean(((x @ w) ** 2).mean(), ("x", "y"))
        return w - 0.1 * e.jax.grad(loss)(w)

    return mapped(e, step, drawn((4, 2)), drawn(), i=(P(), P(("x", "y"))), o=P())


@program
def map_gradients_inside_without_vma(e):
    P, lax = e.P, e.lax

    def step(w, x):
        g = e.jax.grad(lambda w: ((x @ w) ** 2).mean())(w)
        return w - 0.1 * lax.pmean(g, ("x", "y"))

    return mapped(e, step, drawn((4, 2)), drawn(), i=(P(), P(("x", "y"))), o=P(), check_vma=False)


@program
def map_gradients_inside_of_local_values(e):
    P, lax = e.P, e.lax

    def g(w, x):
        return e.jax.grad(lambda w: (w * x).sum())(lax.pcast(w, ("x", "y"), to="varying")).reshape(
            1
        )

    return mapped(e, g, np.float32(2), drawn(), i=(P(), P("x", "y")), o=P(("x", "y")))


@program
def map_gradients_through_scan_inside(e):
    P, lax = e.P, e.lax

    def loss(w, x):
        def body(c, row):
            return c + lax.psum(e.jnp.tanh(row * w / 8).sum(), "x") * c / 30, None

        return lax.scan(body, e.jnp.float32(1.0), x)[0]

    return mapped(
        e,
        lambda w, x: e.jax.value_and_grad(loss)(w, x),
        np.float32(0.5),
        drawn(),
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
    return e.np(
        e.jax.jit(e.jax.value_and_grad(loss, (0, 1, 2)))(drawn(), drawn((4, 6)), drawn((6, 4)))
    )


@program
def map_second_derivatives(e):
    P, lax = e.P, e.lax
    f = e.jax.shard_map(
        lambda x: lax.psum((x**3).sum(), "x"), mesh=e.mesh, in_specs=P("x"), out_specs=P()
    )
    return e.np(e.jax.hessian(f)(drawn((4,))))


@program
def map_jvp_and_linearize(e):
    P, lax = e.P, e.lax
    f = e.jax.shard_map(
        lambda x: lax.psum(e.jnp.sin(x), "x"), mesh=e.mesh, in_specs=P("x"), out_specs=P()
    )
    y, linear = e.jax.linearize(f, drawn())
    return e.np(e.jax.jvp(f, (drawn(),), (drawn(seed=1),))), e.np(linear(drawn(seed=1)))


@program
def map_gathers_differentiated(e):
    P, lax = e.P, e.lax

    def f(x):
        g = lax.all_gather(x, "x", tiled=True)
        s = lax.psum_scatter(g * g, "x", tiled=True)
        return lax.ppermute(s, "x", [(0, 2), (2, 0), (1, 3), (3, 1)])

    g = e.jax.shard_map(f, mesh=e.mesh, in_specs=P("x"), out_specs=P("x"))
    return e.np(e.jax.grad(lambda x: (g(x) * drawn(seed=3)).sum())(drawn()))


@program
def map_invarying_gathers_differentiated(e):
    P, lax = e.P, e.lax
    f = lambda x: (lax.all_gather(x, "x", tiled=True, to="invarying") * drawn(seed=3)).sum()
    g = e.jax.shard_map(f, mesh=e.mesh, in_specs=P("x"), out_specs=P())
    return e.np(e.jax.grad(g)(drawn()))


@program
def map_batched(e):
    P, lax = e.P, e.lax
    f = e.jax.shard_map(
        lambda x, s: x * s - lax.pmean(x, "x"),
        mesh=e.mesh,
        in_specs=(P("x"), P()),
        out_specs=P("x"),
    )
    return e.np(e.jax.vmap(f, in_axes=(1, None), out_axes=1)(drawn((8, 3, 2)), np.float32(3)))


@program
def map_batched_with_a_name(e):
    P, lax = e.P, e.lax
    f = e.jax.shard_map(
        lambda x: x - lax.pmean(x, "x"), mesh=e.mesh, in_specs=P("x"), out_specs=P("x")
    )
    return e.np(e.jax.jit(e.jax.vmap(f, spmd_axis_name="y"))(drawn((4, 8))))


@program
def map_batched_inside(e):
    P, lax = e.P, e.lax
    f = lambda x: e.jax.vmap(lambda r: r - lax.pmean(r, "x") + lax.psum(r, "b"), axis_name="b")(x)
    return mapped(e, f, drawn(), i=P("x"), o=P("x"))


@program
def map_checkpointed(e):
    P, lax = e.P, e.lax
    f = e.jax.checkpoint(lambda x: e.jnp.sin(e.jnp.cos(x)) * lax.pmean(x, "x"))
    g = e.jax.shard_map(f, mesh=e.mesh, in_specs=P("x"), out_specs=P("x"))
    return e.np(e.jax.grad(lambda x: g(x).sum())(drawn()))


@program
def map_custom_derivatives(e):
    P, lax = e.P, e.lax

    @e.jax.custom_vjp
    def f(x):
        return x * 2

    f.defvjp(lambda x: (f(x), x), lambda x, g: (g * x,))
    g = e.jax.shard_map(lambda x: lax.psum(f(x), "x"), mesh=e.mesh, in_specs=P("x"), out_specs=P())
    return e.np(e.jax.grad(lambda x: g(x).sum())(drawn()))
