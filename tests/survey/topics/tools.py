"""Profiler, monitoring, test helpers and other tools."""


def profiler_trace(jax):
    import os
    import tempfile

    jnp = jax.numpy
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder):
            jnp.dot(jnp.ones((2, 2)), jnp.ones((2, 2))).block_until_ready()
        return any(files for _, _, files in os.walk(folder))


def annotations(jax):
    jnp = jax.numpy

    @jax.profiler.annotate_function
    def f(x):
        with jax.profiler.TraceAnnotation("inner"):
            return jnp.sin(x)

    with jax.profiler.StepTraceAnnotation("train", step_num=1):
        return f(0.0), f.__name__


def memory_profile(jax):
    return len(jax.profiler.device_memory_profile()) > 0


def stop_without_start(jax):
    jax.profiler.stop_trace()


def monitoring_listeners(jax):
    events = []
    jax.monitoring.register_event_listener(lambda event, **kw: events.append(event))
    try:
        jax.monitoring.record_event("/mine/happened")
    finally:
        jax.monitoring.clear_event_listeners()
    return events


def monitoring_compilations(jax):
    seen = []
    jax.monitoring.register_event_duration_secs_listener(
        lambda event, secs, **kw: seen.append(event)
    )
    try:
        jax.jit(lambda x: x * 19)(1.0)
    finally:
        jax.monitoring.clear_event_listeners()
    return any("backend_compile" in e for e in seen)


def check_grads(jax):
    jnp = jax.numpy
    jax.test_util.check_grads(jnp.sin, (1.0,), order=2, modes=["fwd", "rev"])
    jax.test_util.check_jvp(jnp.cos, lambda p, t: (jnp.cos(*p), -jnp.sin(*p) * t[0]), (0.5,))
    return True


def check_grads_fails(jax):
    f = jax.custom_jvp(lambda x: x**2)
    f.defjvp(lambda p, t: (p[0] ** 2, 5 * t[0]))
    jax.test_util.check_grads(f, (1.0,), order=1)


def cost_analysis(jax):
    jnp = jax.numpy
    compiled = jax.jit(jnp.dot).lower(jnp.ones((4, 4)), jnp.ones((4, 4))).compile()
    cost = compiled.cost_analysis()
    return cost["flops"] >= 128, compiled.memory_analysis().output_size_in_bytes


def environment_info(jax):
    text = jax.print_environment_info(return_string=True)
    return "numpy" in text, "python" in text


def print_of_a_device(jax):
    d = jax.devices()[0]
    return d.id, d.process_index, d.platform, d.device_kind


def memory_stats(jax):
    return jax.devices()[0].memory_stats()


def composite(jax):
    jnp = jax.numpy

    tangent = jax.lax.composite(lambda x: jnp.sin(x) / jnp.cos(x), name="my.tangent")

    return tangent(0.5), "my.tangent" in jax.jit(tangent).lower(0.5).as_text()


def compilation_cache_options(jax):
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        old = jax.config.jax_compilation_cache_dir
        jax.config.update("jax_compilation_cache_dir", folder)
        try:
            return jax.jit(lambda x: x + 1)(1.0)
        finally:
            jax.config.update("jax_compilation_cache_dir", old)


def compiler_options(jax):
    f = jax.jit(lambda x: x + 1, compiler_options={"xla_cpu_enable_fast_math": False})
    return f(1.0)


def scheduling_and_metadata(jax):
    jnp = jax.numpy

    @jax.jit
    def f(x):
        with jax.experimental.xla_metadata.set_xla_metadata(color="red"):
            return jnp.sin(x)

    return f(0.0), 'color = "red"' in f.lower(0.0).as_text()


def custom_partitioning_on_one_device(jax):
    jnp = jax.numpy

    @jax.experimental.custom_partitioning.custom_partitioning
    def f(x):
        return jnp.sin(x)

    f.def_partition(
        infer_sharding_from_operands=lambda mesh, args, result: args[0].sharding,
        partition=lambda mesh, args, result: (mesh, jnp.sin, args[0].sharding, (args[0].sharding,)),
        sharding_rule="i -> i",
    )
    return jax.jit(f)(jnp.arange(2.0))


def buffer_callback(jax):
    jnp = jax.numpy
    import numpy as np

    def host(ctx, out, x):
        np.asarray(out)[...] = np.asarray(x) * 2

    return jax.experimental.buffer_callback.buffer_callback(
        host, jax.ShapeDtypeStruct((3,), jnp.float32)
    )(jnp.arange(3.0))


def compute_on_the_host(jax):
    @jax.jit
    def f(x):
        with jax.experimental.compute_on.compute_on("device_host"):
            y = x * 2
        return y + 1

    return f(3.0)


def stateful_rng(jax):
    rng = jax.experimental.random.stateful_rng(0)
    a, b = rng.normal(size=2), rng.normal(size=2)
    return a.shape, bool((a != b).any())
