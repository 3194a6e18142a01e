"""Options of the configuration."""


def x64_in_a_block(jax):
    jnp = jax.numpy
    with jax.enable_x64(True):
        x = jnp.arange(3.0)
        y = jnp.array(1)
        return x.dtype.name, y.dtype.name, jnp.sin(x)


def update_and_read(jax):
    old = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    try:
        return (
            jax.numpy.zeros(2).dtype.name,
            jax.config.jax_enable_x64,
            jax.config.read("jax_enable_x64"),
        )
    finally:
        jax.config.update("jax_enable_x64", old)


def unknown_option(jax):
    jax.config.update("jax_no_such_option", 1)


def wrong_value_of_an_option(jax):
    jax.config.update("jax_numpy_rank_promotion", "sometimes")


def debug_nans_raises(jax):
    with jax.debug_nans(True):
        return jax.jit(lambda x: x / x)(jax.numpy.float32(0))


def debug_infs_raises(jax):
    with jax.debug_infs(True):
        return jax.numpy.log(jax.numpy.float32(0))


def disable_jit_shows_values(jax):
    seen = []

    @jax.jit
    def f(x):
        seen.append(float(x))
        return x + 1

    with jax.disable_jit():
        return f(3.0), seen


def strict_promotion(jax):
    jnp = jax.numpy
    with jax.numpy_dtype_promotion("strict"):
        return jnp.ones(2, jnp.int32) + jnp.ones(2, jnp.float32)


def rank_promotion_raises(jax):
    jnp = jax.numpy
    with jax.numpy_rank_promotion("raise"):
        return jnp.ones((2, 3)) + jnp.ones(3)


def rank_promotion_warns(jax):
    import warnings

    jnp = jax.numpy
    with jax.numpy_rank_promotion("warn"), warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        out = jnp.ones((2, 3)) + jnp.ones(3)
    return out, [w.category.__name__ for w in seen]


def matmul_precision(jax):
    jnp = jax.numpy
    with jax.default_matmul_precision("float32"):
        return str(jax.make_jaxpr(jnp.dot)(jnp.ones((2, 2)), jnp.ones((2, 2))))


def leak_check(jax):
    leaked = []

    @jax.jit
    def f(x):
        leaked.append(x)
        return x

    with jax.checking_leaks():
        f(1.0)


def escaped_tracer(jax):
    leaked = []
    jax.jit(lambda x: leaked.append(x))(1.0)
    return leaked[0] + 1


def transfer_guard_disallows(jax):
    import numpy as np

    jnp = jax.numpy
    x = jnp.ones(2)
    with jax.transfer_guard("disallow"):
        return x + np.ones(2, np.float32)


def transfer_guard_allows_explicit(jax):
    import numpy as np

    with jax.transfer_guard("disallow"):
        return jax.device_put(np.ones(2, np.float32)), jax.device_get(jax.device_put(np.float32(2)))


def transfer_guard_disallow_explicit(jax):
    import numpy as np

    with jax.transfer_guard_host_to_device("disallow_explicit"):
        return jax.device_put(np.ones(2, np.float32))


def no_tracing_refuses(jax):
    f = jax.jit(lambda x: x + 1)
    f(1.0)
    with jax.no_tracing():
        a = f(2.0)
        return a, f(jax.numpy.arange(3))


def log_compiles_logs(jax):
    import logging

    records = []
    handler = logging.Handler()
    handler.emit = records.append
    logger = logging.getLogger(jax.__name__)
    logger.addHandler(handler)
    try:
        with jax.log_compiles():
            jax.jit(lambda x: x * 17)(1.0)
    finally:
        logger.removeHandler(handler)
    return any("ompil" in r.getMessage() for r in records)


def no_execution_refuses(jax):
    x = jax.numpy.ones(2)
    with jax.no_execution():
        return x + 1


def explicit_sixty_four_bits_warn(jax):
    import warnings

    jnp = jax.numpy
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        a, b = jnp.zeros(2, "float64"), jnp.arange(3).astype("int64")
    return a, b, [w.category.__name__ for w in seen]
