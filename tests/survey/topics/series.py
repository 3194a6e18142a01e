"""Taylor series and differential equations."""


def jet_of_sin(jax):
    jnp = jax.numpy
    jet = jax.experimental.jet.jet
    return jet(jnp.sin, (0.5,), ([1.0, 0.0, 0.0],))


def jet_of_a_composition(jax):
    jnp = jax.numpy
    jet = jax.experimental.jet.jet
    f = jax.jit(lambda x: jnp.exp(jnp.tanh(x) * x))
    return jet(f, (0.3,), ([1.0, 0.0, 0.0, 0.0],))


def jet_of_a_matrix_product(jax):
    jnp = jax.numpy
    jet = jax.experimental.jet.jet
    w = jnp.arange(6.0).reshape(2, 3)
    x = jnp.array([1.0, -1.0, 2.0])
    return jet(lambda x: (w @ x) ** 2, (x,), ([jnp.ones(3), jnp.zeros(3)],))


def jet_with_two_arguments(jax):
    jet = jax.experimental.jet.jet
    return jet(lambda x, y: x * y / (1 + x), (0.5, 2.0), ([1.0, 0.0], [0.0, 1.0]))


def jet_of_integers_is_refused(jax):
    jet = jax.experimental.jet.jet
    return jet(lambda x: x * x, (3,), ([1],))


def jet_with_unequal_series(jax):
    jet = jax.experimental.jet.jet
    return jet(lambda x, y: x * y, (1.0, 2.0), ([1.0], [1.0, 0.0]))


def pendulum(jax):
    jnp = jax.numpy
    odeint = jax.experimental.ode.odeint

    def pend(y, t, b, c):
        return jnp.array([y[1], -b * y[1] - c * jnp.sin(y[0])])

    return odeint(pend, jnp.array([jnp.pi - 0.1, 0.0]), jnp.linspace(0.0, 2.0, 5), 0.25, 5.0)


def gradient_through_odeint(jax):
    jnp = jax.numpy
    odeint = jax.experimental.ode.odeint

    def final(k):
        return odeint(lambda y, t: -k * y, 1.0, jnp.array([0.0, 1.0]), rtol=1e-6)[-1]

    return jnp.round(jax.value_and_grad(final)(0.7)[0], 4), jnp.round(jax.grad(final)(0.7), 3)


def odeint_of_a_tree(jax):
    jnp = jax.numpy
    odeint = jax.experimental.ode.odeint
    y0 = {"x": jnp.float32(1), "v": jnp.float32(0)}
    return odeint(lambda y, t: {"x": y["v"], "v": -y["x"]}, y0, jnp.linspace(0.0, 1.0, 3))


def odeint_needs_floating_times(jax):
    jnp = jax.numpy
    return jax.experimental.ode.odeint(lambda y, t: y, 1.0, jnp.arange(3), rtol="a")


def checkpointed_recurrence(jax):
    jnp = jax.numpy

    @jax.checkpoint
    def step(c, x):
        return jnp.tanh(c + x), c

    def loss(xs):
        return jax.lax.scan(step, 0.0, xs)[0]

    return jax.grad(loss)(jnp.array([0.1, 0.2, 0.3]))
