"""jax.nn and convolutions."""


def activations(jax):
    jnp = jax.numpy
    nn = jax.nn
    x = jnp.array([-3.0, -0.5, 0.0, 2.0, 7.0])
    fs = (
        nn.relu, nn.gelu, nn.silu, nn.elu, nn.selu, nn.softplus, nn.sigmoid, nn.mish, nn.celu, nn.leaky_relu,
        nn.hard_tanh, nn.relu6, nn.log_sigmoid, nn.soft_sign, nn.hard_swish, nn.squareplus, nn.tanh,
    )  # fmt: skip
    return [f(x) for f in fs]


def gradients_of_activations(jax):
    nn = jax.nn
    return [jax.grad(f)(0.0) for f in (nn.relu, nn.relu6, nn.gelu, nn.silu, nn.softplus, nn.elu)]


def softmaxes(jax):
    jnp = jax.numpy
    x = jnp.array([[1.0, 2.0, 3.0], [1.0, -jnp.inf, 1.0]])
    return (
        jax.nn.softmax(x),
        jax.nn.log_softmax(x[:1], axis=-1),
        jax.nn.softmax(x, where=x > 1),
        jax.nn.standardize(x[:1], axis=-1),
        jax.nn.logsumexp(x, axis=0),
        jax.grad(lambda x: jax.nn.softmax(x)[0])(x[0]),
    )


def one_hot(jax):
    jnp = jax.numpy
    return jax.nn.one_hot(jnp.array([0, 2, 5]), 3), jax.nn.one_hot(1, 2, dtype=jnp.int8, axis=0)


def initializers(jax):
    jnp = jax.numpy
    key = jax.random.key(0)
    init = jax.nn.initializers
    return (
        init.glorot_uniform()(key, (2, 3)),
        init.he_normal()(key, (2, 2)),
        init.zeros(key, (2,)),
        init.constant(3)(key, (2,), jnp.int32),
        init.truncated_normal(0.1)(key, (3,)),
        jnp.abs(jnp.linalg.det(init.orthogonal()(key, (3, 3)))),
        init.variance_scaling(2.0, "fan_avg", "uniform")(key, (2, 2)),
    )


def attention(jax):
    jnp = jax.numpy
    q = jnp.sin(jnp.arange(24.0)).reshape(1, 3, 2, 4)
    return (
        jax.nn.dot_product_attention(q, q, q),
        jax.nn.dot_product_attention(q, q, q, is_causal=True),
        jax.nn.dot_product_attention(q, q, q, mask=jnp.tri(3, dtype=bool)[None, None]),
    )


def convolutions(jax):
    jnp = jax.numpy
    x = jnp.arange(16.0).reshape(1, 1, 4, 4)
    k = jnp.arange(4.0).reshape(1, 1, 2, 2)
    return (
        jax.lax.conv(x, k, (1, 1), "SAME"),
        jax.lax.conv_general_dilated(
            x.transpose(0, 2, 3, 1),
            k.transpose(2, 3, 1, 0),
            (2, 2),
            "VALID",
            dimension_numbers=("NHWC", "HWIO", "NHWC"),
        ),
        jax.lax.conv_transpose(x, k, (2, 2), "VALID", dimension_numbers=("NCHW", "OIHW", "NCHW")),
        jax.grad(lambda k: jax.lax.conv(x, k, (1, 1), "VALID").sum())(k),
    )


def pooling(jax):
    jnp = jax.numpy
    x = jnp.arange(16.0).reshape(4, 4)
    return (
        jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (2, 2), (2, 2), "VALID"),
        jax.lax.reduce_window(x, 0.0, jax.lax.add, (3, 3), (1, 1), "SAME"),
        jax.grad(
            lambda x: jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (2, 2), (2, 2), "VALID").sum()
        )(x),
    )


def mlp_training_step(jax):
    jnp = jax.numpy

    def predict(params, x):
        for w, b in params[:-1]:
            x = jax.nn.relu(x @ w + b)
        w, b = params[-1]
        return x @ w + b

    @jax.jit
    def update(params, x, y):
        loss, grads = jax.value_and_grad(lambda p: jnp.mean((predict(p, x) - y) ** 2))(params)
        return loss, jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)

    k1, k2, k3 = jax.random.split(jax.random.key(0), 3)
    params = [
        (jax.random.normal(k1, (1, 4)), jnp.zeros(4)),
        (jax.random.normal(k2, (4, 1)), jnp.zeros(1)),
    ]
    x = jax.random.normal(k3, (8, 1))
    losses = []
    for _ in range(3):
        loss, params = update(params, x, jnp.sin(x))
        losses.append(loss)
    return losses, params


def lstm(jax):
    jnp = jax.numpy

    def step(params, carry, x):
        h, c = carry
        z = x @ params["wx"] + h @ params["wh"]
        i, f, g, o = jnp.split(z, 4)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    params = {
        "wx": jnp.linspace(-1, 1, 16).reshape(2, 8),
        "wh": jnp.linspace(-1, 1, 16).reshape(2, 8),
    }
    init = (jnp.zeros(2), jnp.zeros(2))
    from functools import partial

    return jax.lax.scan(partial(step, params), init, jnp.arange(6.0).reshape(3, 2))


def cross_entropy(jax):
    jnp = jax.numpy

    def loss(logits, labels):
        logp = jax.nn.log_softmax(logits)
        return -jnp.take_along_axis(logp, labels[:, None], axis=1).mean()

    return jax.value_and_grad(loss)(
        jnp.array([[1.0, 2.0, 0.5], [0.1, 0.2, 3.0]]), jnp.array([1, 0])
    )


def scaled_products(jax):
    jnp = jax.numpy
    nn = jax.nn
    return (
        nn.glu(jnp.arange(4.0)),
        nn.identity(3),
        nn.sparse_plus(1.5),
        nn.sparse_sigmoid(0.3),
        nn.log1mexp(1.0),
    )
