"""``plugjax.scipy.sparse.linalg``: solutions, derivatives, dtypes and errors as in JAX, compiled for each backend."""

import jax
import jax.scipy.sparse.linalg as theirs
import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp
import plugjax.scipy.sparse.linalg as ours

SOLVERS = {
    "cg": ours.cg,
    "bicgstab": ours.bicgstab,
    "gmres": ours.gmres,
    "gmres incremental": lambda *a, **k: ours.gmres(*a, solve_method="incremental", **k),
    "gmres restarted": lambda *a, **k: ours.gmres(*a, restart=4, **k),
}


def system(n, dtype, positive=False):
    rng = np.random.default_rng(n)
    a, b = rng.normal(size=(n, n)), rng.normal(size=n)
    if np.dtype(dtype).kind == "c":
        a, b = a + 1j * rng.normal(size=(n, n)), b + 1j * rng.normal(size=n)
    a = a @ a.conj().T + n * np.eye(n) if positive else a + 4 * n**0.5 * np.eye(n)
    return a.astype(dtype), b.astype(dtype)


@pytest.mark.spread(2)
@pytest.mark.parametrize("dtype", ["float32", "complex64", "float64"])
@pytest.mark.parametrize("name", SOLVERS)
def test_solutions(name, dtype):
    wide = np.dtype(dtype).itemsize == (16 if dtype.startswith("c") else 8)
    tolerance = 1e-11 if wide else 1e-6
    with plugjax.enable_x64(wide):
        for n in (1, 12):
            a, b = system(n, dtype, positive=name == "cg")
            inverse = np.linalg.inv(a)
            for options in (
                {},
                {"M": inverse},
                {"M": lambda x, inverse=inverse: inverse @ x},
                {"x0": b},
            ):
                x, info = SOLVERS[name](a, b, tol=tolerance, **options)
                assert x.dtype == dtype
                assert not info
                error = np.linalg.norm(a @ np.asarray(x) - b)
                assert error <= 20 * tolerance * np.linalg.norm(b)


def test_pytrees_and_operators():
    class Twice:
        shape = (2, 2)

        def __matmul__(self, x):
            return 2 * x

    b = {"u": np.ones((2, 2), np.float32), "v": [np.float32(3)]}

    def mixed(x):
        return {"u": 2 * x["u"] + x["v"][0], "v": [5 * x["v"][0]]}

    def separate(x):
        return {"u": 5 * x["u"], "v": [5 * x["v"][0]]}

    for name, solve in SOLVERS.items():
        x, _ = solve(separate if name == "cg" else mixed, b, tol=1e-6)
        assert plugjax.tree.structure(x) == plugjax.tree.structure(b)
        np.testing.assert_allclose(x["u"], 0.2, rtol=1e-5)
        np.testing.assert_allclose(x["v"][0], 0.6, rtol=1e-5)
        np.testing.assert_allclose(solve(Twice(), np.ones(2, np.float32))[0], 0.5, rtol=1e-5)


@pytest.mark.parametrize("name", ["cg", "bicgstab", "gmres"])
@pytest.mark.parametrize(
    "expression",
    [
        lambda solve: solve(A[:1], B),
        lambda solve: solve(B, B),
        lambda solve: solve(3, B),
        lambda solve: solve(A, B, {"x": B}),
        lambda solve: solve(A, B, M="M"),
        lambda solve: solve(A, B, np.int32([1, 2])),
    ],
)
def test_refused_as_in_jax(agree, name, expression):
    agree(lambda s: expression(getattr(s, name)), ours, theirs)


@pytest.mark.parametrize("name", ["cg", "bicgstab", "gmres"])
def test_results_have_the_types_of_jax(name):
    def several(s, b):
        solve = getattr(s, name)
        lists = solve(lambda x: [2 * v for v in x], [b[0], b])
        return [lists, solve(A, 0 * b), solve(A, b, maxiter=0), solve(A, b, atol=100.0)]

    found = plugjax.tree.leaves(several(ours, B))
    wanted = jax.tree.leaves(jax.eval_shape(lambda b: several(theirs, b), B))
    for x, y in zip(found, wanted, strict=True):
        assert (x.shape, x.dtype, x.weak_type) == (y.shape, y.dtype, y.weak_type)
    np.testing.assert_allclose(found[1], B / 2)
    assert not any(x.any() for x in found[2:])


A, B = np.float32([[3, 1], [1, 2]]), np.float32([1, 2])


def test_special_systems():
    x, info = ours.gmres(np.float32([[1, 0], [0, 0]]), B)
    np.testing.assert_allclose(x[0], 1, rtol=1e-5)
    assert int(info) == 0
    assert int(ours.gmres(A, B, B * np.nan)[1]) == -1
    np.testing.assert_allclose(ours.gmres(A, 0 * B, B)[0], 0, atol=1e-5)
    with pytest.raises(ValueError, match="solve_method"):
        ours.gmres(A, B, solve_method="x")


@pytest.mark.spread(2)
@pytest.mark.parametrize("name", SOLVERS)
def test_derivatives(name):
    def loss(solve):
        return lambda a, b: (solve((a + a.T) / 2 if name == "cg" else a, b) ** 3).sum()

    a = A if name == "cg" else A + np.float32([[0, 1], [0, 0]])
    f = loss(lambda a, b: SOLVERS[name](a, b, tol=1e-7)[0])
    g = loss(jnp.linalg.solve)
    for x, y in zip(plugjax.grad(f, (0, 1))(a, B), plugjax.grad(g, (0, 1))(a, B), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(
        plugjax.jvp(f, (a, B), (a, B))[1], plugjax.jvp(g, (a, B), (a, B))[1], rtol=1e-4, atol=1e-4
    )
    np.testing.assert_allclose(
        plugjax.hessian(f, 1)(a, B), plugjax.hessian(g, 1)(a, B), rtol=1e-3, atol=1e-3
    )
    rows = plugjax.vmap(lambda b: SOLVERS[name](a, b, tol=1e-6)[0])(np.eye(2, dtype=np.float32))
    np.testing.assert_allclose(rows.T, np.linalg.inv(a), rtol=1e-4, atol=1e-5)


@pytest.mark.spread(3)
def test_compiled_for_a_backend(on_backend):
    a, b = system(6, np.float32)

    def loss(b):
        x, _ = ours.gmres(a, b, restart=4)
        return x.sum(), x

    bar, x = plugjax.jit(plugjax.grad(loss, has_aux=True))(b)
    np.testing.assert_allclose(x, np.linalg.solve(a, b), rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(bar, np.linalg.solve(a.T, np.ones(6)), rtol=1e-3, atol=1e-4)
