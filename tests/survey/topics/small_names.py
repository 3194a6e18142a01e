"""Names that a port meets in its first lines."""


def float0_zeros(jax):
    import numpy as np

    z = np.zeros((2,), dtype=jax.float0)
    return z.shape, z.dtype == jax.dtypes.float0


def shape_dtype_struct(jax):
    jnp = jax.numpy
    s = jax.ShapeDtypeStruct((2, 3), jnp.float32)
    return (
        repr(s),
        s.ndim,
        s.size,
        len(s),
        s == jax.ShapeDtypeStruct((2, 3), "float32"),
        s.update(shape=(4,)).shape,
    )


def default_backend_is_what_programs_compare(jax):
    return jax.default_backend() == "cpu", jax.devices()[0].platform, jax.devices("cpu")[0].platform


def processes(jax):
    return (
        jax.process_index(),
        jax.process_count(),
        jax.local_device_count() == len(jax.local_devices()),
        jax.device_count() >= 1,
    )


def unknown_backend(jax):
    return jax.devices("rocket")


def device_put_and_committed(jax):
    jnp = jax.numpy
    x = jnp.arange(3)
    y = jax.device_put(x, jax.devices()[0])
    return x.committed, y.committed, y.device == jax.devices()[0], y.devices() == {y.device}, y


def device_get_of_a_tree(jax):
    jnp = jax.numpy
    out = jax.device_get({"a": jnp.ones(2), "b": [jnp.int32(3), 4.0]})
    return type(out["a"]).__name__, type(out["b"][0]).__name__, type(out["b"][1]).__name__


def block_until_ready_of_a_tree(jax):
    jnp = jax.numpy
    return jax.block_until_ready({"a": jnp.ones(2), "b": 3}), jnp.ones(2).block_until_ready()


def typeof(jax):
    jnp = jax.numpy
    return str(jax.typeof(jnp.ones((2, 3)))), str(jax.typeof(1.0)), str(jax.typeof(True))


def live_arrays(jax):
    jnp = jax.numpy
    x = jnp.arange(12345)
    return any(a is x for a in jax.live_arrays())


def named_scope_and_call(jax):
    jnp = jax.numpy

    @jax.jit
    def f(x):
        with jax.named_scope("scope_of_mine"):
            return jnp.sin(x)

    text = f.lower(1.0).as_text(debug_info=True)
    return "scope_of_mine" in text, jax.named_call(jnp.cos, name="c")(0.0)


def effects_barrier(jax):
    jax.effects_barrier()
    return jax.__version__.count(".") >= 2


def ensure_compile_time_eval(jax):
    jnp = jax.numpy

    @jax.jit
    def f(x):
        with jax.ensure_compile_time_eval():
            n = int(jnp.array(3) + 1)
        return x * n

    return f(2.0)


def stax_network(jax):
    jnp = jax.numpy
    stax = jax.example_libraries.stax
    init, apply = stax.serial(stax.Dense(4), stax.Relu, stax.Dense(2), stax.LogSoftmax)
    shape, params = init(jax.random.key(0), (-1, 3))
    return shape, jax.tree.map(jnp.shape, params), apply(params, jnp.ones((1, 3))).shape


def example_optimizer(jax):
    jnp = jax.numpy
    opt_init, opt_update, get_params = jax.example_libraries.optimizers.momentum(0.1, 0.9)
    state = opt_init({"w": jnp.ones(2)})
    for i in range(3):
        g = jax.grad(lambda p: jnp.sum(p["w"] ** 2))(get_params(state))
        state = opt_update(i, g, state)
    return get_params(state)


def ravel_pytree(jax):
    jnp = jax.numpy
    flat, unravel = jax.flatten_util.ravel_pytree({"a": jnp.ones((2, 2)), "b": jnp.arange(3)})
    return flat, unravel(flat * 2)


def user_context(jax):
    jnp = jax.numpy
    ctx = jax.make_user_context(None)
    traces = []

    @jax.jit
    def f(x):
        traces.append(ctx.value if hasattr(ctx, "value") else None)
        return x

    f(jnp.float32(1))
    with ctx("a"):
        f(jnp.float32(1))
    f(jnp.float32(1))
    return len(traces)


def dlpack(jax):
    import numpy as np

    jnp = jax.numpy
    return jnp.from_dlpack(np.arange(4, dtype=np.float32)), np.from_dlpack(jnp.arange(3))
