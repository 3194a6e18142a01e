"""Dtypes and promotion."""


def python_scalars_are_weak(jax):
    jnp = jax.numpy
    return (
        jnp.int8(1) + 1,
        jnp.float16(1) + 1.0,
        jnp.int32(1) + 1.0,
        jnp.uint8(200) + 100,
        jnp.ones(2, bool) + 1,
        jnp.bfloat16(1) * 1j,
    )


def lattice(jax):
    import itertools

    jnp = jax.numpy
    names = [
        "bool",
        "uint8",
        "int8",
        "uint16",
        "int32",
        "bfloat16",
        "float16",
        "float32",
        "complex64",
    ]
    return [jnp.promote_types(a, b).name for a, b in itertools.combinations(names, 2)]


def result_types(jax):
    jnp = jax.numpy
    return (
        jnp.result_type(1, jnp.float16).name,
        jnp.result_type(1.0, jnp.int8).name,
        jnp.result_type("int16", 3j).name,
        jnp.result_type(jnp.uint8(1), jnp.int8(1)).name,
    )


def small_floats(jax):
    jnp = jax.numpy
    x = jnp.array([0.1, 1.0, 300.0, -7.3])
    return [
        x.astype(t).astype(jnp.float32)
        for t in (jnp.bfloat16, jnp.float8_e4m3fn, jnp.float8_e5m2, jnp.float16)
    ]


def int4_arithmetic(jax):
    jnp = jax.numpy
    x = jnp.array([-8, 3, 7], jnp.int4)
    return (x + jnp.int4(1)).astype(jnp.int32), x.dtype.name, (x.astype(jnp.int8) * 2)


def finfo_and_iinfo(jax):
    jnp = jax.numpy
    f, i = jnp.finfo(jnp.bfloat16), jnp.iinfo("int16")
    return float(f.max), float(f.eps), f.bits, i.min, i.max, float(jnp.finfo("float32").tiny)


def issubdtype(jax):
    jnp = jax.numpy
    return (
        jnp.issubdtype(jnp.bfloat16, jnp.floating),
        jnp.issubdtype("int32", jnp.signedinteger),
        jnp.issubdtype(jnp.float32, jnp.integer),
        jnp.isdtype(jnp.int8, "integral"),
        jnp.isdtype(jnp.complex64, ("real floating", "complex floating")),
    )


def integer_division_and_mean(jax):
    jnp = jax.numpy
    x = jnp.arange(1, 5)
    return (
        x / 2,
        jnp.mean(x),
        jnp.sqrt(x),
        jnp.sum(x, dtype=jnp.float32),
        jnp.sum(jnp.ones(3, bool)),
    )


def float_to_int_wraps_or_saturates(jax):
    jnp = jax.numpy
    return (
        jnp.array([1.9, -1.9, 0.0]).astype(int),
        jnp.int32(300).astype(jnp.uint8),
        jnp.uint8(256 - 1) + jnp.uint8(1),
    )


def python_int_too_large(jax):
    return jax.numpy.array(2**40)


def out_of_range_constant(jax):
    return jax.numpy.uint8(1) + 300


def complex_to_real_warns(jax):
    import warnings

    jnp = jax.numpy
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        x = jnp.array([1 + 2j]).astype(jnp.float32)
    return x, [w.category.__name__ for w in seen]


def strings_are_refused(jax):
    return jax.numpy.array(["a", "b"]) + 1


def objects_are_refused(jax):
    return jax.numpy.array([object()])


def canonical_dtypes(jax):
    import numpy as np

    jnp = jax.numpy
    return (
        jax.dtypes.canonicalize_dtype(np.float64).name,
        jnp.array(np.arange(3)).dtype.name,
        jnp.array(np.ones(2)).dtype.name,
        jax.dtypes.scalar_type_of(1.0) is float,
        jax.dtypes.result_type(np.int64(1)).name,
    )


def bitcasts(jax):
    jnp = jax.numpy
    x = jnp.array([1.0, -2.0])
    return (
        jax.lax.bitcast_convert_type(x, jnp.int32),
        x.view(jnp.uint8),
        jax.lax.bitcast_convert_type(x, jnp.uint16),
        jnp.packbits(jnp.array([1, 0, 1, 1])),
    )
