"""Functions of jax.lax."""


def strict_types(jax):
    jnp = jax.numpy
    return jax.lax.add(jnp.ones(2), jnp.ones(2, jnp.int32))


def no_implicit_broadcasting(jax):
    jnp = jax.numpy
    return jax.lax.add(jnp.ones((2, 3)), jnp.ones(3))


def scalars_broadcast(jax):
    jnp = jax.numpy
    return jax.lax.add(jnp.float32(1), 1.0), jax.lax.mul(jnp.ones(2), 3.0), jax.lax.max(1.0, 2.0)


def broadcasting(jax):
    jnp = jax.numpy
    return (
        jax.lax.broadcast(jnp.arange(2), (3,)),
        jax.lax.broadcast_in_dim(jnp.arange(2), (2, 3), (0,)),
        jax.lax.broadcasted_iota(jnp.int32, (2, 3), 1),
        jax.lax.iota(jnp.float32, 4),
        jax.lax.expand_dims(jnp.arange(2), (0, 2)).shape,
        jax.lax.broadcast_shapes((2, 1), (1, 3)),
        jax.lax.squeeze(jnp.ones((1, 2, 1)), (0, 2)).shape,
        jax.lax.collapse(jnp.ones((2, 3, 4)), 1).shape,
    )


def reductions(jax):
    jnp = jax.numpy
    x = jnp.arange(1.0, 7.0).reshape(2, 3)
    return (
        jax.lax.reduce(x, 0.0, jax.lax.add, (1,)),
        jax.lax.reduce(x, -jnp.inf, jax.lax.max, (0,)),
        jax.lax.reduce((x, x), (0.0, 1.0), lambda a, b: (a[0] + b[0], a[1] * b[1]), (1,)),
        jax.lax.argmax(x, 1, jnp.int32),
        jax.lax.cumsum(x, 1),
        jax.lax.cummax(x, 0, reverse=True),
        jax.lax.cumlogsumexp(x, 1),
        jax.lax.reduce_precision(jnp.float32(1.2345), 5, 10),
    )


def bit_operations(jax):
    jnp = jax.numpy
    x = jnp.array([1, 6, 255], jnp.uint8)
    return (
        jax.lax.population_count(x),
        jax.lax.clz(x),
        jax.lax.shift_right_logical(x, jnp.uint8(1)),
        jax.lax.shift_left(x, jnp.uint8(9)),
        jax.lax.bitwise_xor(x, jnp.uint8(3)),
    )


def windows_and_pads(jax):
    jnp = jax.numpy
    x = jnp.arange(1, 5)
    return (
        jax.lax.pad(x, 0, [(1, 2, 1)]),
        jax.lax.pad(x, 9, [(-1, 0, 0)]),
        jax.lax.rev(x, (0,)),
        jax.lax.concatenate([x, x], 0),
    )


def numerical_functions(jax):
    jnp = jax.numpy
    x = jnp.array([0.5, 2.0])
    return (
        jax.lax.rsqrt(x), jax.lax.cbrt(x), jax.lax.lgamma(x), jax.lax.erf_inv(x / 3), jax.lax.igamma(x, x),
        jax.lax.logistic(x), jax.lax.integer_pow(x, -2), jax.lax.nextafter(x, jnp.zeros(2)), jax.lax.rem(-x, x[::-1]),
        jax.lax.round(jnp.array([0.5, 1.5]), jax.lax.RoundingMethod.TO_NEAREST_EVEN), jax.lax.clamp(0.7, x, 1.0),
        jax.lax.exp2(x), jax.lax.is_finite(1 / (x - 2)), jax.lax.square(x), jax.lax.atan2(x, -x), jax.lax.random_gamma_grad(x, x),
    )  # fmt: skip


def gather(jax):
    jnp = jax.numpy
    dnums = jax.lax.GatherDimensionNumbers(
        offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,)
    )
    return jax.lax.gather(jnp.arange(6).reshape(3, 2), jnp.array([[2], [0]]), dnums, (1, 2))


def wrong_dimension_numbers(jax):
    jnp = jax.numpy
    return jax.lax.dot_general(jnp.ones((2, 3)), jnp.ones((2, 3)), (((1,), (0,)), ((), ())))


def reshape_sizes_differ(jax):
    return jax.lax.reshape(jax.numpy.ones(6), (4,))


def approximate_top_k(jax):
    jnp = jax.numpy
    return jax.lax.approx_max_k(jnp.array([3.0, 1.0, 9.0, 4.0]), 2)


def optimization_barrier(jax):
    jnp = jax.numpy
    return jax.lax.optimization_barrier((jnp.ones(2), jnp.int32(3)))


def platform_dependent(jax):
    return jax.lax.platform_dependent(2.0, cpu=lambda x: x + 1, default=lambda x: x - 1)


def conversions(jax):
    jnp = jax.numpy
    return (
        jax.lax.convert_element_type(jnp.array([1.7, -1.7]), jnp.int32),
        jax.lax.complex(jnp.float32(1), jnp.float32(2)),
        jax.lax.dtype(1.0).name,
        jax.lax.full((2,), 3, jnp.int8),
        jax.lax.full_like(jnp.ones(2), 2),
        jax.lax.transpose(jnp.ones((2, 3)), (1, 0)).shape,
        jax.lax.split(jnp.arange(5), [2, 3]),
        jax.lax.tile(jnp.arange(2), (2,)),
    )


def ragged_products(jax):
    jnp = jax.numpy
    x = jnp.arange(6.0).reshape(3, 2)
    w = jnp.stack([jnp.eye(2), 2 * jnp.eye(2)])
    return jax.lax.ragged_dot(x, w, jnp.array([1, 2], jnp.int32))
