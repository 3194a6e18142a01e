"""``python -m tests.meshes.op_rows BACKEND EVERY FIRST``: rows of the op table on a mesh of four devices, an instance on each.

Values, derivatives along tangents, pulled back cotangents and batches through ``shard_map`` are those of ``vmap`` on one device. Prints
the rows that differ, and how many were compared.
"""

import sys

import numpy as np

import plugjax
import plugjax.numpy as jnp
from plugjax.sharding import PartitionSpec as P
from plugjax.testing import OPS
from plugjax.testing.checks import SEED

COUNT = 4


def instances(op):
    """Operands of four instances, stacked, and where their axis is."""
    drawn = [list(op.sample(np.random.default_rng(SEED + i))) for i in range(COUNT)]
    chosen = range(len(drawn[0])) if op.batch is None else op.batch
    dims = tuple(0 if i in chosen else None for i in range(len(drawn[0])))
    values = [
        np.stack([one[i] for one in drawn]) if d == 0 else drawn[0][i] for i, d in enumerate(dims)
    ]
    return [jnp.asarray(v) for v in values], dims


def on_mesh(function, dims, mesh):
    def local(*xs):
        found = function(*(x[0] if d == 0 else x for x, d in zip(xs, dims, strict=True)))
        return plugjax.tree.map(lambda y: y[None], found)

    specs = tuple(P("x") if d == 0 else P() for d in dims)
    return plugjax.jit(
        plugjax.shard_map(local, mesh=mesh, in_specs=specs, out_specs=P("x"), check_vma=False)
    )


def is_floating(x):
    return jnp.issubdtype(x.dtype, jnp.floating)


def total(function):
    def sums(*xs):
        leaves = [y for y in plugjax.tree.leaves(function(*xs)) if is_floating(y)]
        return sum((jnp.sin(y) * 0.5 + y).sum() for y in leaves)

    return sums


def results(op, mapped, values, dims):
    """Values, and what the derivatives of the row are asked for."""
    yield "value", mapped(*values)
    chosen = [
        i
        for i, (x, d) in enumerate(zip(values, dims, strict=True))
        if d == 0 and is_floating(x) and (op.wrt is None or i in op.wrt)
    ]
    if not op.order or not chosen:
        return

    def of_chosen(*own):
        given = list(values)
        for i, x in zip(chosen, own, strict=True):
            given[i] = x
        return mapped(*given)

    point = tuple(values[i] for i in chosen)
    yield "jvp", plugjax.jvp(of_chosen, point, tuple(jnp.ones_like(x) for x in point))[1]
    if op.reverse:
        yield "grad", plugjax.grad(total(of_chosen), argnums=tuple(range(len(point))))(*point)


def differences(op, mesh):
    values, dims = instances(op)
    if 0 not in dims:
        return None
    alone = plugjax.jit(plugjax.vmap(op.function, in_axes=dims))
    spread = on_mesh(op.function, dims, mesh)
    found = []
    pairs = zip(results(op, spread, values, dims), results(op, alone, values, dims), strict=True)
    for (what, ours), (_, theirs) in pairs:
        for a, b in zip(plugjax.tree.leaves(ours), plugjax.tree.leaves(theirs), strict=True):
            a, b = np.asarray(a), np.asarray(b)
            if a.dtype != b.dtype or a.shape != b.shape:
                found.append(f"{what} is {a.dtype}{a.shape}, not {b.dtype}{b.shape}")
            elif a.dtype.kind in "fc":
                if not np.allclose(a, b, rtol=1e-4, atol=1e-5, equal_nan=True):
                    found.append(f"{what} differs by {np.nanmax(np.abs(a - b))}")
            elif not np.array_equal(a, b):
                found.append(f"{what} differs")
    return found


def main(backend, every, first):
    plugjax.config.update("jax_num_cpu_devices", COUNT)
    compared = 0
    with plugjax.default_device(backend):
        mesh = plugjax.make_mesh((COUNT,), ("x",), devices=plugjax.devices(backend)[:COUNT])
        for op in OPS[int(first) :: int(every)]:
            try:
                found = differences(op, mesh)
            except Exception as error:
                found = [f"{type(error).__name__}: {error}"]
            compared += found is not None
            if found:
                print(f"{op.name}: {'; '.join(found)}"[:600])  # noqa: T201
    print(compared)  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
