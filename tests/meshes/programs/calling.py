"""Calls of the host, and what one device computes for all."""

import numpy as np

from tests.meshes.programs.table import drawn, mapped, program


def _doubled(e, x):
    return e.jax.pure_callback(
        lambda a: 2 * np.asarray(a), e.jax.ShapeDtypeStruct(x.shape, x.dtype), x
    )


@program
def callback_of_a_spread_array(e):
    x = e.jax.device_put(drawn(), e.named("x", "y"))
    return e.np(e.jax.jit(lambda x: _doubled(e, x) + 1)(x))


@program
def callback_of_each_device(e):
    P = e.P
    return mapped(e, lambda x: _doubled(e, x) + x, drawn(), i=P("x", "y"), o=P("x", "y"))


@program
def callbacks_of_a_print(e):
    seen = []
    x = e.jax.device_put(drawn(), e.named("x"))

    def f(x):
        e.jax.debug.callback(lambda total: seen.append(float(total)), x.sum())
        return 2 * x

    y = e.np(e.jax.jit(f)(x))
    e.jax.effects_barrier()
    return y, np.array(sorted(set(seen)))


@program
def linear_algebra_of_a_spread_matrix(e):
    linalg = e.jnp.linalg
    a = drawn((8, 8)) + 20 * np.eye(8, dtype="float32")
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
    x = e.jax.device_put(drawn(), e.named("x", "y"))
    return e.jnp.zeros_like(x), e.jnp.full_like(x, 3)


@program
def where_programs_run_that_ignore_arguments(e):
    devices = e.jax.devices()
    x = e.jax.device_put(e.jnp.ones(3), devices[1])
    y = e.jax.device_put(e.jnp.ones(2), devices[2])
    functions = {
        "constant": (lambda x: e.jnp.zeros(2), (x,)),
        "other is read": (lambda x, y: y * 2, (x, e.jnp.ones(2))),
        "committed elsewhere": (lambda x, y: y * 2, (x, y)),
        "handed on": (lambda x, y: y, (x, y)),
        "both are read": (lambda x, y: x[:2] * y, (x, e.jnp.ones(2))),
    }
    found = []
    for f, args in functions.values():
        for device in (None, devices[3]):
            with e.jax.default_device(device):
                result = e.jax.jit(f)(*args)
            (where,) = result.devices()
            found.append(e.jnp.array([where.id, result.committed]))
    kept = e.jax.jit(lambda x: e.jnp.zeros(2), keep_unused=True)(x)
    return [*found, next(iter(kept.devices())).id]


@program
def arrays_that_are_not_committed_follow_the_default_device(e):
    devices, jnp = e.jax.devices(), e.jnp
    y = jnp.ones(2)
    operations = [
        lambda y: y * 2,
        lambda y: y + jnp.ones(2),
        jnp.sin,
        lambda y: y[0],
        lambda y: jnp.concatenate([y, y]),
        lambda y: y.reshape(2, 1),
        e.jax.jit(lambda y: y * 2),
        e.jax.jit(lambda y: y),
        e.jax.grad(lambda y: (y**2).sum()),
        e.jax.vmap(lambda y: y + 1),
        e.jax.device_put,
        jnp.asarray,
    ]
    with e.jax.default_device(devices[3]):
        there = [f(y) for f in operations]
        z = jnp.ones(2)
    back = [f(z) for f in operations]
    mixed = z + y
    return [next(iter(x.devices())).id for x in (*there, z, *back, mixed)]
