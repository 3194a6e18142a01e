"""Loops and branches."""


def cond_with_operands(jax):
    jnp = jax.numpy

    @jax.jit
    def f(x):
        return jax.lax.cond(x.sum() > 0, lambda x: x + 1, lambda x: -x, x)

    return f(jnp.ones(2)), f(-jnp.ones(2))


def cond_with_unequal_branches(jax):
    return jax.lax.cond(True, lambda x: x, lambda x: (x, x), 1.0)


def cond_with_other_dtypes(jax):
    jnp = jax.numpy
    return jax.lax.cond(True, lambda x: x, lambda x: x.astype(jnp.int32), jnp.float32(1))


def switch_clamps(jax):
    branches = [lambda x: x, lambda x: x * 10, lambda x: x * 100]
    return [jax.lax.switch(i, branches, 2) for i in (-5, 0, 1, 99)]


def scan_of_a_tree(jax):
    jnp = jax.numpy

    def body(carry, xs):
        return {"s": carry["s"] + xs[0]}, (carry["s"] * xs[1], None)

    return jax.lax.scan(body, {"s": jnp.float32(0)}, (jnp.arange(3.0), jnp.ones((3, 2))))


def scan_reverse_unroll(jax):
    jnp = jax.numpy

    def body(c, x):
        return c * 0.5 + x, c

    return jax.lax.scan(body, 0.0, jnp.arange(5.0), reverse=True, unroll=2)


def scan_carry_changes_type(jax):
    jnp = jax.numpy
    return jax.lax.scan(lambda c, x: (c + x, None), 0, jnp.arange(3.0))


def scan_lengths_differ(jax):
    jnp = jax.numpy
    return jax.lax.scan(lambda c, x: (c, None), 0, (jnp.arange(3), jnp.arange(4)))


def newton_by_while(jax):
    jnp = jax.numpy

    def cond(state):
        x, i = state
        return (jnp.abs(x * x - 2) > 1e-6) & (i < 50)

    return jax.jit(
        lambda x: jax.lax.while_loop(cond, lambda s: (s[0] / 2 + 1 / s[0], s[1] + 1), (x, 0))
    )(1.0)


def reverse_mode_of_while_is_refused(jax):
    def f(x):
        return jax.lax.while_loop(lambda x: x < 10, lambda x: x * 2, x)

    return jax.grad(f)(1.0)


def forward_mode_of_while(jax):
    def f(x):
        return jax.lax.while_loop(lambda x: x < 10, lambda x: x * 2, x)

    return jax.jvp(f, (1.0,), (1.0,))


def fori_loop_gradient(jax):
    def f(x):
        return jax.lax.fori_loop(0, 3, lambda i, y: y * x + i, x)

    return jax.value_and_grad(f)(2.0)


def fori_with_traced_bounds(jax):
    f = jax.jit(lambda n: jax.lax.fori_loop(0, n, lambda i, s: s + i, 0))
    return f(5), f(10)


def python_if_on_a_tracer(jax):
    return jax.jit(lambda x: x if x > 0 else -x)(1.0)


def python_range_on_a_tracer(jax):
    return jax.jit(lambda n: sum(range(n)))(3)


def associative_scan(jax):
    jnp = jax.numpy
    return (
        jax.lax.associative_scan(jnp.add, jnp.arange(6)),
        jax.lax.associative_scan(jnp.maximum, jnp.array([3, 1, 4, 1, 5]), reverse=True),
    )


def map_with_batches(jax):
    jnp = jax.numpy
    return jax.lax.map(lambda x: x**2 + 1, jnp.arange(7.0), batch_size=3)


def vmap_of_cond_and_while(jax):
    jnp = jax.numpy
    f = jax.vmap(lambda x: jax.lax.cond(x > 1, lambda x: x * 10, lambda x: x, x))
    g = jax.vmap(lambda x: jax.lax.while_loop(lambda x: x < 7, lambda x: x + 2, x))
    return f(jnp.arange(4)), g(jnp.arange(4))


def jaxpr_of_a_scan(jax):
    jnp = jax.numpy
    return str(
        jax.make_jaxpr(lambda xs: jax.lax.scan(lambda c, x: (c + x, c * 2), 0.0, xs))(jnp.ones(3))
    )


def jaxpr_of_a_cond(jax):
    return str(jax.make_jaxpr(lambda x: jax.lax.cond(x > 0, lambda x: x + 1, lambda x: x, x))(1.0))


def select_and_piecewise(jax):
    jnp = jax.numpy
    x = jnp.array([-2.0, -0.5, 0.5, 2.0])
    return (
        jnp.select([x < -1, x < 1], [x * 10, x * 100], default=7),
        jnp.piecewise(x, [x < 0, x >= 1], [lambda v: -v, 5.0, 0.0]),
        jax.lax.select_n(jnp.array([0, 1, 0, 1]), x, -x),
    )


def map_reduce_with_psum(jax):
    jnp = jax.numpy
    return jax.vmap(lambda x: x / jax.lax.psum(x, "i") + jax.lax.axis_index("i"), axis_name="i")(
        jnp.arange(1.0, 4.0)
    )
