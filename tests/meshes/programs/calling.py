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
