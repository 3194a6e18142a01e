"""Export, symbolic shapes and stages of compilation."""


def export_and_call(jax):
    jnp = jax.numpy
    exported = jax.export.export(jax.jit(jnp.sin))(jax.ShapeDtypeStruct((3,), jnp.float32))
    data = exported.serialize()
    again = jax.export.deserialize(data)
    return exported.fun_name, str(again.in_avals), str(again.out_avals), again.call(jnp.ones(3))


def export_with_gradient(jax):
    jnp = jax.numpy
    f = jax.jit(lambda x: jnp.sum(x**3))
    exported = jax.export.export(f)(jax.ShapeDtypeStruct((2,), jnp.float32))
    again = jax.export.deserialize(exported.serialize(vjp_order=1))
    return jax.grad(again.call)(jnp.array([1.0, 2.0])), again.has_vjp()


def no_gradient_was_exported(jax):
    jnp = jax.numpy
    exported = jax.export.export(jax.jit(jnp.sin))(jax.ShapeDtypeStruct((), jnp.float32))
    again = jax.export.deserialize(exported.serialize(vjp_order=0))
    return jax.grad(again.call)(1.0)


def symbolic_shape(jax):
    jnp = jax.numpy
    a, b = jax.export.symbolic_shape("a, b")
    args = jax.ShapeDtypeStruct((a, b), jnp.float32)
    exported = jax.export.export(jax.jit(lambda x: x.reshape(-1).sum() + x.shape[0]))(args)
    return str(exported.in_avals), exported.call(jnp.ones((2, 3))), exported.call(jnp.ones((4, 1)))


def arithmetic_of_dimensions(jax):
    a, b = jax.export.symbolic_shape("a, b", constraints=["a >= b", "mod(a, 2) == 0"])
    return str(a * 2 + b - 1), str((4 * a) // 2), a >= b, a + b >= 2, str(a % 2)


def inconclusive_comparison(jax):
    a, b = jax.export.symbolic_shape("a, b")
    return a > b


def wrong_shapes_for_a_symbolic_call(jax):
    jnp = jax.numpy
    (b,) = jax.export.symbolic_shape("b")
    arg = jax.ShapeDtypeStruct((b,), jnp.float32)
    exported = jax.export.export(jax.jit(lambda x, y: x + y))(arg, arg)
    return exported.call(jnp.ones(3), jnp.ones(4))


def shape_poly_matmul(jax):
    jnp = jax.numpy
    args = jax.export.symbolic_args_specs((jnp.ones((2, 3)), jnp.ones((3, 4))), ("b, 3", "3, 4"))
    exported = jax.export.export(jax.jit(jnp.matmul))(*args)
    return exported.call(jnp.ones((5, 3)), jnp.ones((3, 4))), exported.out_avals[0].ndim


def symbolic_mean_and_softmax(jax):
    jnp = jax.numpy
    (b,) = jax.export.symbolic_shape("b")
    f = jax.jit(lambda x: (x.mean(axis=0), jax.nn.softmax(x, axis=-1), jnp.arange(x.shape[0])))
    exported = jax.export.export(f)(jax.ShapeDtypeStruct((b, 2), jnp.float32))
    return exported.call(jnp.arange(6.0).reshape(3, 2))


def exported_platforms(jax):
    jnp = jax.numpy
    exported = jax.export.export(jax.jit(jnp.cos), platforms=["cpu", "tpu"])(
        jax.ShapeDtypeStruct((), jnp.float32)
    )
    return exported.platforms, exported.nr_devices, exported.calling_convention_version


def export_needs_jit(jax):
    return jax.export.export(lambda x: x)(1.0)


def lower_and_compile(jax):
    jnp = jax.numpy
    lowered = jax.jit(lambda x, y: 2 * x + y).lower(3, 4)
    compiled = lowered.compile()
    return compiled(3, 4), str(lowered.in_avals), str(lowered.out_info), jnp.int32(0)


def compiled_refuses_other_shapes(jax):
    jnp = jax.numpy
    compiled = jax.jit(jnp.sin).lower(jax.ShapeDtypeStruct((3,), jnp.float32)).compile()
    return compiled(jnp.ones(4))


def trace_then_lower(jax):
    jnp = jax.numpy
    traced = jax.jit(lambda x: jnp.sin(x) + 1).trace(1.0)
    return str(traced.jaxpr), traced.lower().compile()(2.0)


def static_argument_when_lowered(jax):
    jnp = jax.numpy
    f = jax.jit(lambda n, x: x * jnp.arange(n), static_argnums=0)
    lowered = f.lower(3, 2.0)
    return lowered.compile()(2.0), "stablehlo" in lowered.as_text()


def eval_shape_of_a_tree(jax):
    jnp = jax.numpy
    out = jax.eval_shape(
        lambda p, x: {"y": p["w"] @ x, "n": x.shape[0]},
        {"w": jax.ShapeDtypeStruct((3, 4), jnp.bfloat16)},
        jax.ShapeDtypeStruct((4, 5), jnp.float32),
    )
    return str(out["y"]), str(out["n"])


def donated_buffer_is_deleted(jax):
    jnp = jax.numpy
    x = jnp.ones(4)
    y = jax.jit(lambda x: x + 1, donate_argnums=0)(x)
    return y, x.is_deleted()
