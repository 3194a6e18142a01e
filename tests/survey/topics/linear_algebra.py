"""Linear algebra."""


def _spd(jax):
    return jax.numpy.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]])


def solves(jax):
    jnp = jax.numpy
    a, b = _spd(jax), jnp.arange(3.0)
    return (
        jnp.linalg.solve(a, b),
        jnp.linalg.inv(a),
        jnp.linalg.det(a),
        jnp.linalg.slogdet(a),
        jnp.linalg.lstsq(a[:, :2], b)[0],
        jnp.linalg.matrix_rank(a),
        jnp.linalg.cond(a),
        jnp.linalg.pinv(a[:, :2]),
    )


def factorizations(jax):
    jnp = jax.numpy
    a = _spd(jax)
    q, r = jnp.linalg.qr(a)
    u, s, vt = jnp.linalg.svd(a)
    w, v = jnp.linalg.eigh(a)
    return jnp.linalg.cholesky(a), q @ r, s, u * s @ vt, w, (v * w) @ v.T, jnp.linalg.eigvalsh(a)


def eigenvalues_of_a_rotation(jax):
    jnp = jax.numpy
    w = jnp.linalg.eigvals(jnp.array([[0.0, -1.0], [1.0, 0.0]]))
    return jnp.sort(w.imag), w.real


def failed_cholesky_is_nan(jax):
    jnp = jax.numpy
    return jnp.linalg.cholesky(jnp.array([[1.0, 2.0], [2.0, 1.0]]))


def scipy_linalg(jax):
    jnp = jax.numpy
    sl = jax.scipy.linalg
    a, b = _spd(jax), jnp.arange(3.0)
    return (
        sl.cho_solve(sl.cho_factor(a), b),
        sl.lu_solve(sl.lu_factor(a), b),
        sl.solve_triangular(a, b, lower=True),
        sl.expm(a / 10),
        sl.block_diag(jnp.ones((1, 2)), jnp.ones((2, 1))),
        sl.toeplitz(jnp.arange(3)),
        sl.sqrtm(a).real,
        sl.polar(a)[1],
        sl.hilbert(2),
    )


def norms(jax):
    jnp = jax.numpy
    x = jnp.arange(6.0).reshape(2, 3)
    return [
        jnp.linalg.norm(x, o) for o in (None, "fro", "nuc", 1, -1, 2, jnp.inf)
    ], jnp.linalg.norm(x, axis=1)


def batches(jax):
    jnp = jax.numpy
    a = jnp.stack([_spd(jax), 2 * _spd(jax)])
    return (
        jnp.linalg.solve(a, jnp.ones((2, 3, 1))),
        jax.vmap(jnp.linalg.inv)(a),
        jnp.linalg.det(a),
        jnp.linalg.matrix_power(a, 3),
    )


def derivatives(jax):
    jnp = jax.numpy
    a = _spd(jax)
    return (
        jax.grad(lambda a: jnp.linalg.slogdet(a)[1])(a),
        jax.grad(lambda a: jnp.linalg.cholesky(a).sum())(a),
        jax.grad(lambda a: jnp.linalg.eigh(a)[0].max())(a),
        jax.grad(lambda a: jnp.linalg.svd(a, compute_uv=False)[0])(a),
        jax.grad(lambda b: jnp.linalg.solve(a, b).sum())(jnp.ones(3)),
    )


def not_square(jax):
    return jax.numpy.linalg.inv(jax.numpy.ones((2, 3)))


def solve_with_wrong_shapes(jax):
    jnp = jax.numpy
    return jnp.linalg.solve(jnp.eye(3), jnp.ones(2))


def conjugate_gradient(jax):
    jnp = jax.numpy
    a = _spd(jax)
    x, info = jax.scipy.sparse.linalg.cg(lambda v: a @ v, jnp.ones(3))
    y, _ = jax.scipy.sparse.linalg.gmres(a, jnp.ones(3))
    return x, y, info


def products(jax):
    jnp = jax.numpy
    a, b = _spd(jax), jnp.arange(3.0)
    return (
        jnp.linalg.multi_dot([a, a, b]),
        jnp.cross(b, jnp.ones(3)),
        jnp.linalg.vecdot(b, b),
        jnp.matvec(a, b),
        jnp.dot(a, b, precision="highest"),
        jax.lax.dot_general(a, a, (((1,), (0,)), ((), ()))),
        jnp.matmul(
            a.astype(jnp.bfloat16), b.astype(jnp.bfloat16), preferred_element_type=jnp.float32
        ),
    )


def matmul_shape_error(jax):
    jnp = jax.numpy
    return jnp.ones((2, 3)) @ jnp.ones((2, 3))


def lax_linalg(jax):
    jnp = jax.numpy
    ll = jax.lax.linalg
    a = _spd(jax)
    return (
        ll.cholesky(a),
        ll.triangular_solve(a, jnp.ones((3, 1)), left_side=True, lower=True),
        ll.lu(a)[2],
        ll.eigh(a)[1],
        ll.tridiagonal_solve(
            jnp.array([0.0, 1, 1]), 3 * jnp.ones(3), jnp.array([1.0, 1, 0]), jnp.ones((3, 1))
        ),
    )
