"""Indexing and indexed updates."""


def out_of_bounds(jax):
    jnp = jax.numpy
    x = jnp.arange(5)
    return (
        x[10],
        x[-10],
        x.at[10].set(99),
        x.at[10].get(mode="fill", fill_value=-1),
        x.at[7].get(mode="clip"),
    )


def all_updates(jax):
    jnp = jax.numpy
    x = jnp.arange(1.0, 5.0)
    i = jnp.array([0, 0, 2])
    return (
        x.at[i].add(1),
        x.at[i].multiply(3),
        x.at[1:3].set(0),
        x.at[i].max(2.5),
        x.at[i].min(0.5),
        x.at[2].divide(2),
        x.at[1].power(3),
        x.at[0].apply(jnp.exp),
        x.at[i].subtract(1),
    )


def boolean_masks(jax):
    jnp = jax.numpy
    x = jnp.arange(6).reshape(2, 3)
    return x[x > 2], x.at[x > 2].set(-1), x[jnp.array([True, False])], jnp.where(x > 2, x, 0)


def boolean_mask_in_jit_is_refused(jax):
    return jax.jit(lambda x: x[x > 2])(jax.numpy.arange(5))


def mixed_indices(jax):
    jnp = jax.numpy
    x = jnp.arange(24).reshape(2, 3, 4)
    return (
        x[..., 0],
        x[:, None, 1, ::2],
        x[0, [0, 2], 1:3],
        x[jnp.array([0, 1]), :, jnp.array([1, 2])],
        x[1, ::-1, -1],
        x[jnp.newaxis, 0, 0, :2],
    )


def list_as_an_index(jax):
    x = jax.numpy.arange(5)
    return x[[0, 1]]


def too_many_indices(jax):
    return jax.numpy.arange(3)[0, 0]


def float_index(jax):
    return jax.numpy.arange(3)[1.0]


def traced_slices_are_refused(jax):
    return jax.jit(lambda x, n: x[:n])(jax.numpy.arange(5), 2)


def dynamic_slices(jax):
    jnp = jax.numpy
    x = jnp.arange(10)
    return (
        jax.jit(lambda i: jax.lax.dynamic_slice(x, (i,), (3,)))(8),
        jax.lax.dynamic_update_slice(x, jnp.array([7, 7]), (1,)),
        jax.lax.dynamic_index_in_dim(x, 3, keepdims=False),
        jax.lax.dynamic_slice_in_dim(x, 2, 4),
        jax.lax.slice(x, (1,), (9,), (3,)),
    )


def take_modes(jax):
    jnp = jax.numpy
    x = jnp.array([10.0, 20.0, 30.0])
    i = jnp.array([0, 5, -1])
    return (
        jnp.take(x, i),
        jnp.take(x, i, mode="clip"),
        jnp.take(x, i, mode="wrap"),
        jnp.take(x, i, fill_value=0.0),
    )


def take_along_and_put(jax):
    jnp = jax.numpy
    x = jnp.array([[3, 1, 2], [9, 7, 8]])
    i = jnp.argsort(x, axis=1)
    return (
        jnp.take_along_axis(x, i, 1),
        jnp.put_along_axis(x, jnp.array([[0], [1]]), 0, 1, inplace=False),
        jnp.put(x, jnp.array([0, 4]), 99, inplace=False),
    )


def nonzero_with_a_size(jax):
    jnp = jax.numpy
    x = jnp.array([0, 3, 0, 5])
    return (
        jnp.nonzero(x),
        jax.jit(lambda x: jnp.nonzero(x, size=3, fill_value=-1))(x),
        jnp.argwhere(x),
        jnp.flatnonzero(x),
        jnp.where(x),
    )


def nonzero_in_jit_is_refused(jax):
    return jax.jit(jax.numpy.nonzero)(jax.numpy.arange(3))


def scatter_with_dimension_numbers(jax):
    jnp = jax.numpy
    dnums = jax.lax.ScatterDimensionNumbers(
        update_window_dims=(), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,)
    )
    return jax.lax.scatter_add(
        jnp.zeros(4), jnp.array([[1], [3], [1]]), jnp.array([1.0, 2.0, 3.0]), dnums
    )


def gradient_of_indexing(jax):
    jnp = jax.numpy
    i = jnp.array([0, 2, 2])
    return jax.grad(lambda x: (x[i] ** 2).sum() + x.at[1].set(0.0).sum())(
        jnp.array([1.0, 2.0, 3.0])
    )


def segment_sums(jax):
    jnp = jax.numpy
    data, ids = jnp.arange(5.0), jnp.array([0, 0, 1, 3, 3])
    return (
        jax.ops.segment_sum(data, ids, 4),
        jax.ops.segment_max(data, ids, 4),
        jax.ops.segment_prod(data + 1, ids, 4),
        jnp.bincount(ids, length=5),
    )


def index_tricks(jax):
    jnp = jax.numpy
    return (
        jnp.ix_(jnp.array([0, 1]), jnp.array([2, 3])),
        jnp.mgrid[0:2, 0:3],
        jnp.ogrid[0:2, 0:3],
        jnp.r_[1:4, 0, 9],
        jnp.c_[jnp.arange(2), jnp.arange(2)],
        jnp.unravel_index(5, (2, 3)),
        jnp.ravel_multi_index((1, 2), (2, 3)),
    )


def unique_indices_and_sorted(jax):
    jnp = jax.numpy
    x = jnp.zeros(4)
    return x.at[jnp.array([0, 2])].set(
        1.0, unique_indices=True, indices_are_sorted=True, mode="promise_in_bounds"
    )


def negative_wrap_around(jax):
    jnp = jax.numpy
    x = jnp.arange(4)
    return (
        x.at[-1].set(9),
        x[-2:],
        x.at[jnp.array(-1)].get(wrap_negative_indices=False, mode="fill", fill_value=-5),
    )
