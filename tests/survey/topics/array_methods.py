"""Attributes and methods of arrays."""


def sizes_and_bytes(jax):
    jnp = jax.numpy
    x = jnp.ones((2, 3), jnp.int16)
    return (
        x.nbytes,
        x.itemsize,
        x.size,
        x.ndim,
        len(x),
        x.T.shape,
        x.mT.shape,
        x.is_fully_addressable,
    )


def number_conversions(jax):
    jnp = jax.numpy
    return (
        int(jnp.float32(3.7)),
        float(jnp.int32(2)),
        complex(jnp.float32(1)),
        bool(jnp.array([True])),
        jnp.arange(3).tolist(),
        jnp.float32(2.5).item(),
        hex(jnp.uint8(255)),
        [0, 10, 20][jnp.int32(1)],
    )


def formatting(jax):
    jnp = jax.numpy
    x = jnp.float32(3.14159)
    return (
        f"{x:.2f}",
        f"{jnp.arange(3)}",
        repr(jnp.array([1.5, 2])),
        str(jnp.bfloat16(1.5)),
        repr(x),
    )


def truth_of_an_array(jax):
    return bool(jax.numpy.arange(3))


def iteration_and_containment(jax):
    jnp = jax.numpy
    x = jnp.arange(6).reshape(2, 3)
    a, b = x
    return a, b, 3 in a, 2 in a, [int(i) for i in jnp.arange(3)], list(reversed(jnp.arange(3)))


def arrays_are_immutable(jax):
    x = jax.numpy.arange(3)
    x[0] = 10


def arrays_are_not_hashable(jax):
    return hash(jax.numpy.arange(3))


def in_place_operators_rebind(jax):
    x = y = jax.numpy.arange(3)
    x += 10
    return x, y


def reductions_as_methods(jax):
    jnp = jax.numpy
    x = jnp.array([[1.0, 5.0], [3.0, 2.0]])
    return (
        x.sum(0),
        x.mean(),
        x.max(axis=1, keepdims=True),
        x.argmax(1),
        x.std(),
        x.var(ddof=1),
        x.cumsum(),
        x.prod(),
        x.ptp(),
        x.all(),
        x.trace(),
    )


def shape_methods(jax):
    jnp = jax.numpy
    x = jnp.arange(6)
    return (
        x.reshape(2, -1),
        x.reshape((3, 2)).ravel(order="F"),
        x.repeat(2),
        x[None].squeeze(0),
        x.reshape(2, 3).swapaxes(0, 1),
        x.reshape(2, 3).flatten(),
        x.astype(jnp.float16),
        x.view(jnp.uint32),
        x.clip(1, 3),
        x.take(jnp.array([1, 1])),
        x.compress(jnp.array([True, False, True])),
    )


def sorting_methods(jax):
    jnp = jax.numpy
    x = jnp.array([3, 1, 2])
    return x.sort(), x.argsort(), x.sort(descending=True), x.searchsorted(2), x.argpartition(1)[0]


def complex_methods(jax):
    jnp = jax.numpy
    z = jnp.array([1 + 2j, 3 - 1j])
    return z.real, z.imag, z.conj(), z.conjugate().dot(z), abs(z), z.round(), -z, +z


def operators_with_numbers_and_numpy(jax):
    import numpy as np

    jnp = jax.numpy
    x = jnp.arange(1, 4)
    return (
        2**x,
        x % 2,
        x // 2,
        divmod(x, 2),
        1 / x,
        x @ x,
        x << 1,
        ~x,
        x & 1,
        np.float32(2) * x,
        np.ones(3) + x,
        type(np.ones(3) + x).__name__ != "ndarray",
    )


def list_operand_is_refused(jax):
    return jax.numpy.arange(3) + [1, 2, 3]  # noqa: RUF005


def numpy_functions_take_arrays(jax):
    import numpy as np

    x = jax.numpy.arange(4.0)
    return (
        np.asarray(x),
        np.sum(x),
        np.array(x, dtype=np.float64).dtype.name,
        np.asarray(x).flags.writeable,
    )


def copies_and_pickles(jax):
    import copy
    import pickle

    jnp = jax.numpy
    x = jnp.arange(3.0)
    return copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x)), x.copy()


def pickled_key(jax):
    import pickle

    key = jax.random.key(7)
    return jax.random.key_data(pickle.loads(pickle.dumps(key)))


def deleted_array(jax):
    x = jax.numpy.arange(3)
    x.delete()
    return x + 1


def memory_view(jax):
    x = jax.numpy.arange(3, dtype="int32")
    return bytes(memoryview(x)), memoryview(x).shape


def weak_types(jax):
    jnp = jax.numpy
    x = jnp.asarray(2)
    return x.weak_type, jnp.array(2).weak_type, (jnp.ones(2, jnp.bfloat16) * 2.0).dtype.name, x


def readiness(jax):
    x = jax.numpy.arange(3)
    x.copy_to_host_async()
    x.block_until_ready()
    return x.is_ready(), x.is_deleted(), x.on_device_size_in_bytes(), x.unsafe_buffer_pointer() > 0


def shards(jax):
    x = jax.numpy.arange(3)
    shard = x.addressable_shards[0]
    return (
        len(x.addressable_shards),
        shard.data,
        str(shard.index),
        x.is_fully_replicated,
        x.sharding.is_fully_replicated,
    )
