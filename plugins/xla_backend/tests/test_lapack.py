"""Linear algebra in compiled programs: calls of LAPACK in XLA's runtime, none of Python."""

import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp
from plugjax.lax import linalg
from plugjax.lax.linalg.householder import geqrf
from tests.meshes.scripts import run


def matrix(*shape, dtype="float32"):
    rng = np.random.default_rng(0)
    found = rng.normal(size=shape) + (1j * rng.normal(size=shape) if dtype[0] == "c" else 0)
    return (found + 3 * np.eye(*shape[-2:])).astype(dtype)


def positive(x):
    return x @ x.mT.conj()


def solved_tridiagonal(x):
    d = jnp.diagonal(x, axis1=-2, axis2=-1)
    return linalg.tridiagonal_solve(0 * d + 0.1, d, 0 * d + 0.2, x)


def multiplied(x):
    packed, taus = geqrf(x)
    left = linalg.ormqr(packed, taus, x, transpose=True)
    return left, linalg.ormqr(packed, taus, x, left=False)


CALLS = {
    "cholesky": (lambda x: linalg.cholesky(positive(x)), "potrf"),
    "eig": (lambda x: jnp.linalg.eigvals(x).sum(-1), "geev"),
    "eigh": (lambda x: jnp.linalg.eigvalsh(positive(x)), "evd"),
    "hessenberg": (linalg.hessenberg, "gehrd"),
    "householder product": (lambda x: linalg.householder_product(*geqrf(x)), "gqr"),
    "inverse": (jnp.linalg.inv, "getrf"),
    "lu": (linalg.lu, "getrf"),
    "multiplied": (multiplied, "mqr"),
    "qr": (jnp.linalg.qr, "geqrf"),
    "full qr of tall ones": (lambda x: jnp.linalg.qr(x[..., :2], "complete"), "geqrf"),
    "qr of wide ones": (lambda x: jnp.linalg.qr(x[..., :2, :]), "geqrf"),
    "pivoted qr": (lambda x: linalg.qr(x[..., :3], pivoting=True, full_matrices=False), "geqp3"),
    "schur": (lambda x: linalg.schur(positive(x))[0], "gees"),
    "solve": (lambda x: jnp.linalg.solve(x, x.mT), "trsm"),
    "svd": (lambda x: jnp.linalg.svd(x, compute_uv=False), "gesdd"),
    "triangular": (lambda x: linalg.triangular_solve(x, x, left_side=True, transpose_a=True), "trsm"),
    "tridiagonal": (lambda x: linalg.tridiagonal(positive(x)), "trd"),
    "tridiagonal solve": (solved_tridiagonal, "gtsv"),
}  # fmt: skip


@pytest.mark.spread(6)
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
@pytest.mark.parametrize("shape", [(4, 4), (3, 5, 5)])
@pytest.mark.parametrize("name", CALLS)
def test_calls_of_lapack(name, shape, dtype):
    function, routine = CALLS[name]
    x = matrix(*shape, dtype=dtype)
    with plugjax.default_device(plugjax.devices("numpy")[0]):
        expected = plugjax.tree.leaves(function(jnp.asarray(x)))
    with plugjax.default_device(plugjax.devices("xla")[0]):
        compiled = plugjax.jit(function).lower(x).compile()
        text = compiled.as_text()
        assert f"{routine}_ffi" in text
        assert "python" not in text
        found = plugjax.tree.leaves(compiled(x))
    for a, b in zip(expected, found, strict=True):
        np.testing.assert_allclose(np.asarray(b), np.asarray(a), rtol=2e-4, atol=2e-4)


def test_where_a_factorization_fails():
    with plugjax.default_device(plugjax.devices("xla")[0]):
        x = jnp.stack([jnp.eye(3), -jnp.eye(3)])
        factors = plugjax.jit(linalg.cholesky)(x)
        assert jnp.isnan(jnp.diagonal(factors[1])).all()
        assert (factors[0] == jnp.eye(3)).all()
        assert not jnp.isfinite(plugjax.jit(jnp.linalg.inv)(jnp.zeros((2, 2)))).all()
        assert plugjax.jit(jnp.linalg.det)(jnp.zeros((5, 5))) == 0


def test_empty_matrices():
    with plugjax.default_device(plugjax.devices("xla")[0]):
        assert plugjax.jit(jnp.linalg.solve)(jnp.zeros((0, 0)), jnp.zeros(0)).shape == (0,)
        assert plugjax.jit(jnp.linalg.qr)(jnp.zeros((3, 0)))[0].shape == (3, 0)


def test_a_batch_that_is_spread_over_devices_stays_so():
    out = run("xla", """
        x = np.random.default_rng(0).normal(size=(8, 4, 4)).astype("f") + 4 * np.eye(4, dtype="f")
        spread = jax.device_put(x, jax.NamedSharding(mesh, P(("x", "y"))))
        for f in (lambda x: jnp.linalg.cholesky(x @ x.mT), lambda x: jnp.linalg.solve(x, x.mT), jnp.linalg.qr, jnp.linalg.svd):
            compiled = jax.jit(f).lower(spread).compile()
            found = jax.tree.leaves(compiled(spread))
            alike = all(np.allclose(a, b, atol=1e-5) for a, b in zip(found, jax.tree.leaves(jax.jit(f)(x))))
            print("all-gather" in compiled.as_text(), {y.sharding.shard_shape(y.shape)[0] for y in found}, alike)
    """)  # fmt: skip
    assert out == "False {1} True\n" * 4
