"""jit and vmap as the tutorials use them."""


def traces_once_per_signature(jax):
    jnp = jax.numpy
    traces = []

    @jax.jit
    def f(x):
        traces.append(str(x.aval))
        return x * 2

    f(1.0), f(2.0), f(jnp.float32(3)), f(jnp.arange(2)), f(1)
    return traces, f._cache_size()


def static_arguments(jax):
    from functools import partial

    @partial(jax.jit, static_argnames=("n",), static_argnums=0)
    def f(mode, x, n=2):
        return x**n if mode == "power" else x * n

    return f("power", 3.0), f("times", 3.0, n=5), f("power", 2.0, n=3)


def unhashable_static_argument(jax):
    return jax.jit(lambda x, y: y, static_argnums=0)([1, 2], 1.0)


def jit_of_a_previously_jitted_function(jax):
    traces = []

    def f(x):
        traces.append(1)
        return x + 1

    jax.jit(f)(1.0)
    jax.jit(f)(2.0)
    return len(traces)


def impure_globals(jax):
    box = {"g": 1.0}
    f = jax.jit(lambda x: x + box["g"])
    first = f(1.0)
    box["g"] = 10.0
    return first, f(2.0), f(jax.numpy.array([1.0]))


def print_in_jit_happens_once(jax):
    import contextlib
    import io

    @jax.jit
    def f(x):
        print("tracing", x)  # noqa: T201
        return x

    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        f(1.0)
        f(2.0)
    return out.getvalue().count("tracing")


def concrete_value_errors(jax):
    import numpy as np

    jnp = jax.numpy
    seen = []
    for f in (
        lambda x: bool(x), lambda x: int(x), lambda x: float(x), lambda x: np.asarray(x), lambda x: jnp.zeros(x),
        lambda x: [1, 2][x], lambda x: jnp.arange(5)[:x], lambda x: x.item(), lambda x: x.tolist(), lambda x: complex(x),
    ):  # fmt: skip
        try:
            jax.jit(f)(1)
        except jax.errors.ConcretizationTypeError:
            seen.append("concretization")
        except (TypeError, IndexError) as e:
            seen.append(isinstance(e, IndexError))
    return seen


def vmap_in_and_out_axes(jax):
    jnp = jax.numpy
    m = jnp.arange(6.0).reshape(2, 3)
    return (
        jax.vmap(jnp.dot, in_axes=(0, None))(m, jnp.ones(3)),
        jax.vmap(lambda x: x * 2, in_axes=1, out_axes=1)(m),
        jax.vmap(jax.vmap(jnp.add, (None, 0)), (0, None))(jnp.arange(2), jnp.arange(3)),
        jax.vmap(lambda: jnp.ones(2), axis_size=3)(),
    )


def vmap_of_unequal_sizes(jax):
    jnp = jax.numpy
    return jax.vmap(jnp.add)(jnp.arange(2), jnp.arange(3))


def vmap_of_a_scalar(jax):
    return jax.vmap(lambda x: x)(1.0)


def vmap_in_axes_of_wrong_length(jax):
    jnp = jax.numpy
    return jax.vmap(jnp.add, in_axes=(0,))(jnp.arange(2), jnp.arange(2))


def collectives(jax):
    jnp = jax.numpy

    def f(x):
        return (
            jax.lax.pmean(x, "b"),
            jax.lax.pmax(x, "b"),
            jax.lax.all_gather(x, "b"),
            jax.lax.ppermute(x, "b", [(0, 1), (1, 2), (2, 0)]),
            jax.lax.axis_size("b"),
        )

    return jax.vmap(f, axis_name="b")(jnp.arange(3.0))


def unbound_axis_name(jax):
    return jax.lax.psum(1.0, "nowhere")


def jit_with_keyword_arguments(jax):
    f = jax.jit(lambda x, *, scale=1.0, shift=0.0: x * scale + shift)
    return f(2.0, scale=3.0), f(2.0, shift=1.0), f(x=1.0)


def jitted_method(jax):
    from functools import partial

    class Layer:
        def __init__(self, w):
            self.w = w

        @partial(jax.jit, static_argnums=0)
        def __call__(self, x):
            return self.w * x

    return Layer(3.0)(2.0)


def inline_and_names_in_jaxprs(jax):
    jnp = jax.numpy

    @jax.jit
    def inner(x):
        return jnp.sin(x) + 1

    return str(jax.make_jaxpr(lambda x: inner(x) * inner(2 * x))(1.0))


def clear_cache(jax):
    traces = []
    f = jax.jit(lambda x: traces.append(1) or x)
    f(1.0)
    f.clear_cache()
    f(1.0)
    return len(traces)


def wrapped_function(jax):
    @jax.jit
    def documented(x):
        """Doubles."""
        return 2 * x

    return documented.__name__, documented.__doc__, documented.__wrapped__(2)


def constants_in_jaxprs(jax):
    jnp = jax.numpy
    table = jnp.arange(3.0)
    closed = jax.make_jaxpr(lambda x: x * table)(2.0)
    return str(closed), [c.tolist() for c in closed.consts]


def pmap_like_reduction_with_vmap_names(jax):
    jnp = jax.numpy
    return jax.vmap(lambda x, y: jax.lax.psum(x * y, ("i",)), axis_name="i", out_axes=None)(
        jnp.arange(3.0), jnp.ones(3)
    )
