"""Callbacks and debugging."""


def _printed(f):
    import contextlib
    import io

    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        f()
    return out.getvalue()


def debug_print(jax):
    jnp = jax.numpy

    @jax.jit
    def f(x):
        jax.debug.print("x = {x}, twice {}", 2 * x, x=x)
        return x

    def run():
        f(jnp.arange(3))
        jax.effects_barrier()

    return _printed(run)


def ordered_debug_prints(jax):
    @jax.jit
    def f(n):
        def body(i, c):
            jax.debug.print("step {i}", i=i, ordered=True)
            return c

        return jax.lax.fori_loop(0, n, body, 0)

    def run():
        f(3)
        jax.effects_barrier()

    return _printed(run)


def debug_print_under_vmap(jax):
    jnp = jax.numpy

    def run():
        jax.vmap(lambda x: jax.debug.print("value {x}", x=x))(jnp.arange(2))
        jax.effects_barrier()

    return sorted(_printed(run).splitlines())


def debug_print_of_a_bad_format(jax):
    jax.debug.print("{x} {y}", x=1)


def debug_callback(jax):
    seen = []

    @jax.jit
    def f(x):
        jax.debug.callback(lambda x: seen.append(float(x)), x)
        return x + 1

    f(2.0)
    jax.effects_barrier()
    return seen


def pure_callback(jax):
    import numpy as np

    jnp = jax.numpy

    def host(x):
        return np.sin(x).astype(np.float32)

    @jax.jit
    def f(x):
        return jax.pure_callback(host, jax.ShapeDtypeStruct(x.shape, x.dtype), x)

    return f(jnp.arange(3.0)), str(jax.make_jaxpr(f)(jnp.ones(2))).count("pure_callback")


def pure_callback_vmap_methods(jax):
    import numpy as np

    jnp = jax.numpy
    shapes = []

    def host(x):
        shapes.append(np.shape(x))
        return np.asarray(x) * 2

    def f(method):
        return lambda x: jax.pure_callback(
            host, jax.ShapeDtypeStruct((), jnp.float32), x, vmap_method=method
        )

    xs = jnp.arange(2.0)
    return [jax.vmap(f(m))(xs) for m in ("sequential", "expand_dims", "broadcast_all")], shapes


def pure_callback_without_a_vmap_method(jax):
    jnp = jax.numpy
    return jax.vmap(
        lambda x: jax.pure_callback(lambda x: x, jax.ShapeDtypeStruct((), jnp.float32), x)
    )(jnp.arange(2.0))


def gradient_of_a_pure_callback_is_refused(jax):
    jnp = jax.numpy
    f = lambda x: jax.pure_callback(lambda x: x, jax.ShapeDtypeStruct((), jnp.float32), x)  # noqa: E731
    return jax.grad(f)(1.0)


def differentiable_callback(jax):
    import numpy as np

    jnp = jax.numpy
    shape = jax.ShapeDtypeStruct((), jnp.float32)

    @jax.custom_jvp
    def f(x):
        return jax.pure_callback(lambda x: np.float32(np.exp(x)), shape, x)

    f.defjvp(lambda p, t: (f(*p), f(*p) * t[0]))
    return jax.jit(jax.value_and_grad(f))(1.0)


def io_callback(jax):
    import numpy as np

    jnp = jax.numpy
    state = {"n": 0}

    def count(x):
        state["n"] += int(x)
        return np.int32(state["n"])

    @jax.jit
    def f(x):
        a = jax.experimental.io_callback(
            count, jax.ShapeDtypeStruct((), jnp.int32), x, ordered=True
        )
        b = jax.experimental.io_callback(
            count, jax.ShapeDtypeStruct((), jnp.int32), x, ordered=True
        )
        return a, b

    return f(2), state["n"]


def error_in_a_callback(jax):
    jnp = jax.numpy

    def fail(x):
        raise ValueError("from the host")

    f = jax.jit(lambda x: jax.pure_callback(fail, jax.ShapeDtypeStruct((), jnp.float32), x))
    try:
        jax.block_until_ready(f(1.0))
    except Exception as e:
        return "from the host" in str(e)


def callback_in_scan(jax):
    jnp = jax.numpy
    seen = []

    def body(c, x):
        jax.debug.callback(lambda c, x: seen.append((int(c), int(x))), c, x, ordered=True)
        return c + x, None

    jax.lax.scan(body, 0, jnp.arange(3))
    jax.effects_barrier()
    return seen


def debug_effects_in_jaxprs(jax):
    closed = jax.make_jaxpr(lambda x: jax.debug.print("{}", x))(1.0)
    return len(closed.effects), [e.primitive.name for e in closed.eqns]


def visualize_sharding(jax):
    jnp = jax.numpy
    return "CPU 0" in _printed(lambda: jax.debug.visualize_array_sharding(jnp.ones((2, 2))))


def inspect_array_sharding(jax):
    jnp = jax.numpy
    seen = []
    jax.debug.inspect_array_sharding(jnp.ones(2), callback=lambda s: seen.append(type(s).__name__))
    return len(seen)
