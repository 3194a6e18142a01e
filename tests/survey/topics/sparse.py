"""Sparse arrays."""


def _matrix(jax):
    return jax.numpy.array([[0.0, 1.0, 0.0, 2.0], [3.0, 0.0, 0.0, 0.0], [0.0, 0.0, 4.0, 0.0]])


def bcoo_round_trip(jax):
    sparse = jax.experimental.sparse
    m = sparse.BCOO.fromdense(_matrix(jax))
    return m.data, m.indices, m.nse, m.todense(), repr(m)


def products(jax):
    jnp = jax.numpy
    sparse = jax.experimental.sparse
    m = sparse.BCOO.fromdense(_matrix(jax))
    return m @ jnp.arange(4.0), (m.T @ jnp.ones((3, 2))), (jnp.ones(3) @ m)


def sparsified_function(jax):
    jnp = jax.numpy
    sparse = jax.experimental.sparse

    @sparse.sparsify
    def f(m, v):
        return 2 * m.T @ v

    m = sparse.BCOO.fromdense(_matrix(jax))
    return f(m, jnp.array([1.0, 2.0, 3.0]))


def gradient_of_a_sparse_regression(jax):
    jnp = jax.numpy
    sparse = jax.experimental.sparse
    x = sparse.BCOO.fromdense(_matrix(jax))
    y = jnp.array([1.0, 0.0, 1.0])

    def sigmoid(x):
        return 0.5 * (jnp.tanh(x / 2) + 1)

    def loss(w):
        p = sigmoid(x @ w)
        return -jnp.mean(jnp.log(p * y + (1 - p) * (1 - y)))

    return jax.value_and_grad(loss)(jnp.array([0.1, 0.2, -0.3, 0.4]))


def sparse_jit_and_vmap(jax):
    jnp = jax.numpy
    sparse = jax.experimental.sparse
    m = sparse.BCOO.fromdense(_matrix(jax))
    vs = jnp.arange(8.0).reshape(2, 4)
    return jax.jit(jax.vmap(lambda v: m @ v))(vs)


def bcsr(jax):
    jnp = jax.numpy
    sparse = jax.experimental.sparse
    m = sparse.BCSR.fromdense(_matrix(jax))
    return m.data, m.indices, m.indptr, m @ jnp.ones(4), m.to_bcoo().todense()


def old_formats(jax):
    jnp = jax.numpy
    sparse = jax.experimental.sparse
    coo, csr = sparse.COO.fromdense(_matrix(jax)), sparse.CSR.fromdense(_matrix(jax))
    return coo @ jnp.ones(4), csr @ jnp.ones(4), csr.indptr, coo.row, csr.T.todense()


def batched_bcoo(jax):
    jnp = jax.numpy
    sparse = jax.experimental.sparse
    x = jnp.array([[[0.0, 1.0], [2.0, 0.0]], [[3.0, 0.0], [0.0, 4.0]]])
    m = sparse.BCOO.fromdense(x, n_batch=1)
    return m.n_batch, m.indices.shape, sparse.bcoo_reduce_sum(m, axes=(1,)).todense()


def sum_duplicates(jax):
    jnp = jax.numpy
    sparse = jax.experimental.sparse
    data, idx = jnp.array([1.0, 2.0, 3.0]), jnp.array([[0, 1], [1, 0], [0, 1]])
    m = sparse.BCOO((data, idx), shape=(2, 2))
    return m.sum_duplicates().data, m.todense(), (m * 2).todense(), (-m).todense()


def sparse_eye_and_empty(jax):
    sparse = jax.experimental.sparse
    return (
        sparse.eye(3).todense(),
        sparse.empty((2, 2)).nse,
        sparse.BCOO.fromdense(_matrix(jax)).dtype,
    )


def sparse_structure(jax):
    jnp = jax.numpy
    sparse = jax.experimental.sparse
    m = sparse.BCOO.fromdense(_matrix(jax))
    cat = sparse.bcoo_concatenate([m, m], dimension=0)
    return (
        m[1].todense(),
        m[:, 1:3].todense(),
        cat.shape,
        m.reshape(4, 3).todense(),
        sparse.sparsify(jnp.sum)(m, axis=0).todense(),
    )


def dense_conversion_is_refused(jax):
    jnp = jax.numpy
    m = jax.experimental.sparse.BCOO.fromdense(_matrix(jax))
    return jnp.sin(m)


def wrong_shapes(jax):
    jnp = jax.numpy
    m = jax.experimental.sparse.BCOO.fromdense(_matrix(jax))
    return m @ jnp.ones(5)


def sparse_value_and_grad(jax):
    jnp = jax.numpy
    sparse = jax.experimental.sparse
    m = sparse.BCOO.fromdense(_matrix(jax))
    value, g = sparse.value_and_grad(lambda m, v: jnp.sum((m @ v) ** 2))(m, jnp.ones(4))
    return value, g.data
