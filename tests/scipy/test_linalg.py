"""``plugjax.scipy.linalg`` against JAX: values, dtypes, error types, derivatives."""

import jax
import jax.scipy.linalg as theirs
import numpy as np
import pytest
import scipy.linalg

import plugjax
import plugjax.scipy.linalg as ours

RNG = np.random.default_rng(13)
A = (RNG.normal(size=(4, 4)) + 3 * np.eye(4)).astype(np.float32)
C = (A + 1j * RNG.normal(size=(4, 4))).astype(np.complex64)
V = np.array([3.0, 1.0, 2.0, 5.0], np.float32)
KINDS = {"real": A, "complex": C}


def hermitian(x):
    return x @ x.conj().T + 4 * np.eye(4, dtype=x.dtype)


def both(x):
    return np.stack([x, 2 * x])


def sizes(function):
    """Absolute values of results: signs and phases are arbitrary."""
    return [abs(y) for y in function]


def agree(function, tolerance=2e-3):
    try:
        expected = function(theirs)
    except Exception as error:
        builtin = next(t for t in type(error).__mro__ if t.__module__ == "builtins")
        with pytest.raises(builtin):
            function(ours)
        return
    close(function(ours), expected, tolerance)


def close(found, expected, tolerance=2e-3):
    found, expected = plugjax.tree.leaves(found), jax.tree.leaves(expected)
    for x, y in zip(found, expected, strict=True):
        x, y = np.asarray(x), np.asarray(y)
        assert (x.shape, x.dtype) == (y.shape, y.dtype)
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)


MATRICES = {
    "cholesky": lambda l, x: l.cholesky(hermitian(x)),
    "cholesky lower": lambda l, x: l.cholesky(both(hermitian(x)), lower=True),
    "cho_solve": lambda l, x: l.cho_solve(l.cho_factor(hermitian(x)), x),
    "cho_solve lower": lambda l, x: l.cho_solve(l.cho_factor(both(hermitian(x)), lower=True), x[0]),
    "lu": lambda l, x: l.lu(x[:, :3]),
    "lu permuted": lambda l, x: l.lu(x[:3], permute_l=True),
    "lu of a batch": lambda l, x: l.lu(both(x)),
    "lu_factor": lambda l, x: l.lu_factor(both(x)),
    "lu_solve": lambda l, x: [l.lu_solve(l.lu_factor(x), x[0], trans=t) for t in (0, 1, 2)],
    "lu_solve for a batch": lambda l, x: l.lu_solve(l.lu_factor(x), both(x)),
    "lu_solve bad": lambda l, x: l.lu_solve(l.lu_factor(x), x, trans=3),
    "solve_triangular": lambda l, x: [l.solve_triangular(x, x[:, :3], t) for t in (0, 1, 2, "N", "T", "C")],
    "solve_triangular lower": lambda l, x: l.solve_triangular(both(x), x[0], lower=True, unit_diagonal=True),
    "solve_triangular bad": lambda l, x: l.solve_triangular(x, x, "x"),
    "solve": lambda l, x: [l.solve(hermitian(x), x, assume_a=a) for a in ("gen", "sym", "her", "pos")],
    "solve lower": lambda l, x: l.solve(hermitian(x), x[0], lower=True, assume_a="pos"),
    "solve bad": lambda l, x: l.solve(x, x, assume_a="x"),
    "inv": lambda l, x: l.inv(x),
    "det": lambda l, x: l.det(x),
    "qr": lambda l, x: [l.qr(x[:, :3], mode=m) for m in ("full", "r", "economic")],
    "qr pivoting": lambda l, x: l.qr(x[:3], pivoting=True),
    "qr bad": lambda l, x: l.qr(x, mode="x"),
    "qr_multiply": lambda l, x: [
        l.qr_multiply(x[:, :3], c, m, p, conjugate)
        for c, m in ((x, "right"), (x[:3], "left"), (x[0], "right"), (x[0, :3], "left"))
        for p in (False, True)
        for conjugate in (False, True)
    ],
    "qr_multiply bad": lambda l, x: l.qr_multiply(x, x[:3], "left"),
    "svd": lambda l, x: l.svd(x[:, :3], full_matrices=False),
    "svd values": lambda l, x: l.svd(x, compute_uv=False),
    "polar": lambda l, x: [l.polar(x), l.polar(x[:3], side="left")],
    "polar svd": lambda l, x: [l.polar(x[:3], side=s, method="svd") for s in ("left", "right")],
    "polar wide": lambda l, x: l.polar(x[:3]),
    "polar bad": lambda l, x: l.polar(x, side="x"),
    "hessenberg": lambda l, x: l.hessenberg(both(x), calc_q=True),
    "hessenberg of 1 and 0": lambda l, x: [l.hessenberg(x[:n, :n], calc_q=True) for n in (0, 1)],
    "eigh": lambda l, x: [l.eigh(hermitian(x)), l.eigh(hermitian(x), eigvals_only=True)],
    "eigh generalized": lambda l, x: l.eigh(x, x),
    "eigh type": lambda l, x: l.eigh(x, type=2),
    "eigh_tridiagonal": lambda l, x: l.eigh_tridiagonal(x[0], x[0, 1:], eigvals_only=True),
    "eigh_tridiagonal some": lambda l, x: l.eigh_tridiagonal(
        x[0], x[0, 1:], eigvals_only=True, select="i", select_range=(1, 2)
    ),
    "eigh_tridiagonal vectors": lambda l, x: sizes(l.eigh_tridiagonal(x[0], x[0, 1:])),
    "eigh_tridiagonal by value": lambda l, x: l.eigh_tridiagonal(x[0], x[0, 1:], select="v"),
    "schur": lambda l, x: [l.schur(x), l.schur(x, output="complex")],
    "schur bad": lambda l, x: l.schur(x, output="x"),
    "rsf2csf bad": lambda l, x: l.rsf2csf(x, x[:, :3]),
    "expm": lambda l, x: [l.expm(0.01 * x), l.expm(both(x / 4)), l.expm(1e6 * x), l.expm(x[:0, :0])],
    "expm triangular": lambda l, x: l.expm(np.triu(x) / 2, upper_triangular=True),
    "expm limited": lambda l, x: l.expm(x, max_squarings=0),
    "expm bad": lambda l, x: l.expm(x[:3]),
    "expm_frechet": lambda l, x: l.expm_frechet(x / 2, x.T / 2),
    "expm_frechet bad": lambda l, x: l.expm_frechet(x, x[:3]),
    "sqrtm": lambda l, x: l.sqrtm(x),
    "sqrtm blocks": lambda l, x: l.sqrtm(x, blocksize=2),
    "funm": lambda l, x: l.funm(x, lambda w: w * w),
    "funm bad": lambda l, x: l.funm(x[:3], lambda w: w),
    "solve_sylvester": lambda l, x: [
        l.solve_sylvester(x, x[:3, :3], x[:, :3], method=m) for m in ("schur", "eigen")
    ],
    "solve_sylvester singular": lambda l, x: l.solve_sylvester(x, -x, x, tol=1e-3),
    "solve_sylvester bad": lambda l, x: l.solve_sylvester(x, x, x, method="x"),
    "block_diag": lambda l, x: [l.block_diag(x, x[0], 2.0), l.block_diag()],
    "block_diag bad": lambda l, x: l.block_diag(both(x)),
}  # fmt: skip


@pytest.mark.spread(8)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", MATRICES)
def test_functions_of_matrices(name, kind):
    agree(lambda l: MATRICES[name](l, KINDS[kind]), 5e-3)


VECTORS = ["toeplitz", "hankel", "circulant", "companion", "fiedler", "fiedler_companion"]


@pytest.mark.spread(6)
@pytest.mark.parametrize("name", VECTORS)
def test_patterns_of_a_vector(name):
    for x in (*(V[:k] for k in range(5)), A, V[0], C[0], np.array([3, 1, 2, 5, 4, 7, 6]), [1, 2]):
        agree(lambda l, x=x: getattr(l, name)(x))


@pytest.mark.parametrize("name", ["toeplitz", "hankel", "leslie"])
def test_patterns_of_two_vectors(name):
    for x, y in ((V, V[1:]), (A, V[1:]), (np.array([1, 2, 3]), V[1:3]), (V[:1], V[:0]), (V, C[0])):
        agree(lambda l, x=x, y=y: getattr(l, name)(x, y))


@pytest.mark.spread(2)
@pytest.mark.parametrize("mode", ["full", "same", "valid", "x"])
def test_convolution_matrices(mode):
    for count in range(7):
        agree(lambda l, n=count: l.convolution_matrix(V, n, mode))
        agree(lambda l, n=count: l.convolution_matrix(A, n, mode))


@pytest.mark.spread(6)
@pytest.mark.parametrize("size", [0, 1, 2, 3, 5, 8])
def test_patterns_of_a_size(size):
    for name in ("hilbert", "invhilbert", "pascal", "invpascal", "helmert", "hadamard", "dft"):
        agree(lambda l, name=name: getattr(l, name)(size))
    for kind in ("lower", "upper", "x"):
        agree(lambda l, kind=kind: (l.pascal(size, kind), l.invpascal(size, kind)))
    for scale in ("sqrtn", "n", "x"):
        agree(lambda l, scale=scale: l.dft(size, scale))


def test_inverse_hilbert_matrix_is_rounded_from_exact_integers():
    expected = scipy.linalg.invhilbert(8).astype(np.float32)
    np.testing.assert_array_equal(np.asarray(ours.invhilbert(8)), expected)


def test_a_real_schur_form_becomes_triangular():
    t, z = map(np.asarray, ours.rsf2csf(*ours.schur(A - 3 * np.eye(4, dtype=np.float32))))
    np.testing.assert_allclose(np.tril(t, -1), 0, atol=1e-5)
    np.testing.assert_allclose(z @ t @ z.conj().T, A - 3 * np.eye(4), atol=1e-4)
    np.testing.assert_allclose(z @ z.conj().T, np.eye(4), atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_batched_vectors_warn_as_in_jax(kind):
    x = KINDS[kind]
    for module in (theirs, ours):
        with pytest.warns(FutureWarning, match="batched 1D"):
            module.solve_triangular(both(x), x[:2])


DIFFERENTIABLE = {
    "expm": (lambda l, x: l.expm(x / 3), A),
    "solve pos": (lambda l, x: l.solve(x, x[0], assume_a="pos"), hermitian(A)),
    "cho_solve": (lambda l, x: l.cho_solve(l.cho_factor(x), x[0]), hermitian(C)),
    "lu_solve": (lambda l, x: l.lu_solve(l.lu_factor(x), x[0]), C),
    "solve_triangular": (lambda l, x: l.solve_triangular(x, x[0]), A),
    "toeplitz": (lambda l, x: l.toeplitz(x), V),
    "polar": (lambda l, x: l.polar(x, method="svd"), A),
    "cholesky": (lambda l, x: l.cholesky(x), hermitian(C)),
}


@pytest.mark.spread(2)
@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_derivatives(name):
    function, x = DIFFERENTIABLE[name]
    x_dot = RNG.normal(size=x.shape).astype(x.dtype)
    out, dots = jax.jvp(lambda x: function(theirs, x), (x,), (x_dot,))
    close(plugjax.jvp(lambda x: function(ours, x), (x,), (x_dot,))[1], dots, 1e-2)
    bar = jax.tree.map(np.ones_like, out)
    found, pull = plugjax.vjp(lambda x: function(ours, x), x)
    ours_bar = plugjax.tree.unflatten(plugjax.tree.structure(found), jax.tree.leaves(bar))
    close(pull(ours_bar), jax.vjp(lambda x: function(theirs, x), x)[1](bar), 1e-2)


def test_eigenvalues_of_a_tridiagonal_matrix_have_a_derivative():
    def total(d):
        return (ours.eigh_tridiagonal(d, V[1:], eigvals_only=True) ** 3).sum()

    def expected(d):
        m = jax.numpy.diag(d) + jax.numpy.diag(V[1:], 1) + jax.numpy.diag(V[1:], -1)
        return (jax.numpy.linalg.eigvalsh(m) ** 3).sum()

    close(plugjax.grad(total)(V), jax.grad(expected)(V))


def test_compiled_on_every_backend(backend):
    def program(x):
        return ours.expm(x / 4), ours.solve_triangular(x, x[0]), ours.toeplitz(x[0])

    expected = [np.asarray(y) for y in program(A)]
    with plugjax.default_device(backend):
        close(plugjax.jit(program)(A), expected)


def test_every_public_name_of_jax():
    names = [n for n in dir(theirs) if not n.startswith("_")]
    assert [n for n in names if not hasattr(ours, n)] == []
