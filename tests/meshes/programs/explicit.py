"""Over a mesh with explicit axes: types that say how values are spread, and what they refuse.

A row runs eagerly and under ``jit``, and gives both results; their types are compared through their shardings.
"""

from types import SimpleNamespace

import numpy as np

from tests.meshes.programs.table import drawn, program


def values(e):
    """A mesh with explicit axes, and arrays over it."""
    mesh = e.jax.make_mesh((4, 2), ("x", "y"), axis_types=(e.AxisType.Explicit,) * 2)

    def put(value, *spec):
        return e.jax.device_put(value, e.jax.NamedSharding(mesh, e.P(*spec)))

    square = np.eye(4, dtype="float32") * 9 + drawn((4, 4, 4), seed=7) / 8
    return SimpleNamespace(
        mesh=mesh,
        put=put,
        x=put(drawn(), "x", "y"),
        rows=put(drawn(seed=1), "x"),
        columns=put(drawn((8, 4), seed=2), None, "y"),
        both=put(drawn((16, 4), seed=3), ("x", "y")),
        vector=put(drawn((8,), seed=4), "x"),
        index=put(np.arange(8, dtype="int32") % 4, "x"),
        weights=put(drawn((4, 6), seed=5), None, "y"),
        contracted=put(drawn((4, 6), seed=6), "y"),
        batch=put(square, "x"),
        whole=put(drawn((8, 4), seed=8)),
        image=put(drawn((4, 8, 8, 2), seed=9), "x"),
    )


def row(name):
    def add(function):
        def run(e):
            v = values(e)
            with e.jax.set_mesh(v.mesh):
                arrays = vars(v).copy()
                del arrays["mesh"], arrays["put"]
                eager = function(e, v)
                jitted = e.jax.jit(
                    lambda given: function(e, SimpleNamespace(mesh=v.mesh, put=v.put, **given))
                )(arrays)
            return eager, jitted

        run.__name__ = f"explicit {name}"
        program(run)

    return add


def rows(**functions):
    for name, function in functions.items():
        row(name.replace("_", " "))(function)


rows(
    sin=lambda e, v: e.jnp.sin(v.x),
    operators=lambda e, v: (v.x + v.rows, v.x * 2, v.x + e.jnp.ones(4), v.x > v.columns),
    clash=lambda e, v: v.rows + v.put(drawn(), "y"),
    twice=lambda e, v: e.jnp.outer(v.vector, v.vector),
    transpose=lambda e, v: (v.x.T, e.jnp.swapaxes(v.batch, 0, 2), e.jnp.moveaxis(v.batch, 0, 1)),
    sums=lambda e, v: (v.x.sum(), v.x.sum(0), v.x.mean(1), v.x.max(0), v.x.prod(1), v.x.var()),
    logical=lambda e, v: ((v.x > 0).any(0), (v.x > 0).all()),
    argmax=lambda e, v: (v.x.argmax(0), v.x.argmin(1)),
    norms=lambda e, v: (e.jnp.linalg.norm(v.x, axis=1), e.jax.nn.softmax(v.x), e.jax.nn.logsumexp(v.x)),
    activations=lambda e, v: (e.jax.nn.relu(v.x), e.jax.nn.gelu(v.x), e.jax.nn.silu(v.x)),
    where=lambda e, v: e.jnp.where(v.x > 2, v.x, 0.0),
    clip=lambda e, v: (e.jnp.clip(v.x, -1, 1), e.jnp.maximum(v.x, 0)),
    casts=lambda e, v: (v.x.astype("int32"), v.index.astype("float32"), e.lax.bitcast_convert_type(v.x, "int32")),
    matmul=lambda e, v: v.rows @ v.weights,
    matmul_of_cut_rows=lambda e, v: v.x @ v.weights,
    matmul_ambiguous=lambda e, v: v.x @ v.contracted,
    matmul_told=lambda e, v: e.jnp.dot(v.x, v.contracted, out_sharding=e.P("x")),
    matmul_told_columns=lambda e, v: e.jnp.matmul(v.x, v.contracted, out_sharding=e.P("x", "y")),
    matmul_clash=lambda e, v: e.lax.dot_general(v.x, v.put(drawn((4, 6)), "x"), (((1,), (0,)), ((), ()))),
    einsum=lambda e, v: e.jnp.einsum("ij,jk->ik", v.rows, v.weights),
    einsum_told=lambda e, v: e.jnp.einsum("ij,jk->ki", v.x, v.contracted, out_sharding=e.P(None, "x")),
    batched_matmul=lambda e, v: v.batch @ v.batch,
    reshape_splits=lambda e, v: (v.x.reshape(8, 2, 2), v.x.reshape(4, 2, 4), v.x.reshape(8, 1, 4, 1)),
    reshape_joins=lambda e, v: v.rows.reshape(-1),
    reshape_joins_cut=lambda e, v: v.x.reshape(-1),
    reshape_joins_inner=lambda e, v: v.columns.reshape(-1),
    reshape_told=lambda e, v: e.jnp.reshape(v.x, (-1,), out_sharding=e.P("x")),
    reshape_other=lambda e, v: v.rows.reshape(16, 2),
    reshape_of_both=lambda e, v: v.both.reshape(4, 4, 4),
    new_axes=lambda e, v: (v.x[None], v.x[:, None], e.jnp.expand_dims(v.x, 2), v.x[None].squeeze(0)),
    broadcasts=lambda e, v: (e.jnp.broadcast_to(v.vector[:, None], (8, 3)), e.jnp.broadcast_to(v.vector, (2, 8))),
    first_row=lambda e, v: v.x[0],
    row_of_columns=lambda e, v: (v.columns[0], v.rows[:, 1], v.rows[:, 1:3]),
    slices=lambda e, v: v.rows[:, ::2],
    slices_unevenly=lambda e, v: v.x[:3],
    flips=lambda e, v: (v.x[::-1], e.jnp.flip(v.x, 1)),
    gathers_rows=lambda e, v: v.columns[np.array([1, 5, 2])],
    gathers_by_cut_index=lambda e, v: v.weights[v.index],
    gathers_told=lambda e, v: v.weights.at[v.index].get(out_sharding=e.P("x")),
    takes_along=lambda e, v: e.jnp.take_along_axis(v.rows, v.index[:, None], 1),
    updates=lambda e, v: (v.columns.at[0].set(1.0), v.rows.at[:, 1].add(2.0)),
    updates_cut=lambda e, v: v.x.at[0].set(1.0),
    dynamic_slices=lambda e, v: e.lax.dynamic_slice(v.rows, (0, 1), (8, 2)),
    dynamic_slices_cut=lambda e, v: e.lax.dynamic_slice(v.rows, (1, 0), (3, 4)),
    dynamic_update=lambda e, v: e.lax.dynamic_update_slice(v.rows, v.rows[:, :2], (0, 1)),
    dynamic_update_clash=lambda e, v: e.lax.dynamic_update_slice(v.rows, v.columns[:, :2], (0, 1)),
    joins=lambda e, v: (e.jnp.concatenate([v.x, v.x]), e.jnp.stack([v.x, v.x]), e.jnp.concatenate([v.rows, v.rows], 1)),
    joins_clash=lambda e, v: e.jnp.concatenate([v.rows, v.put(drawn(), "y")]),
    splits=lambda e, v: (e.jnp.split(v.rows, 2, 1), e.jnp.split(v.rows, 2)),
    splits_unevenly=lambda e, v: e.jnp.split(v.rows, [3]),
    pads=lambda e, v: e.jnp.pad(v.rows, ((0, 0), (1, 2))),
    pads_cut=lambda e, v: e.jnp.pad(v.rows, ((1, 0), (0, 0))),
    sorts=lambda e, v: (e.jnp.sort(v.rows, 1), e.jnp.argsort(v.rows, 1)),
    sorts_cut=lambda e, v: e.jnp.sort(v.rows, 0),
    top_k=lambda e, v: e.lax.top_k(v.rows, 2),
    top_k_cut=lambda e, v: e.lax.top_k(v.x, 2),
    cumulative=lambda e, v: (e.jnp.cumsum(v.rows, 1), e.lax.cummax(v.rows, 1)),
    cumulative_cut=lambda e, v: e.jnp.cumsum(v.rows, 0),
    tiles_cut=lambda e, v: e.jnp.tile(v.rows, (2, 1)),
    tiles=lambda e, v: e.jnp.tile(v.rows, (1, 3)),
    cholesky=lambda e, v: e.jnp.linalg.cholesky(v.batch @ v.batch.transpose(0, 2, 1)),
    solve=lambda e, v: e.lax.linalg.triangular_solve(v.batch, v.batch, left_side=True, lower=True),
    qr=lambda e, v: [abs(part) for part in e.jnp.linalg.qr(v.batch)],
    factors_of_cut=lambda e, v: e.jnp.linalg.qr(v.x),
    convolution=lambda e, v: e.lax.conv_general_dilated(
        v.image, np.ones((3, 3, 2, 3), "float32"), (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    ),
    pooling=lambda e, v: e.lax.reduce_window(v.image, -np.inf, e.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID"),
    selects=lambda e, v: e.lax.select(v.x > 0, v.x, -v.x),
    made=lambda e, v: (e.jnp.zeros((8, 4), out_sharding=e.P("x")), e.jnp.arange(8, out_sharding=e.P("y")), e.jnp.ones_like(v.x)),
    random=lambda e, v: e.jax.random.normal(e.jax.random.key(0), (8, 4), out_sharding=e.P("x", "y")),
    reshards=lambda e, v: (
        e.jax.reshard(v.x, e.P("y", "x")), e.jax.reshard(v.x, e.P()), e.jax.reshard(v.whole, e.P(("x", "y")))
    ),
    asserts=lambda e, v: e.lax.with_sharding_constraint(v.x, e.P("x", "y")),
    asserts_wrong=lambda e, v: e.lax.with_sharding_constraint(v.x, e.P("x")),
    letting=lambda e, v: e.jax.sharding.auto_axes(lambda x, w: e.jnp.sin(x @ w), out_sharding=e.P("x"))(v.x, v.contracted),
    letting_some=lambda e, v: e.jax.sharding.auto_axes(lambda x: x.sum(1), axes="y", out_sharding=e.P("x"))(v.x),
    uneven=lambda e, v: e.jax.reshard(e.jnp.ones((6, 4)), e.P("x")),
    unknown=lambda e, v: e.jax.reshard(v.x, e.P("z")),
)  # fmt: skip

# Sums that are still to be taken, seen after they are.


def summed(e, function=lambda u: u):
    def run(v):
        u = e.jnp.dot(v.x, v.contracted, out_sharding=e.P("x", None, unreduced={"y"}))
        return e.jax.reshard(function(u), e.P())

    return run


def reduced(e, v):
    return e.jax.reshard(v.whole[:4], e.P(None, None, reduced={"x"}))


rows(
    sum_later=lambda e, v: summed(e)(v),
    sum_of_two_later=lambda e, v: summed(e, lambda u: u + u)(v),
    sum_with_one_that_is_taken=lambda e, v: summed(e, lambda u: u + 1.0)(v),
    sum_moved_later=lambda e, v: summed(e, lambda u: u.T.reshape(3, 2, 8))(v),
    sum_of_reduced=lambda e, v: summed(
        e, lambda u: u * e.jax.reshard(e.jnp.ones((8, 6)), e.P("x", None, reduced={"y"}))
    )(v),
    sum_times_number=lambda e, v: summed(e, lambda u: u * 2.0)(v),
    sine_before_the_sum=lambda e, v: summed(e, e.jnp.sin)(v),
    product_before_the_sum=lambda e, v: summed(e, lambda u: u @ e.jnp.ones((6, 2)))(v),
    reduced_values=lambda e, v: e.jax.reshard(e.jnp.sin(reduced(e, v) * 2), e.P()),
    reduced_with_whole=lambda e, v: reduced(e, v) + v.whole[:4],
    gradient_of_reduced=lambda e, v: e.jax.reshard(
        e.jax.grad(lambda w: (v.rows @ w).sum())(reduced(e, v)), e.P()
    ),
)  # fmt: skip

# Through transformations.
rows(
    gradient=lambda e, v: e.jax.grad(lambda x: (e.jnp.sin(x) ** 2).sum())(v.x),
    gradient_of_product=lambda e, v: e.jax.grad(
        lambda x, w: (e.jnp.tanh(x @ w) ** 2).sum(), argnums=(0, 1)
    )(v.rows, v.weights),
    gradient_of_told=lambda e, v: e.jax.grad(
        lambda x, w: (e.jnp.dot(x, w, out_sharding=e.P("x")) ** 2).sum(), argnums=(0, 1)
    )(v.x, v.contracted),
    gradient_of_softmax=lambda e, v: e.jax.grad(lambda x: (e.jax.nn.log_softmax(x) ** 2).sum())(v.x),
    gradient_of_maximum=lambda e, v: e.jax.grad(lambda x: x.max(0).sum() + e.jnp.sort(x, 1)[:, 0].sum())(v.rows),
    gradient_of_reshape=lambda e, v: e.jax.grad(lambda x: (x.reshape(8, 2, 2) ** 2).sum())(v.x),
    gradient_of_indexing=lambda e, v: e.jax.grad(lambda x: (x[np.array([1, 5])] ** 2).sum())(v.columns),
    gradient_of_reshard=lambda e, v: e.jax.grad(lambda x: (e.jax.reshard(x, e.P("y")) ** 2).sum())(v.x),
    gradient_of_letting=lambda e, v: e.jax.grad(
        lambda x: e.jax.sharding.auto_axes(lambda x: x.T * 2, out_sharding=e.P("y"))(x).sum()
    )(v.x),
    along_other=lambda e, v: e.jax.jvp(lambda x: e.jnp.cumsum(x, 1), (v.rows,), (v.rows,)),
    tangents=lambda e, v: e.jax.jvp(lambda x: e.jnp.sin(x).sum(0), (v.x,), (v.x,)),
    second=lambda e, v: e.jax.grad(lambda x: e.jax.grad(lambda y: (y ** 3).sum())(x).sum())(v.x),
    remat=lambda e, v: e.jax.grad(lambda x: e.jax.checkpoint(lambda x: e.jnp.sin(e.jnp.sin(x)))(x).sum())(v.x),
    batch_over_cut=lambda e, v: e.jax.vmap(lambda x: e.jnp.sin(x) * 2)(v.x),
    batch_over_whole=lambda e, v: e.jax.vmap(lambda x: x.sum(), in_axes=1)(v.rows),
    batch_of_products=lambda e, v: e.jax.vmap(lambda x, w: w.T @ x, in_axes=(0, None))(v.rows, v.whole[:4]),
    batch_unmapped=lambda e, v: e.jax.vmap(lambda x, y: (x, y), in_axes=(0, None), out_axes=(0, 0))(v.vector, v.put(drawn((2,)))),
    batch_of_gradients=lambda e, v: e.jax.vmap(e.jax.grad(lambda x: (x ** 2).sum()))(v.x),
    batch_clash=lambda e, v: e.jax.vmap(lambda a, b: a + b)(v.rows, v.put(drawn(), "y")),
    nested=lambda e, v: e.jax.jit(lambda x: e.jnp.sin(x) @ v.weights)(v.rows),
    conditional=lambda e, v: e.lax.cond(v.x.sum() > 0, e.jnp.sin, e.jnp.cos, v.x),
    conditional_clash=lambda e, v: e.lax.cond(True, lambda x: x, lambda x: e.jax.reshard(x, e.P()), v.x),
    loop=lambda e, v: e.lax.fori_loop(0, 3, lambda i, x: e.jnp.sin(x) + i, v.x),
    loop_clash=lambda e, v: e.lax.fori_loop(0, 3, lambda i, x: e.jax.reshard(x, e.P()), v.x),
    scan=lambda e, v: e.lax.scan(lambda c, _: (e.jnp.sin(c), c.sum(1)), v.x, None, length=3),
    scan_over=lambda e, v: e.lax.scan(lambda c, x: (c + x.sum(), x * 2), 0.0, v.columns),
    scan_over_cut=lambda e, v: e.lax.scan(lambda c, x: (c + x.sum(), x * 2), 0.0, v.rows),
    scan_clash=lambda e, v: e.lax.scan(lambda c, _: (e.jax.reshard(c, e.P()), None), v.x, None, length=3),
    gradient_of_scan=lambda e, v: e.jax.grad(
        lambda x, w: e.lax.scan(lambda c, _: (e.jnp.tanh(c @ w), None), x, None, length=3)[0].sum(), argnums=(0, 1)
    )(v.rows, v.whole[:4] / 8),
    mapped=lambda e, v: e.jax.shard_map(lambda a: a * 2, out_specs=e.P("x", "y"))(v.x),
    mapped_sum=lambda e, v: e.jax.shard_map(lambda a: e.lax.psum(a, "x"), in_specs=e.P("x", "y"), out_specs=e.P(None, "y"))(v.x),
    mapped_partly=lambda e, v: e.jax.shard_map(
        lambda a: e.lax.psum(a, "x"), in_specs=e.P("x"), out_specs=e.P(), axis_names={"x"}
    )(v.x),
    mapped_otherwise=lambda e, v: e.jax.shard_map(lambda a: a * 2, in_specs=e.P("y"), out_specs=e.P("y"))(v.x),
    gradient_of_mapped=lambda e, v: e.jax.grad(
        lambda x: e.jax.shard_map(lambda a: a ** 2, in_specs=e.P("x", "y"), out_specs=e.P("x", "y"))(x).sum()
    )(v.x),
    own_derivative=lambda e, v: e.jax.grad(lambda x: _clipped(e)(x).sum())(v.x),
)  # fmt: skip


def _clipped(e):
    @e.jax.custom_vjp
    def clip(x):
        return e.jnp.sin(x)

    clip.defvjp(lambda x: (clip(x), x), lambda x, g: (g * e.jnp.cos(x),))
    return clip


def _words(text):
    return np.frombuffer(text.encode(), np.uint8)


@program
def types_in_words(e):
    v = values(e)
    found = []

    def f(x, y):
        found.extend([str(e.jax.typeof(x)), str(e.jax.typeof(x @ y.T[:, :3]).sharding.spec)])
        return x

    with e.jax.set_mesh(v.mesh):
        e.jax.jit(f)(v.rows, v.whole)
        shape = e.jax.eval_shape(lambda x: e.jnp.sin(x).T, v.x)
        found += [str(e.jax.typeof(v.both)), str(e.jax.typeof(e.jnp.ones(3)).sharding.spec)]
        found += [str(shape.sharding.spec), str(e.jax.typeof(v.x).sharding.mesh.axis_names)]
        text = str(e.jax.make_jaxpr(lambda x: e.jnp.sin(x))(v.x))
    return [_words(t) for t in (*found, text)]


@program
def explicit_within_automatic(e):
    x = e.jax.device_put(drawn(), e.named("x"))
    f = e.jax.sharding.explicit_axes(lambda x: e.jnp.sin(x) * 2, in_sharding=e.P("x", "y"))
    with e.jax.set_mesh(e.mesh):
        return e.np(f(x)), e.np(e.jax.jit(f)(x))


@program
def explicit_over_abstract_mesh(e):
    mesh = e.jax.sharding.AbstractMesh((4, 2), ("x", "y"), (e.AxisType.Explicit,) * 2)
    x = e.jax.ShapeDtypeStruct((8, 4), "float32", sharding=e.jax.NamedSharding(mesh, e.P("x", "y")))
    out = e.jax.eval_shape(lambda x: e.jnp.sin(x).T.sum(0), x)
    return _words(str(out.sharding.spec))


@program
def explicit_mixed_mesh(e):
    mesh = e.jax.make_mesh((4, 2), ("x", "y"), axis_types=(e.AxisType.Explicit, e.AxisType.Auto))
    x = e.jax.device_put(drawn(), e.jax.NamedSharding(mesh, e.P("x", "y")))
    with e.jax.set_mesh(mesh):
        return [
            _words(str(e.jax.typeof(v))) for v in (x, e.jnp.sin(x), e.jax.jit(lambda x: x.T)(x))
        ]


@program
def explicit_without_mesh_in_force(e):
    v = values(e)
    return (
        e.jnp.sin(v.x),
        e.jax.jit(lambda x: e.jnp.cos(x).sum(0))(v.x),
        e.jax.grad(lambda x: (x * x).sum())(v.x),
    )


@program
def explicit_meshes_differ(e):
    v = values(e)
    other = e.jax.make_mesh((2, 4), ("x", "y"), axis_types=(e.AxisType.Explicit,) * 2)
    with e.jax.set_mesh(other):
        return e.jnp.sin(v.x)


@program
def new_arrays_lie_on_the_mesh_in_force(e):
    before = e.jnp.arange(3)
    found = []
    for kind in (e.AxisType.Auto, e.AxisType.Explicit):
        mesh = e.jax.make_mesh((4, 2), ("x", "y"), axis_types=(kind, kind))
        with e.jax.set_mesh(mesh):
            made = (
                e.jnp.ones(3),
                e.jnp.asarray(np.ones(3)),
                e.jax.random.normal(e.jax.random.key(0), (3,)),
            )
            found += [*made, e.jnp.sin(before), before + 1, e.jnp.zeros_like(before)]
    return found, [v.committed for v in found], [len(v.sharding.device_set) for v in found]


@program
def explicit_operand_elsewhere(e):
    other = e.jax.device_put(e.jnp.ones(3), e.devices[1])
    with e.jax.set_mesh(e.mesh):
        return e.jnp.sin(other)
