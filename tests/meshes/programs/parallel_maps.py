"""``pmap`` and ``smap``."""

import numpy as np

from tests.meshes.programs.table import drawn, program


@program
def pmap_maps_over_devices(e):
    return e.np(e.jax.pmap(lambda x, y: x * 2 + y, in_axes=(0, None))(drawn((8, 3)), np.float32(1)))


@program
def pmap_collectives(e):
    f = e.jax.pmap(lambda x: (x / e.lax.psum(x, "i"), e.lax.axis_index("i")), axis_name="i")
    return e.np(f(np.abs(drawn((8, 2))) + 1))


@program
def pmap_some_devices_and_axes(e):
    f = e.jax.pmap(
        lambda x, s: (x.sum() + s, x), in_axes=(1, 0), out_axes=(0, 1), devices=list(e.devices[:4])
    )
    return e.np(f(drawn((3, 4)), drawn((4,))))


@program
def pmap_static_arguments_and_gradients(e):
    f = e.jax.pmap(lambda x, n: x**n, static_broadcasted_argnums=1)
    return e.np(f(drawn((8,)), 2)), e.np(e.jax.grad(lambda x: f(x, 3).sum())(drawn((8,))))


@program
def pmap_training_step(e):
    def step(w, x):
        g = e.jax.grad(lambda w: ((x @ w) ** 2).mean())(w)
        return w - 0.1 * e.lax.pmean(g, "batch")

    w = np.broadcast_to(drawn((4, 2)), (8, 4, 2))
    return e.np(e.jax.pmap(step, axis_name="batch")(w, drawn((8, 3, 4))))


@program
def smap_maps_one_axis(e):
    f = lambda x: e.jax.smap(
        lambda v: v - e.lax.pmean(v, "x"), in_axes=0, out_axes=0, axis_name="x"
    )(x)
    with e.jax.set_mesh(e.mesh):
        return e.np(e.jax.jit(f)(drawn()))
