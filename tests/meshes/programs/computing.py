"""Computing with spread arrays."""

import importlib
import warnings

import numpy as np

from tests.meshes.programs.table import drawn, program


@program
def operators(e):
    x = e.jax.device_put(drawn(), e.named("x", "y"))
    y = e.jax.device_put(drawn(seed=1), e.named("x", "y"))
    return x + y, x * 2 - 1, -x, x / (y + 20), x > y


@program
def uncommitted_operands_follow(e):
    x = e.jax.device_put(drawn(), e.named("x"))
    return x + e.jnp.ones((8, 4)), x * np.float32(2), e.jnp.where(x > 0, x, 0.0)


@program
def reductions_and_shapes(e):
    x = e.jax.device_put(drawn(), e.named("x", "y"))
    return [
        e.np(v) for v in (x.sum(), x.sum(0), x.max(1), x.T, x.reshape(-1), x[0], x[2:4], x.mean(1))
    ]


@program
def values_that_are_spread_alike(e):
    alike = importlib.import_module(f"{e.jax.__name__}.experimental.shard_alike").shard_alike
    x = e.jax.device_put(drawn(), e.named("x", "y"))
    y = e.jax.device_put(drawn(seed=1), e.named())
    f = e.jax.jit(lambda x, y: alike(x * 2, y + 1))
    g = e.jax.jit(e.jax.grad(lambda x, y: (alike(x, y)[0] * alike(x, y)[1]).sum()))
    return (
        f(x, y),
        e.np(f(y, x)),
        e.np(g(x, y)),
        e.np(e.jax.vmap(alike, in_axes=(0, None))(x, y[0])),
    )


@program
def products(e):
    x = e.jax.device_put(drawn(), e.named("x"))
    w = e.jax.device_put(drawn((4, 6), seed=2), e.named(None, "y"))
    return e.np(x @ w), e.np(e.jnp.einsum("ij,kj->ik", x, x))


@program
def sorting_and_scans(e):
    x = e.jax.device_put(drawn((8,)), e.named("x"))
    return e.np(e.jnp.sort(x)), e.np(e.jnp.cumsum(x)), e.np(e.jnp.argmax(x)), e.np(x.at[3].set(9))


@program
def jit_follows_arguments(e):
    x = e.jax.device_put(drawn(), e.named("x", "y"))
    return e.jax.jit(lambda x: (x * 2, e.jnp.tanh(x)))(x)


@program
def jit_in_shardings(e):
    f = e.jax.jit(
        lambda x, y: x * 2 + y,
        in_shardings=(e.named("x"), e.named("x")),
        out_shardings=e.named("x"),
    )
    return f(drawn(), drawn(seed=1))


@program
def jit_out_shardings(e):
    f = e.jax.jit(
        lambda x: {"a": x + 1, "b": x.sum(0)},
        out_shardings={"a": e.named("x", "y"), "b": e.named("y")},
    )
    return f(drawn())


@program
def jit_out_shardings_prefix(e):
    return e.jax.jit(lambda x: (x, x * 2), out_shardings=e.named(None, "y"))(drawn())


@program
def jit_with_specs_of_the_mesh_in_force(e):
    with e.jax.set_mesh(e.mesh):
        return e.jax.jit(lambda x: x + 1, in_shardings=e.P("x"), out_shardings=e.P("x", "y"))(
            drawn()
        )


@program
def the_old_mesh_context(e):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with e.mesh:
            return e.jax.jit(lambda x: e.jax.lax.with_sharding_constraint(x + 1, e.P("x", "y")))(
                drawn()
            )


@program
def donation(e):
    x = e.jax.device_put(drawn(), e.named("x"))
    y = e.jax.jit(lambda x: x + 1, donate_argnums=0, out_shardings=e.named("x"))(x)
    return y, np.array(x.is_deleted())


@program
def constraints(e):
    constrain = e.jax.lax.with_sharding_constraint

    def f(x):
        y = constrain(x @ x.T, e.named("x", "y"))
        return constrain(y + 1, e.named("y"))

    return e.jax.jit(f)(drawn())


@program
def constraints_eager_and_differentiated(e):
    constrain = e.jax.lax.with_sharding_constraint
    x = constrain(e.jnp.asarray(drawn()), e.named("x"))
    g = e.jax.jit(e.jax.grad(lambda x: (constrain(x, e.named("x")) ** 2).sum()))(drawn())
    return x, e.np(g)


@program
def constraints_under_vmap(e):
    constrain = e.jax.lax.with_sharding_constraint
    f = e.jax.vmap(lambda x: constrain(x * 2, e.named("x")))
    return e.np(e.jax.jit(f)(drawn((3, 8))))


@program
def constraints_under_vmap_with_a_name(e):
    constrain = e.jax.lax.with_sharding_constraint
    f = e.jax.vmap(lambda x: constrain(x * 2, e.named("x")), spmd_axis_name="y")
    return e.jax.jit(f)(drawn((2, 8)))


@program
def constraints_in_a_scan(e):
    constrain = e.jax.lax.with_sharding_constraint

    def body(c, x):
        c = constrain(c + x, e.named("x"))
        return c, c.sum()

    return e.np(e.jax.jit(lambda xs: e.jax.lax.scan(body, e.jnp.zeros(8), xs))(drawn((3, 8))))


@program
def loops_over_spread_values(e):
    x = e.jax.device_put(drawn((8,)), e.named("x"))
    f = e.jax.jit(lambda x: e.jax.lax.fori_loop(0, 4, lambda i, c: c * 2 - x, x))
    return e.np(f(x)), e.np(
        e.jax.jit(lambda x: e.jax.lax.cond(x[0] > 0, e.jnp.sin, e.jnp.cos, x))(x)
    )


@program
def gradients_of_spread_values(e):
    x = e.jax.device_put(drawn(), e.named("x"))
    w = e.jax.device_put(drawn((4, 3), seed=1), e.named())
    loss = lambda w, x: (e.jnp.tanh(x @ w / 10) ** 2).mean()
    value, g = e.jax.jit(e.jax.value_and_grad(loss))(w, x)
    return e.np(value), e.np(g), e.np(e.jax.grad(loss)(w, x))


@program
def device_put_inside_jit(e):
    return e.jax.jit(lambda x: e.jax.device_put(x + 1, e.named("x")))(drawn())


@program
def a_mesh_of_one_axis(e):
    mesh = e.jax.sharding.Mesh(e.devices[:4], ("i",))
    x = e.jax.device_put(drawn(), e.jax.NamedSharding(mesh, e.P(None, "i")))
    return x * 2, e.jax.jit(lambda x: x + 1)(x)


@program
def a_mesh_of_one_device(e):
    mesh = e.jax.sharding.Mesh(e.devices[:1], ("i",))
    x = e.jax.device_put(drawn(), e.jax.NamedSharding(mesh, e.P("i")))
    return e.np(x.sum()), e.np(x + 1), e.np(e.jax.jit(lambda x: x @ x.T)(x))


@program
def ahead_of_time(e):
    shape = e.jax.ShapeDtypeStruct((8, 4), "float32", sharding=e.named("x"))
    compiled = e.jax.jit(lambda x: x * 2, out_shardings=e.named("x")).lower(shape).compile()
    return compiled(e.jax.device_put(drawn(), e.named("x")))
