"""``plugjax.numpy.linalg`` against JAX: values, dtypes, error types, derivatives."""

import jax
import jax.numpy as jax_numpy
import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp

RNG = np.random.default_rng(11)
A = (RNG.normal(size=(4, 4)) + 3 * np.eye(4)).astype(np.float32)
C = (A + 1j * RNG.normal(size=(4, 4))).astype(np.complex64)
N = RNG.integers(-5, 5, (4, 4)).astype(np.int32) + 6 * np.eye(4, dtype=np.int32)
MATRICES = {"real": A, "complex": C, "integer": N}


def hermitian(x):
    return x @ x.conj().T + 4 * np.eye(4, dtype=x.dtype)


def shapes(x):
    return [x, x[:3, :3], x[:2, :2], x[:1, :1], np.stack([x, 2 * x]), x[:0, :0], 0 * x]


ONE_ARGUMENT = [
    "det", "slogdet", "inv", "eigvals", "eigvalsh", "pinv", "matrix_rank", "svdvals", "matrix_transpose", "trace",
    "diagonal", "matrix_norm", "vector_norm",
]  # fmt: skip


@pytest.mark.spread(8)
@pytest.mark.parametrize("kind", MATRICES)
@pytest.mark.parametrize("name", ONE_ARGUMENT)
def test_functions_of_matrices(agree, name, kind):
    for x in shapes(MATRICES[kind]):
        agree(lambda np_, x=x: getattr(np_.linalg, name)(x))


@pytest.mark.spread(8)
@pytest.mark.parametrize("kind", MATRICES)
@pytest.mark.parametrize("axis", [None, 0, (0, 1), (1, 0), (0,)])
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_norms(agree, kind, axis, keepdims):
    x = MATRICES[kind]
    for order in (None, 1, 2, 3, -1, np.inf, -np.inf, "fro", "nuc", "x"):
        agree(lambda np_, order=order: np_.linalg.norm(x, order, axis, keepdims))


@pytest.mark.parametrize("kind", MATRICES)
@pytest.mark.parametrize("order", [None, 1, 2, -2, np.inf, "fro", "nuc", 0])
def test_condition_numbers(agree, kind, order):
    agree(lambda np_: np_.linalg.cond(MATRICES[kind], order))


FACTORS = {
    "cholesky": lambda l, x: l.cholesky(hermitian(x)),
    "cholesky upper": lambda l, x: l.cholesky(hermitian(x), upper=True),
    "cholesky of one triangle": lambda l, x: l.cholesky(hermitian(x), symmetrize_input=False),
    "cholesky of a tall matrix": lambda l, x: l.cholesky(x[:, :2]),
    "qr": lambda l, x: l.qr(x[:, :3]),
    "qr complete": lambda l, x: l.qr(x[:, :3], mode="complete"),
    "qr r": lambda l, x: l.qr(x[:, :3], mode="r"),
    "qr raw": lambda l, x: l.qr(x, mode="raw"),
    "qr full": lambda l, x: l.qr(x, mode="full"),
    "qr bad": lambda l, x: l.qr(x, mode="bad"),
    "qr of a vector": lambda l, x: l.qr(x[0]),
    "svd": lambda l, x: l.svd(x[:, :3], full_matrices=False),
    "svd hermitian": lambda l, x: abs(l.svd(hermitian(x), hermitian=True)[0]),
    "svd hermitian values": lambda l, x: l.svd(hermitian(x), compute_uv=False, hermitian=True),
    "eigh": lambda l, x: l.eigh(hermitian(x)),
    "eigh U": lambda l, x: l.eigh(x, "U", False)[0],
    "eigh bad": lambda l, x: l.eigh(x, "X"),
    "eig": lambda l, x: l.eig(x),
    "a list": lambda l, x: l.inv([[1.0, 2.0], [3.0, 4.0]]),
    "none": lambda l, x: l.norm(None),
}  # fmt: skip


@pytest.mark.parametrize("kind", MATRICES)
@pytest.mark.parametrize("name", FACTORS)
def test_factors(agree, name, kind):
    agree(lambda np_: FACTORS[name](np_.linalg, MATRICES[kind]))


SYSTEMS = {
    "solve a vector": lambda l, x: l.solve(x, x[0]),
    "solve a matrix": lambda l, x: l.solve(x, x[:, :3]),
    "solve batches": lambda l, x: l.solve(np.stack([x, 2 * x]), np.stack([x, x])[:, :, :3]),
    "solve for a batch": lambda l, x: l.solve(x, np.stack([x, 3 * x])),
    "solve a batch for a vector": lambda l, x: l.solve(np.stack([x, 3 * x]), x[0]),
    "solve a batch of vectors": lambda l, x: l.solve(np.stack([x, 3 * x]), x[:2]),
    "solve sizes": lambda l, x: l.solve(x, x[:3]),
    "solve a tall matrix": lambda l, x: l.solve(x[:, :3], x[0]),
    "solve vectors": lambda l, x: l.solve(x[0], x[0]),
    "lstsq": lambda l, x: l.lstsq(x[:, :3], x[0]),
    "lstsq of a matrix": lambda l, x: l.lstsq(x[:3], x[:3]),
    "lstsq rcond": lambda l, x: l.lstsq(x[:, :3], x[0], rcond=0.1),
    "lstsq as numpy": lambda l, x: l.lstsq(x, x[0], numpy_resid=True),
    "lstsq sizes": lambda l, x: l.lstsq(x, x[0, :3]),
    "pinv hermitian": lambda l, x: l.pinv(hermitian(x), hermitian=True),
    "pinv wide": lambda l, x: l.pinv(x[:3], 0.1),
    "pinv twice": lambda l, x: l.pinv(x, 0.1, rcond=0.1),
    "pinv of nothing": lambda l, x: l.pinv(x[:, :0]),
    "rank tol": lambda l, x: l.matrix_rank(x, tol=3.0),
    "rank of a vector": lambda l, x: l.matrix_rank(x[0]),
    "power": lambda l, x: [l.matrix_power(x, n) for n in (-2, -1, 0, 1, 2, 3, 5)],
    "power of a fraction": lambda l, x: l.matrix_power(x, 2.5),
    "slogdet qr": lambda l, x: l.slogdet(x, method="qr"),
    "slogdet bad": lambda l, x: l.slogdet(x, method="bad"),
    "tensorinv": lambda l, x: l.tensorinv(x.reshape(4, 2, 2), 1),
    "tensorinv sizes": lambda l, x: l.tensorinv(x.reshape(4, 2, 2), 2),
    "tensorsolve": lambda l, x: l.tensorsolve(x.reshape(2, 2, 4), x[0].reshape(2, 2)),
    "tensorsolve axes": lambda l, x: l.tensorsolve(x.reshape(4, 2, 2), x[0], axes=(0,)),
    "tensorsolve sizes": lambda l, x: l.tensorsolve(x.reshape(2, 2, 4), x[0]),
    "multi_dot": lambda l, x: l.multi_dot([x[0], x, x[:, :3], x[:3], x[1]]),
    "multi_dot of one": lambda l, x: l.multi_dot([x]),
    "multi_dot sizes": lambda l, x: l.multi_dot([x, x[:3]]),
    "outer": lambda l, x: l.outer(x[0], x[1]),
    "outer of matrices": lambda l, x: l.outer(x, x),
    "cross": lambda l, x: l.cross(x[:, :3], x[::-1, :3]),
    "cross of 4": lambda l, x: l.cross(x, x),
    "vecdot": lambda l, x: l.vecdot(x, x[::-1]),
    "matmul": lambda l, x: l.matmul(x, x[0]),
    "tensordot": lambda l, x: l.tensordot(x, x, axes=1),
}  # fmt: skip


@pytest.mark.spread(6)
@pytest.mark.parametrize("kind", MATRICES)
@pytest.mark.parametrize("name", SYSTEMS)
def test_systems_and_products(name, kind):
    x = MATRICES[kind]
    try:
        expected = SYSTEMS[name](jax_numpy.linalg, x)
    except Exception as error:
        builtin = next(t for t in type(error).__mro__ if t.__module__ == "builtins")
        with pytest.raises(builtin):
            SYSTEMS[name](jnp.linalg, x)
        return
    close(SYSTEMS[name](jnp.linalg, x), expected)


def close(found, expected, tolerance=2e-3):
    found, expected = plugjax.tree.leaves(found), jax.tree.leaves(expected)
    for x, y in zip(found, expected, strict=True):
        x, y = np.asarray(x), np.asarray(y)
        assert (x.shape, x.dtype) == (y.shape, y.dtype)
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)


SINGULAR = A.copy()
SINGULAR[0] = 2 * SINGULAR[1]
DIFFERENTIABLE = {
    "det": (lambda l, x: l.det(x), A),
    "det of complex": (lambda l, x: l.det(x), C),
    "det of 3": (lambda l, x: l.det(x), A[:3, :3]),
    "det of a singular matrix": (lambda l, x: l.det(x), SINGULAR),
    "slogdet": (lambda l, x: l.slogdet(x), A),
    "slogdet of complex": (lambda l, x: l.slogdet(x), C),
    "slogdet of 2": (lambda l, x: l.slogdet(x), C[:2, :2]),
    "inv": (lambda l, x: l.inv(x), C),
    "pinv, tall": (lambda l, x: l.pinv(x), A[:, :3]),
    "pinv, wide": (lambda l, x: l.pinv(x), C[:3]),
    "pinv, hermitian": (lambda l, x: l.pinv(x, hermitian=True), hermitian(A)),
    "lstsq": (lambda l, x: l.lstsq(x, x[:, 0])[0], A[:, :3]),
    "norm": (lambda l, x: l.norm(x), C),
    "nuclear norm": (lambda l, x: l.norm(x, "nuc"), A),
    "cond": (lambda l, x: l.cond(x), A),
    "power": (lambda l, x: l.matrix_power(x, -2), A),
    "eigvalsh": (lambda l, x: l.eigvalsh(x), hermitian(C)),
}


@pytest.mark.spread(6)
@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_derivatives(name):
    function, x = DIFFERENTIABLE[name]
    x_dot = RNG.normal(size=x.shape).astype(x.dtype)
    out, dots = jax.jvp(lambda x: function(jax_numpy.linalg, x), (x,), (x_dot,))
    close(plugjax.jvp(lambda x: function(jnp.linalg, x), (x,), (x_dot,))[1], dots, 1e-2)
    bar = jax.tree.map(np.ones_like, out)
    ours, pull = plugjax.vjp(lambda x: function(jnp.linalg, x), x)
    ours_bar = plugjax.tree.unflatten(plugjax.tree.structure(ours), jax.tree.leaves(bar))
    expected = jax.vjp(lambda x: function(jax_numpy.linalg, x), x)[1](bar)
    close(pull(ours_bar), expected, 1e-2)


def test_second_derivative_of_a_determinant():
    found = plugjax.hessian(jnp.linalg.det)(A)
    close(found, jax.hessian(jax_numpy.linalg.det)(A), 5e-2)


def test_every_public_name_of_jax():
    names = [n for n in dir(jax_numpy.linalg) if not n.startswith("_")]
    assert [n for n in names if not hasattr(jnp.linalg, n)] == []


def test_linear_algebra_is_not_imported_with_the_package():
    import subprocess
    import sys

    code = "import sys, plugjax.numpy; assert 'plugjax.numpy.linalg' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
