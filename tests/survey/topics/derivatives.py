"""Derivatives of many kinds."""


def value_and_grad_with_aux(jax):
    jnp = jax.numpy

    def loss(params, x):
        y = params["w"] @ x + params["b"]
        return jnp.sum(y**2), {"pred": y}

    params = {"w": jnp.arange(6.0).reshape(2, 3), "b": jnp.ones(2)}
    return jax.value_and_grad(loss, has_aux=True)(params, jnp.array([1.0, 2.0, 3.0]))


def grad_of_an_integer_is_refused(jax):
    return jax.grad(lambda x: x * 2)(3)


def grad_of_integers_allowed(jax):
    jnp = jax.numpy
    out = jax.grad(lambda x, y: jnp.sum(x) * y, argnums=(0, 1), allow_int=True)(jnp.arange(3), 2.0)
    return out[0].dtype == jax.dtypes.float0, out[0].shape, out[1]


def grad_of_a_vector_is_refused(jax):
    jnp = jax.numpy
    return jax.grad(jnp.sin)(jnp.arange(3.0))


def hessian_vector_product(jax):
    jnp = jax.numpy

    def f(x):
        return jnp.sum(x**3) + x[0] * x[1]

    def hvp(f, x, v):
        return jax.jvp(jax.grad(f), (x,), (v,))[1]

    x, v = jnp.array([1.0, 2.0, 3.0]), jnp.array([1.0, 0.0, -1.0])
    return hvp(f, x, v), jax.hessian(f)(x) @ v


def jacobians_of_a_dict(jax):
    jnp = jax.numpy

    def f(d):
        return {"s": d["a"] * d["b"], "t": jnp.stack([d["a"].sum(), d["b"]])}

    d = {"a": jnp.array([1.0, 2.0]), "b": jnp.float32(3)}
    return jax.jacfwd(f)(d), jax.jacrev(f)(d)


def linearize_and_transpose(jax):
    jnp = jax.numpy
    y, f_jvp = jax.linearize(lambda x: jnp.sin(x) * x, jnp.array([0.5, 1.5]))
    (xbar,) = jax.linear_transpose(f_jvp, jnp.zeros(2))(jnp.ones(2))
    return y, f_jvp(jnp.ones(2)), xbar


def complex_grad_needs_holomorphic(jax):
    return jax.grad(lambda z: z**2)(1.0 + 2.0j)


def holomorphic_grad(jax):
    return jax.grad(lambda z: z**3, holomorphic=True)(1.0 + 2.0j)


def vjp_object(jax):
    jnp = jax.numpy
    y, f_vjp = jax.vjp(lambda a, b: a * jnp.exp(b), 2.0, 0.5)
    return y, f_vjp(1.0), len(f_vjp.args_res)


def stop_gradient(jax):
    jnp = jax.numpy

    def straight_through(x):
        zero = x - jax.lax.stop_gradient(x)
        return zero + jax.lax.stop_gradient(jnp.round(x))

    return straight_through(1.3), jax.grad(straight_through)(1.3)


def safe_where_gradient(jax):
    jnp = jax.numpy

    def f(x):
        return jnp.sum(jnp.where(x > 0, jnp.sqrt(jnp.where(x > 0, x, 1.0)), 0.0))

    return jax.grad(f)(jnp.array([0.0, 4.0, 9.0]))


def grad_at_a_norm_of_zero(jax):
    jnp = jax.numpy
    return jax.grad(jnp.linalg.norm)(jnp.zeros(3)), jax.grad(jnp.linalg.norm)(jnp.ones(3))


def per_example_gradients(jax):
    jnp = jax.numpy

    def loss(w, x, y):
        return (jnp.dot(w, x) - y) ** 2

    xs, ys = jnp.arange(8.0).reshape(4, 2), jnp.arange(4.0)
    return jax.vmap(jax.grad(loss), in_axes=(None, 0, 0))(jnp.array([1.0, -1.0]), xs, ys)


def saved_residuals(jax):
    jnp = jax.numpy
    f = jax.checkpoint(lambda x: jnp.sin(jnp.sin(x)))
    return jax.grad(f)(0.3), str(jax.make_jaxpr(jax.grad(f))(0.3)).count("sin ")


def named_residuals(jax):
    jnp = jax.numpy
    policy = jax.checkpoint_policies.save_only_these_names("kept")

    def f(x):
        y = jax.ad_checkpoint.checkpoint_name(jnp.sin(x), "kept")
        return jnp.cos(jnp.exp(y))

    return jax.grad(jax.checkpoint(f, policy=policy))(0.3)


def fwd_and_bwd(jax):
    jnp = jax.numpy
    fwd, bwd = jax.fwd_and_bwd(lambda a, b: jnp.sin(a) * b, argnums=(0, 1))
    out, res = fwd(0.5, 3.0)
    return out, bwd(res, 1.0)
