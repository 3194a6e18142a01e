"""Distributions of random numbers."""


def uniform_and_normal(jax):
    key = jax.random.key(0)
    return (
        jax.random.uniform(key, (3,), minval=-1, maxval=2),
        jax.random.normal(key, (2, 2), "float16"),
        jax.random.truncated_normal(key, -1, 1, (3,)),
    )


def integers_and_bits(jax):
    key = jax.random.key(1)
    return (
        jax.random.randint(key, (5,), 0, 10),
        jax.random.randint(key, (3,), -100, 100, "int8"),
        jax.random.bits(key, (2,), "uint8"),
        jax.random.rademacher(key, (4,)),
        jax.random.bernoulli(key, 0.3, (5,)),
    )


def permutations(jax):
    jnp = jax.numpy
    key = jax.random.key(2)
    x = jnp.arange(6).reshape(3, 2)
    return (
        jax.random.permutation(key, 5),
        jax.random.permutation(key, x, axis=1),
        jax.random.permutation(key, x, independent=True),
    )


def choices(jax):
    jnp = jax.numpy
    key = jax.random.key(3)
    return (
        jax.random.choice(key, 5, (3,)),
        jax.random.choice(key, 5, (3,), replace=False),
        jax.random.choice(key, jnp.array([10, 20, 30]), (4,), p=jnp.array([0.5, 0.5, 0.0])),
        jax.random.choice(key, 4, (2,), replace=False, p=jnp.array([0.1, 0.2, 0.3, 0.4])),
    )


def choice_of_too_many(jax):
    return jax.random.choice(jax.random.key(0), 3, (4,), replace=False)


def categorical(jax):
    jnp = jax.numpy
    key = jax.random.key(4)
    logits = jnp.log(jnp.array([[0.1, 0.9], [0.8, 0.2]]))
    return (
        jax.random.categorical(key, logits, axis=-1),
        jax.random.categorical(key, logits[0], shape=(5,)),
        jax.random.gumbel(key, (2,)),
    )


def continuous_families(jax):
    r, key = jax.random, jax.random.key(5)
    return {
        "beta": r.beta(key, 2.0, 3.0, (2,)),
        "gamma": r.gamma(key, 0.7, (2,)),
        "exponential": r.exponential(key, (2,)),
        "cauchy": r.cauchy(key, (2,)),
        "laplace": r.laplace(key, (2,)),
        "logistic": r.logistic(key, (2,)),
        "pareto": r.pareto(key, 3.0, (2,)),
        "student": r.t(key, 4.0, (2,)),
        "chi2": r.chisquare(key, 3.0, shape=(2,)),
        "weibull": r.weibull_min(key, 1.0, 2.0, (2,)),
        "rayleigh": r.rayleigh(key, 1.5, (2,)),
        "maxwell": r.maxwell(key, (2,)),
        "lognormal": r.lognormal(key, 0.5, (2,)),
        "triangular": r.triangular(key, 0.0, 0.5, 1.0, (2,)),
        "wald": r.wald(key, 1.0, (2,)),
    }


def discrete_families(jax):
    r, key = jax.random, jax.random.key(6)
    return {
        "poisson": r.poisson(key, 3.0, (4,)),
        "binomial": r.binomial(key, 10, 0.4, (4,)),
        "geometric": r.geometric(key, 0.3, (4,)),
        "multinomial": r.multinomial(key, 8, jax.numpy.array([0.2, 0.3, 0.5])),
    }


def multivariate(jax):
    jnp = jax.numpy
    r, key = jax.random, jax.random.key(7)
    cov = jnp.array([[2.0, 0.5], [0.5, 1.0]])
    return {
        "normal": r.multivariate_normal(key, jnp.zeros(2), cov, (3,)),
        "dirichlet": r.dirichlet(key, jnp.array([1.0, 2.0, 3.0])),
        "ball": r.ball(key, 3, shape=(2,)),
        "orthogonal": jnp.abs(jnp.linalg.det(r.orthogonal(key, 3))),
    }


def derivative_of_gamma_samples(jax):
    key = jax.random.key(8)
    return jax.grad(lambda a: jax.random.gamma(key, a))(2.0), jax.random.loggamma(key, 0.1)


def random_shapes_must_be_static(jax):
    return jax.jit(lambda n: jax.random.normal(jax.random.key(0), (n,)))(3)


def dropout(jax):
    jnp = jax.numpy

    def dropout(key, x, rate):
        keep = jax.random.bernoulli(key, 1 - rate, x.shape)
        return jnp.where(keep, x / (1 - rate), 0)

    return jax.jit(dropout, static_argnums=2)(jax.random.key(9), jnp.ones(8), 0.5)


def monte_carlo_pi(jax):
    jnp = jax.numpy
    xy = jax.random.uniform(jax.random.key(10), (1000, 2))
    return 4 * jnp.mean((xy**2).sum(1) < 1)
