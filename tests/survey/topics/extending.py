"""Primitives and interpreters that a program defines."""


def multiply_add_primitive(jax):
    jnp = jax.numpy
    multiply_add_p = jax.extend.core.Primitive("multiply_add")
    multiply_add_p.def_impl(lambda x, y, z: jnp.asarray(x * y + z))

    @multiply_add_p.def_abstract_eval
    def _(x, y, z):
        return jax.core.ShapedArray(x.shape, x.dtype)

    def value_and_jvp(primals, tangents):
        x, y, z = primals
        xt, yt, zt = (
            jax.numpy.zeros_like(x) if type(t) is jax.interpreters.ad.Zero else t
            for x, t in zip(primals, tangents, strict=True)
        )
        return multiply_add_p.bind(x, y, z), xt * y + x * yt + zt

    jax.interpreters.ad.primitive_jvps[multiply_add_p] = value_and_jvp
    return multiply_add_p.bind(2.0, 3.0, 4.0), jax.jvp(
        lambda x: multiply_add_p.bind(x, 3.0, 4.0), (2.0,), (1.0,)
    )


def batching_rule(jax):
    jnp = jax.numpy
    double_p = jax.extend.core.Primitive("double")
    double_p.def_impl(lambda x: jnp.asarray(x) * 2)
    double_p.def_abstract_eval(lambda x: x)
    jax.interpreters.batching.primitive_batchers[double_p] = lambda args, dims: (
        double_p.bind(*args),
        dims[0],
    )
    return jax.vmap(double_p.bind)(jnp.arange(3.0)), str(jax.make_jaxpr(double_p.bind)(1.0))


def primitive_without_a_rule(jax):
    p = jax.extend.core.Primitive("lonely")
    p.def_impl(lambda x: x)
    p.def_abstract_eval(lambda x: x)
    return jax.grad(p.bind)(1.0)


def primitive_without_abstract_eval(jax):
    p = jax.extend.core.Primitive("concrete")
    p.def_impl(lambda x: x)
    return jax.jit(p.bind)(1.0)


def inverse_interpreter(jax):
    jnp = jax.numpy
    inverse = {jax.lax.exp_p: jnp.log, jax.lax.tanh_p: jnp.arctanh}

    def inverse_of(fun):
        def wrapped(*args):
            closed = jax.make_jaxpr(fun)(*args)
            env = dict(zip(closed.jaxpr.outvars, args, strict=True))
            for eqn in closed.jaxpr.eqns[::-1]:
                env[eqn.invars[0]] = inverse[eqn.primitive](env[eqn.outvars[0]])
            return [env[v] for v in closed.jaxpr.invars]

        return wrapped

    return inverse_of(lambda x: jnp.exp(jnp.tanh(x)))(2.0)


def eqns_and_variables(jax):
    jnp = jax.numpy
    closed = jax.make_jaxpr(lambda x, y: jnp.dot(x, y) + 1)(jnp.ones((2, 3)), jnp.ones(3))
    jaxpr = closed.jaxpr
    return (
        [eqn.primitive.name for eqn in jaxpr.eqns],
        [str(v.aval) for v in jaxpr.invars],
        len(jaxpr.constvars),
        isinstance(jaxpr.eqns[-1].invars[1], jax.extend.core.Literal),
        sorted(jaxpr.eqns[0].params),
    )


def eval_jaxpr(jax):
    jnp = jax.numpy
    closed = jax.make_jaxpr(lambda x: jnp.sin(x) * jnp.arange(3.0))(1.0)
    return jax.core.eval_jaxpr(closed.jaxpr, closed.consts, 2.0), jax.extend.core.jaxpr_as_fun(
        closed
    )(2.0)


def abstract_values(jax):
    jnp = jax.numpy
    aval = jax.typeof(jnp.ones((2, 3)))
    return str(aval), aval.ndim, aval.size, aval.weak_type, str(aval.update(shape=(6,)))


def tracer_types(jax):
    jnp = jax.numpy
    seen = []

    @jax.jit
    def f(x):
        seen.append([isinstance(x, jax.core.Tracer), isinstance(x, jax.Array)])
        seen.append(str(x.aval))
        return x

    f(jnp.ones(2))
    return seen, isinstance(jnp.ones(2), jax.core.Tracer)


def dead_code(jax):
    jnp = jax.numpy
    closed = jax.make_jaxpr(lambda x, y: (jnp.sin(x), jnp.cos(y)))(1.0, 2.0)
    jaxpr, used = jax.interpreters.partial_eval.dce_jaxpr(closed.jaxpr, [True, False])
    return str(jaxpr), used


def lowering_rule(jax):
    jnp = jax.numpy
    cube_p = jax.extend.core.Primitive("cube")
    cube_p.def_abstract_eval(lambda x: x)
    jax.interpreters.mlir.register_lowering(
        cube_p, jax.interpreters.mlir.lower_fun(lambda x: x * x * x, multiple_results=False)
    )
    return jax.jit(cube_p.bind)(jnp.float32(3))


def multiple_results_primitive(jax):
    jnp = jax.numpy
    p = jax.extend.core.Primitive("sincos")
    p.multiple_results = True
    p.def_impl(lambda x: [jnp.sin(x), jnp.cos(x)])
    p.def_abstract_eval(lambda x: [x, x])
    jax.interpreters.mlir.register_lowering(
        p,
        jax.interpreters.mlir.lower_fun(lambda x: [jnp.sin(x), jnp.cos(x)], multiple_results=True),
    )
    return jax.jit(lambda x: p.bind(x))(0.5), str(jax.make_jaxpr(lambda x: p.bind(x))(0.5))


def user_pytree_through_make_jaxpr(jax):
    jnp = jax.numpy
    closed, shape = jax.make_jaxpr(lambda x: {"a": x + 1, "b": [x, 2]}, return_shape=True)(
        jnp.float32(1)
    )
    return str(closed), str(shape)


def axis_env(jax):
    jnp = jax.numpy
    return str(jax.make_jaxpr(lambda x: jax.lax.psum(x, "i"), axis_env=[("i", 4)])(jnp.float32(1)))
