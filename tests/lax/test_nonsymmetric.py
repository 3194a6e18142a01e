"""Decompositions for programs without a host: Hessenberg and tridiagonal forms, pivoted QR, Schur form, eigenvectors."""

import numpy as np
import pytest
import scipy.linalg

import plugjax
import plugjax.lax.linalg as ours
from plugjax.export import to_iree
from plugjax.lax.linalg.decompositions import nonsymmetric, reflections, similarity
from plugjax.lax.linalg.householder import geqp3
from plugjax_iree.runtime import open_device

RNG = np.random.default_rng(0)
DTYPES = ["float32", "complex64", "float64", "complex128"]


@pytest.fixture(params=DTYPES)
def dtype(request):
    with plugjax.enable_x64(np.finfo(request.param).bits == 64):
        yield np.dtype(request.param)


def normal(*shape, dtype):
    x = RNG.normal(size=shape)
    return (x + 1j * RNG.normal(size=shape) if dtype.kind == "c" else x).astype(dtype)


def adjoint(x):
    return np.conj(np.swapaxes(x, -1, -2))


def difficult(n):
    """Hard matrices for a QR algorithm, and some that need no step."""
    x = RNG.normal(size=(n, n))
    return {
        "normal": x,
        "zero": np.zeros((n, n)),
        "one": np.eye(n),
        "cyclic": np.eye(n)[np.r_[1:n, 0]],
        "defective": np.eye(n) + np.eye(n, k=1),
        "defective below": np.eye(n) + np.eye(n, k=-1),
        "symmetric": x + x.T,
        "skew": x - x.T,
        "orthogonal": np.linalg.qr(x)[0],
        "rank one": np.outer(x[0], x[-1]),
        "whole numbers": np.round(x),
        "companion": scipy.linalg.companion(np.r_[1, x[0]]),
        "large": x * 1e18,
        "small": x * 1e-18,
        "graded": x * 10.0 ** -np.arange(n)[:, None],
        "upper": np.triu(x),
        "lower": np.tril(x),
    }


@pytest.mark.spread(2)
@pytest.mark.parametrize("n", [2, 3, 5, 12])
def test_schur_form_and_eigenvectors(dtype, n):
    cases = difficult(n)
    x = np.stack(list(cases.values())).astype(dtype)
    if dtype.kind == "c":
        x = x * np.exp(0.7j).astype(dtype) + np.diag(np.arange(n) * 1j).astype(dtype) * x
    schur, eig = (
        plugjax.jit(lambda x, f=f, p=p: f(x, **p))
        for f, p in (
            (nonsymmetric.schur, {"compute_schur_vectors": True}),
            (nonsymmetric.eig, dict.fromkeys(["compute_left_eigenvectors", "compute_right_eigenvectors"], True)),
        )
    )  # fmt: skip
    t, q = map(np.asarray, schur(x))
    values, left, right = map(np.asarray, eig(x))
    limit = 80 * n * np.finfo(dtype).eps
    for k, name in enumerate(cases):
        size = max(abs(x[k]).max(), 1e-30)
        assert abs(q[k] @ t[k] @ adjoint(q[k]) - x[k]).max() < limit * size, name
        assert abs(adjoint(q[k]) @ q[k] - np.eye(n)).max() < limit, name
        assert abs(x[k] @ right[k] - right[k] * values[k]).max() < 4 * limit * size, name
        turned = adjoint(left[k])
        assert abs(turned @ x[k] - values[k][:, None] * turned).max() < 4 * limit * size, name
        for vectors in (left[k], right[k]):
            assert abs(np.linalg.norm(vectors, axis=0) - 1).max() < limit, name
        below = np.diag(t[k], -1)
        assert not np.tril(t[k], -2).any(), name
        if dtype.kind == "c":
            assert not below.any(), name
            continue
        assert not (below[1:] * below[:-1]).any(), name
        for i in np.flatnonzero(below):
            # A block has a pair of complex eigenvalues and equal elements on the diagonal.
            assert t[k, i, i] == t[k, i + 1, i + 1], name
            assert t[k, i, i + 1] * below[i] < 0, name


def test_pairs_of_a_real_matrix_are_conjugate_and_real_eigenvectors_real():
    x = normal(6, 7, 7, dtype=np.dtype("float32"))
    values, right = nonsymmetric.eig(x, compute_left_eigenvectors=False, compute_right_eigenvectors=True)  # fmt: skip
    values, right = np.asarray(values), np.asarray(right)
    for w, v in zip(values, right, strict=True):
        assert not v[:, w.imag == 0].imag.any()
        (above,) = np.nonzero(w.imag > 0)
        np.testing.assert_array_equal(w[above + 1], w[above].conj())
        np.testing.assert_array_equal(v[:, above + 1], v[:, above].conj())


def test_what_is_not_finite_gives_nan_and_ends():
    x = np.eye(4, dtype=np.float32)
    x[1, 2] = np.nan
    for found in nonsymmetric.eig(x, compute_left_eigenvectors=True, compute_right_eigenvectors=True):  # fmt: skip
        assert np.isnan(np.asarray(found)).any()


@pytest.mark.parametrize("n", [0, 1])
def test_small_sizes(dtype, n):
    x = normal(3, n, n, dtype=dtype)
    t, q = nonsymmetric.schur(x, compute_schur_vectors=True)
    np.testing.assert_array_equal(t, x)
    assert q.shape == x.shape
    found = nonsymmetric.eig(x, compute_left_eigenvectors=True, compute_right_eigenvectors=True)
    for y, expected in zip(found, ours.eig(x), strict=True):
        np.testing.assert_array_equal(y, expected)
    for y, expected in zip(similarity.hessenberg(x), ours.hessenberg(x), strict=True):
        np.testing.assert_array_equal(y, expected)


def close(found, expected):
    for y, z in zip(found, expected, strict=True):
        tolerance = 2000 * np.finfo(np.asarray(y).dtype).eps if y.dtype.kind in "fc" else 0
        np.testing.assert_allclose(y, z, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_similarity_against_lapack(dtype, n):
    x = normal(3, n, n, dtype=dtype)
    close(similarity.hessenberg(x), ours.hessenberg(x))
    for lower in (True, False):
        close(similarity.tridiagonal(x, lower=lower), ours.tridiagonal(x, lower=lower))


@pytest.mark.parametrize("shape", [(4, 4), (6, 3), (3, 6)])
def test_pivoted_factors_against_lapack(dtype, shape):
    x = normal(4, *shape, dtype=dtype)
    first = (RNG.random((4, shape[1])) < 0.3).astype(np.int32)
    first[0] = 0
    close(reflections.geqp3(x, first), geqp3(x, first))


FUNCTIONS = {
    "tridiagonal": ours.tridiagonal,
    "pivoted": lambda x: geqp3(x, np.zeros(x.shape[-1], np.int32)),
    "schur": ours.schur,
    "eig": ours.eig,
}
# IREE takes seconds for each: one program of each kind that contains most operations.
COMPILED = {
    ("xla", "float32"): FUNCTIONS,
    ("xla", "complex64"): FUNCTIONS,
    ("iree", "float32"): ["tridiagonal", "pivoted", "schur"],
    ("iree", "complex64"): ["eig"],
}


@pytest.mark.spread(3)
@pytest.mark.parametrize(("compiler", "kind"), COMPILED)
def test_programs_that_may_not_call_python(compiler, kind):
    x = normal(3, 3, dtype=np.dtype(kind))
    found = {}
    before = plugjax.config.read("fallback")
    plugjax.config.update("fallback", "error")
    try:
        with plugjax.default_device(compiler):
            # One by one: IREE 3.13 fails on some programs with several of these loops.
            for name in COMPILED[compiler, kind]:
                function = plugjax.jit(FUNCTIONS[name])
                found[name] = [np.asarray(y) for y in function(x)]
    finally:
        plugjax.config.update("fallback", before)
    for name in found.keys() & {"tridiagonal", "pivoted"}:
        with plugjax.default_device("numpy"):
            close(found[name], FUNCTIONS[name](x))
    if "schur" in found:
        t, q = found["schur"]
        close([q @ t @ adjoint(q)], [x])
    if "eig" in found:
        values, _, right = found["eig"]
        close([x @ right], [right * values])


def test_an_exported_module_has_eigenvalues_without_python(tmp_path):
    x = normal(3, 3, dtype=np.dtype("float32"))

    def values(x):
        return ours.eig(x, compute_left_eigenvectors=False, compute_right_eigenvectors=False)

    done = to_iree({"f": (values, (x,))}, tmp_path / "m.vmfb")
    device = open_device("local-sync")
    (found,) = device.load(done.path.read_bytes()).function("f")([device.put(x)])
    found = device.get(found, np.dtype("c8"), (3,))
    with plugjax.default_device("numpy"):
        (expected,) = values(x)
    close([np.sort_complex(found)], [np.sort_complex(np.asarray(expected))])
