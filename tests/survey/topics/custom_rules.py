"""Custom derivatives and custom batching."""


def custom_jvp_log1pexp(jax):
    jnp = jax.numpy

    @jax.custom_jvp
    def log1pexp(x):
        return jnp.log(1.0 + jnp.exp(x))

    @log1pexp.defjvp
    def _(primals, tangents):
        (x,), (x_dot,) = primals, tangents
        return log1pexp(x), (1 - 1 / (1 + jnp.exp(x))) * x_dot

    return jax.grad(log1pexp)(100.0), jax.jit(jax.vmap(jax.grad(log1pexp)))(jnp.arange(3.0))


def defjvps(jax):
    jnp = jax.numpy

    @jax.custom_jvp
    def f(x, y):
        return x**2 * y

    f.defjvps(lambda t, ans, x, y: 2 * x * y * t, None)
    return jax.grad(f, (0, 1))(3.0, 2.0), jnp.shape(f(1.0, 2.0))


def clip_gradient(jax):
    jnp = jax.numpy
    from functools import partial

    @partial(jax.custom_vjp, nondiff_argnums=(0, 1))
    def clip(lo, hi, x):
        return x

    clip.defvjp(lambda lo, hi, x: (x, None), lambda lo, hi, _, g: (jnp.clip(g, lo, hi),))
    return jax.grad(lambda x: (clip(-1.0, 1.0, x) ** 3).sum())(jnp.array([0.1, 2.0, -3.0]))


def fixed_point(jax):
    jnp = jax.numpy
    from functools import partial

    @partial(jax.custom_vjp, nondiff_argnums=(0,))
    def fixed_point(f, a, x_guess):
        def cond(carry):
            prev, x = carry
            return jnp.abs(prev - x) > 1e-6

        return jax.lax.while_loop(cond, lambda c: (c[1], f(a, c[1])), (x_guess, f(a, x_guess)))[1]

    def fwd(f, a, x0):
        x = fixed_point(f, a, x0)
        return x, (a, x)

    def rev(f, res, x_bar):
        a, x = res
        _, vjp_a = jax.vjp(lambda a: f(a, x), a)

        def step(packed, u):
            _, x_bar = packed
            _, vjp_x = jax.vjp(lambda x: f(a, x), x)
            return x_bar + vjp_x(u)[0]

        (a_bar,) = vjp_a(fixed_point(step, (a, x_bar), x_bar))
        return a_bar, jnp.zeros_like(x)

    fixed_point.defvjp(fwd, rev)
    return jax.value_and_grad(lambda a: fixed_point(lambda a, x: 0.5 * (x + a / x), a, a))(2.0)


def missing_rule(jax):
    f = jax.custom_jvp(lambda x: x * 2)
    return jax.grad(f)(1.0)


def missing_vjp_rule(jax):
    f = jax.custom_vjp(lambda x: x * 2)
    return jax.grad(f)(1.0)


def forward_mode_of_custom_vjp_is_refused(jax):
    f = jax.custom_vjp(lambda x: x * 2)
    f.defvjp(lambda x: (x * 2, None), lambda _, g: (g,))
    return jax.jvp(f, (1.0,), (1.0,))


def wrong_cotangent_tree(jax):
    f = jax.custom_vjp(lambda x, y: x * y)
    f.defvjp(lambda x, y: (x * y, None), lambda _, g: (g,))
    return jax.grad(f)(1.0, 2.0)


def symbolic_zeros(jax):
    jnp = jax.numpy

    @jax.custom_jvp
    def f(x, y):
        return x * y

    seen = []

    def rule(primals, tangents):
        seen.append([type(t).__name__ for t in tangents])
        x, y = primals
        return f(x, y), jnp.float32(1.0)

    f.defjvp(rule, symbolic_zeros=True)
    return jax.jvp(lambda x: f(x, 2.0), (3.0,), (1.0,)), seen[0][1]


def custom_gradient_of_a_function(jax):
    jnp = jax.numpy

    @jax.custom_gradient
    def f(x):
        return x**2, lambda g: (g * jnp.cos(x),)

    return f(3.0), jax.grad(f)(3.0)


def custom_vmap_rule(jax):
    jnp = jax.numpy

    @jax.custom_batching.custom_vmap
    def f(x, y):
        return x + y

    @f.def_vmap
    def rule(axis_size, in_batched, xs, ys):
        return xs * ys, all(in_batched)

    return f(2, 3), jax.vmap(f)(jnp.arange(3), jnp.arange(3))


def sequential_vmap(jax):
    jnp = jax.numpy

    @jax.custom_batching.sequential_vmap
    def f(x):
        return jnp.sin(x).sum()

    return jax.vmap(f)(jnp.arange(6.0).reshape(3, 2))


def closure_convert(jax):
    jnp = jax.numpy

    def outer(scale):
        def inner(x):
            return jnp.sin(x) * scale

        fn, consts = jax.closure_convert(inner, 1.0)
        return fn(2.0, *consts), len(consts)

    return jax.jit(lambda s: outer(s)[0])(3.0)


def custom_root_derivative(jax):
    jnp = jax.numpy

    def sqrt(a):
        def solve(f, x0):
            return jax.lax.fori_loop(0, 20, lambda i, x: x - f(x) / (2 * x), x0)

        def tangent_solve(g, y):
            return y / g(1.0)

        return jax.lax.custom_root(lambda x: x**2 - a, a, solve, tangent_solve)

    return jax.value_and_grad(sqrt)(2.0), jnp.float32(0)
