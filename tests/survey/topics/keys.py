"""Random keys and their implementations."""


def typed_key(jax):
    key = jax.random.key(42)
    return (
        repr(key),
        str(key.dtype),
        key.shape,
        jax.random.key_data(key),
        str(jax.random.key_impl(key)),
    )


def split_and_fold(jax):
    key = jax.random.key(0)
    a, b = jax.random.split(key)
    c = jax.random.fold_in(key, 7)
    return [jax.random.key_data(k) for k in (a, b, c)], jax.random.split(key, (2, 3)).shape


def old_key(jax):
    key = jax.random.PRNGKey(0)
    return key, jax.random.split(key, 3), jax.random.normal(key, (3,))


def wrap_key_data(jax):
    import numpy as np

    key = jax.random.wrap_key_data(np.array([1, 2], np.uint32))
    return jax.random.bits(key, (2,)), jax.random.clone(key).dtype == key.dtype


def rbg(jax):
    key = jax.random.key(3, impl="rbg")
    return jax.random.key_data(key), jax.random.bits(key, (3,)), jax.random.uniform(key, (2,))


def unsafe_rbg(jax):
    key = jax.random.key(3, impl="unsafe_rbg")
    return jax.random.key_data(jax.random.split(key, 2)), jax.random.bits(key, (2,), "uint16")


def unknown_implementation(jax):
    return jax.random.key(0, impl="dice")


def default_implementation(jax):
    with jax.default_prng_impl("rbg"):
        return jax.random.key_data(jax.random.key(1)).shape


def not_partitionable(jax):
    with jax.threefry_partitionable(False):
        key = jax.random.key(1)
        return (
            jax.random.bits(key, (5,)),
            jax.random.uniform(key, (3,)),
            jax.random.key_data(jax.random.split(key, 3)),
        )


def arithmetic_of_keys_is_refused(jax):
    return jax.random.key(0) + 1


def key_as_numpy_is_refused(jax):
    import numpy as np

    return np.asarray(jax.random.key(0)) + 1


def float_key_is_refused(jax):
    return jax.random.normal(jax.numpy.ones(2))


def keys_in_vmap_and_scan(jax):
    jnp = jax.numpy
    keys = jax.random.split(jax.random.key(0), 3)
    drawn = jax.vmap(lambda k: jax.random.normal(k, (2,)))(keys)

    def body(key, _):
        key, sub = jax.random.split(key)
        return key, jax.random.uniform(sub)

    _, walk = jax.lax.scan(body, jax.random.key(1), None, length=3)
    return drawn, walk, jnp.stack(list(keys)).shape


def indexing_keys(jax):
    jnp = jax.numpy
    keys = jax.random.split(jax.random.key(5), 4)
    picked = jnp.where(jnp.array([True, False, True, False]), keys, keys[::-1])
    return (
        jax.random.key_data(keys[1:3]),
        jax.random.key_data(picked),
        keys.at[0].set(keys[1]).shape,
    )


def key_reuse_is_found(jax):
    with jax.debug_key_reuse(True):
        key = jax.random.key(0)
        return jax.random.normal(key) + jax.random.normal(key)


def is_key_dtype(jax):
    jnp = jax.numpy
    key = jax.random.key(0)
    return (
        jnp.issubdtype(key.dtype, jax.dtypes.prng_key),
        jnp.issubdtype(jnp.uint32, jax.dtypes.prng_key),
        jnp.issubdtype(key.dtype, jax.dtypes.extended),
    )
