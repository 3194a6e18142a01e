"""What programs catch."""


def _message(f, kind, *phrases):
    try:
        f()
    except kind as error:
        return kind.__name__, [p in str(error) for p in phrases]
    return None


def tracer_bool(jax):
    jnp = jax.numpy

    @jax.jit
    def f(x):
        if jnp.any(x > 0):
            return x
        return -x

    return _message(
        lambda: f(jnp.ones(2)),
        jax.errors.TracerBoolConversionError,
        "Attempted boolean conversion of traced array",
        "f",
        "x",
    )


def tracer_to_numpy(jax):
    import numpy as np

    return _message(
        lambda: jax.jit(np.sin)(1.0), TypeError, "The numpy.ndarray conversion method", "argument"
    )


def tracer_integer(jax):
    return _message(
        lambda: jax.jit(range)(3),
        jax.errors.TracerIntegerConversionError,
        "cannot be interpreted as an integer",
    )


def incompatible_broadcast(jax):
    jnp = jax.numpy
    return _message(
        lambda: jnp.ones(2) + jnp.ones(3), TypeError, "ncompatible shapes for broadcasting"
    )


def dot_mismatch(jax):
    jnp = jax.numpy
    return _message(
        lambda: jnp.dot(jnp.ones((2, 3)), jnp.ones(2)), TypeError, "contracting dimension", "3"
    )


def grad_needs_scalar(jax):
    jnp = jax.numpy
    return _message(
        lambda: jax.grad(lambda x: x)(jnp.ones(2)),
        TypeError,
        "Gradient only defined for scalar-output functions",
        "(2,)",
    )


def grad_needs_float(jax):
    return _message(
        lambda: jax.grad(lambda x: x)(1),
        TypeError,
        "grad requires real- or complex-valued inputs",
        "int32",
    )


def unexpected_tracer(jax):
    kept = []
    jax.jit(lambda x: kept.append(x) or x)(1.0)
    return _message(lambda: kept[0] + 1, jax.errors.UnexpectedTracerError, "leaked", "trace")


def scan_carry(jax):
    jnp = jax.numpy
    return _message(
        lambda: jax.lax.scan(lambda c, x: (jnp.ones(2), x), jnp.ones(3), None, length=2),
        TypeError,
        "carry",
        "float32[2]",
        "float32[3]",
    )


def cond_branches(jax):
    return _message(
        lambda: jax.lax.cond(True, lambda: 1, lambda: 1.0),
        TypeError,
        "branch",
        "int32[]",
        "float32[]",
    )


def vmap_sizes(jax):
    jnp = jax.numpy
    return _message(
        lambda: jax.vmap(jnp.add)(jnp.ones(2), jnp.ones(3)),
        ValueError,
        "vmap got inconsistent sizes",
    )


def immutable(jax):
    x = jax.numpy.ones(2)

    def write():
        x[0] = 1

    return _message(write, TypeError, "immutable", ".at[")


def missing_key(jax):
    return _message(lambda: jax.random.normal(3), TypeError, "key") or _message(
        lambda: jax.random.split(1.5), TypeError, "key"
    )


def not_an_array_type(jax):
    return _message(lambda: jax.jit(lambda x: x)({"a": "text"}), TypeError, "a", "str")


def jnp_of_a_string(jax):
    return _message(lambda: jax.numpy.sin("a"), TypeError, "str")


def jnp_of_a_list(jax):
    return _message(lambda: jax.numpy.sin([1.0]), TypeError, "list")


def reshape_total_size(jax):
    return _message(lambda: jax.numpy.ones(6).reshape(4), TypeError, "reshape", "(6,)", "(4,)")


def axis_out_of_bounds(jax):
    return _message(
        lambda: jax.numpy.sum(jax.numpy.ones(2), axis=3),
        ValueError,
        "axis 3 is out of bounds for array of dimension 1",
    )


def negative_size(jax):
    return _message(lambda: jax.numpy.zeros(-1), TypeError, "-1")


def classes_and_their_bases(jax):
    e = jax.errors
    return {
        name: sorted(b.__name__ for b in getattr(e, name).__mro__ if b.__module__ == "builtins")
        for name in (
            "ConcretizationTypeError", "TracerArrayConversionError", "TracerBoolConversionError",
            "TracerIntegerConversionError", "UnexpectedTracerError", "NonConcreteBooleanIndexError", "KeyReuseError",
            "JaxRuntimeError",
        )
    }  # fmt: skip


def nonhashable_static(jax):
    return _message(
        lambda: jax.jit(lambda x: x, static_argnums=0)({}), ValueError, "hashable", "static"
    )


def invalid_static_argnames(jax):
    return _message(
        lambda: jax.jit(lambda x: x, static_argnames="y"), ValueError, "static_argnames", "y"
    )


def donated_twice(jax):
    jnp = jax.numpy
    x = jnp.ones(2)
    f = jax.jit(lambda x: x + 1, donate_argnums=0)
    f(x)
    return _message(lambda: f(x), ValueError, "deleted")


def fori_body(jax):
    return _message(lambda: jax.lax.fori_loop(0, 2, lambda i, x: x + 0.5, 0), TypeError, "carry")
