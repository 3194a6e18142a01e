"""Linear algebra: derivatives, batches and errors against JAX; decompositions against LAPACK; compiled programs."""

import warnings

import jax
import numpy as np
import pytest

import plugjax
import plugjax.lax.linalg as ours
from plugjax.core.errors import FallbackWarning
from plugjax.export import to_iree
from plugjax.lax.linalg.decompositions import jacobi, reflections, systems
from plugjax.lax.linalg.householder import geqrf
from plugjax.lax.linalg.solve import solve

theirs = jax.lax.linalg
RNG = np.random.default_rng(3)


def matrix(*shape, dtype=np.float32):
    x = RNG.normal(size=shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * RNG.normal(size=shape)
    return x.astype(dtype)


def adjoint(x):
    return np.swapaxes(x.conj(), -1, -2)


def positive(size, dtype=np.float32):
    x = matrix(size, size, dtype=dtype)
    return x @ adjoint(x) + np.diag(3.0 + np.arange(size)).astype(dtype)


def heavy(size, dtype=np.float32):
    return matrix(size, size, dtype=dtype) + 4 * np.eye(size, dtype=dtype)


def close(found, expected, tolerance=2e-3):
    found, expected = plugjax.tree.leaves(found), jax.tree.leaves(expected)
    for x, y in zip(found, expected, strict=True):
        x, y = np.asarray(x), np.asarray(y)
        assert (x.shape, x.dtype) == (y.shape, y.dtype)
        if y.dtype != jax.dtypes.float0:
            np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)


REAL, COMPLEX = np.float32, np.complex64
# name -> function of (module, *operands), and the operands of a dtype.
FUNCTIONS = {
    "cholesky": (lambda m, x: m.cholesky(x), lambda d: [positive(4, d)]),
    "triangular_solve": (
        lambda m, a, b: m.triangular_solve(a, b, left_side=True, lower=True),
        lambda d: [heavy(4, d), matrix(4, 3, dtype=d)],
    ),
    "triangular_solve, conjugate": (
        lambda m, a, b: m.triangular_solve(a, b, conjugate_a=True, unit_diagonal=True),
        lambda d: [matrix(4, 4, dtype=d), matrix(3, 4, dtype=d)],
    ),
    "lu": (lambda m, x: m.lu(x), lambda d: [heavy(4, d)]),
    "lu, tall": (lambda m, x: m.lu(x), lambda d: [matrix(5, 3, dtype=d)]),
    "lu, wide": (lambda m, x: m.lu(x), lambda d: [matrix(3, 5, dtype=d)]),
    "qr": (lambda m, x: m.qr(x, full_matrices=False), lambda d: [matrix(5, 3, dtype=d)]),
    "qr, full": (lambda m, x: m.qr(x), lambda d: [matrix(5, 3, dtype=d)]),
    "qr, wide": (lambda m, x: m.qr(x), lambda d: [matrix(3, 5, dtype=d)]),
    "eigh": (lambda m, x: m.eigh(x), lambda d: [positive(4, d)]),
    "svd": (lambda m, x: m.svd(x, full_matrices=False), lambda d: [matrix(5, 3, dtype=d)]),
    "svd, wide": (lambda m, x: m.svd(x, full_matrices=False), lambda d: [matrix(3, 5, dtype=d)]),
    "eig": (lambda m, x: m.eig(x, enable_eigvec_derivs=True), lambda d: [heavy(4, d)]),
    "tridiagonal_solve": (
        lambda m, *xs: m.tridiagonal_solve(*xs),
        lambda d: [matrix(4, dtype=d), matrix(4, dtype=d) + 5, matrix(4, dtype=d), matrix(4, 2, dtype=d)],
    ),
}  # fmt: skip
functions = pytest.mark.parametrize("name", FUNCTIONS)
both_dtypes = pytest.mark.parametrize("dtype", [REAL, COMPLEX], ids=lambda d: d.__name__)


@pytest.mark.spread(16)
@functions
@both_dtypes
def test_values_and_derivatives_against_jax(name, dtype):
    function, operands = FUNCTIONS[name]
    args = operands(dtype)
    tangents = [matrix(*x.shape, dtype=x.dtype) for x in args]
    expected, pull = jax.vjp(lambda *xs: function(theirs, *xs), *args)
    found, our_pull = plugjax.vjp(lambda *xs: function(ours, *xs), *args)
    close(found, expected)
    _, dots = plugjax.jvp(lambda *xs: function(ours, *xs), tuple(args), tuple(tangents))
    close(dots, jax.jvp(lambda *xs: function(theirs, *xs), tuple(args), tuple(tangents))[1])
    bars = [
        matrix(*y.shape, dtype=y.dtype)
        if y.dtype.kind in "fc"
        else np.zeros(y.shape, jax.dtypes.float0)
        for y in jax.tree.leaves(expected)
    ]
    bar = jax.tree.unflatten(jax.tree.structure(expected), bars)
    ours_bar = plugjax.tree.unflatten(plugjax.tree.structure(found), bars)
    close(our_pull(ours_bar), pull(bar), 5e-3)


@functions
def test_batches_against_jax(name):
    function, operands = FUNCTIONS[name]
    args = [np.stack(pair) for pair in zip(operands(REAL), operands(REAL), strict=True)]
    expected = function(theirs, *args)
    close(function(ours, *args), expected)
    close(plugjax.vmap(lambda *xs: function(ours, *xs))(*args), expected)


@pytest.mark.parametrize("left_side", [True, False])
def test_a_batch_of_right_hand_sides_of_one_matrix(left_side):
    a, b = heavy(4), matrix(5, 4, 4)

    def system(x):
        return ours.triangular_solve(a, x, left_side=left_side), solve(a, x)

    close(plugjax.vmap(system)(b), [np.stack(y) for y in zip(*map(system, b), strict=True)])


def test_derivative_of_pivoted_qr_of_a_wide_matrix_reorders_all_columns():
    # JAX 0.10.2 leaves the columns beyond the square part unpermuted.
    x, x_dot = matrix(3, 5), matrix(3, 5)
    with plugjax.enable_x64(True):
        x, x_dot = x.astype(np.float64), x_dot.astype(np.float64)

        def r(x):
            return ours.qr(x, pivoting=True)[1]

        _, found = plugjax.jvp(r, (x,), (x_dot,))
        expected = (np.asarray(r(x + 1e-6 * x_dot)) - np.asarray(r(x - 1e-6 * x_dot))) / 2e-6
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_second_derivative_of_a_solution_uses_the_matrix_itself():
    a, b = heavy(3), matrix(3)
    found = plugjax.hessian(lambda a: (solve(a, b) ** 2).sum())(a)
    close(found, jax.hessian(lambda a: (jax.numpy.linalg.solve(a, b) ** 2).sum())(a), 5e-3)


@pytest.mark.parametrize("size", [0, 1])
def test_small_sizes(size):
    x = np.ones((2, size, size), np.float32)
    for name in ("cholesky", "lu", "qr", "svd", "eigh", "eig", "schur"):
        function = FUNCTIONS.get(name, (lambda m, x: m.schur(x),))[0]
        if size or name != "svd":
            close(function(ours, x), function(theirs, x))


def test_a_matrix_that_is_not_positive_definite_gives_nan():
    x = np.stack([np.eye(3, dtype=np.float32), -np.eye(3, dtype=np.float32)])
    found = np.asarray(ours.cholesky(x))
    np.testing.assert_array_equal(found[0], np.eye(3))
    assert np.isnan(found[1][np.tril_indices(3)]).all()


def test_polar_factors_against_jax():
    x = matrix(5, 3)
    close(ours.qdwh(x), theirs.qdwh(x), 1e-4)
    close(ours.qdwh(x, dynamic_shape=(4, 2)), theirs.qdwh(x, dynamic_shape=(4, 2)), 1e-4)


BAD = {
    "not square": lambda m: m.cholesky(np.ones((3, 2), np.float32), symmetrize_input=False),
    "a vector": lambda m: m.lu(np.ones(3, np.float32)),
    "integers": lambda m: m.qr(np.ones((3, 3), np.int32)),
    "two dtypes": lambda m: m.triangular_solve(np.ones((2, 2), np.float32), np.ones((2, 2), np.complex64)),
    "sizes": lambda m: m.triangular_solve(np.ones((2, 2), np.float32), np.ones((2, 3), np.float32)),
    "eig": lambda m: m.eig(np.ones((2, 3), np.float32)),
    "eigh": lambda m: m.eigh(np.ones((2, 3), np.float32), symmetrize_input=False),
    "short permutation": lambda m: m.lu_pivots_to_permutation(np.zeros(3, np.int32), 2),
    "subset": lambda m: m.eigh(np.eye(3, dtype=np.float32), subset_by_index=(0, 1)),
    "full and subset": lambda m: m.svd(np.eye(3, dtype=np.float32), subset_by_index=(0, 1)),
    "wide reflections": lambda m: m.householder_product(np.ones((2, 3), np.float32), np.ones(2, np.float32)),
    "ormqr": lambda m: m.ormqr(*(np.ones(s, np.float32) for s in ((3, 2), (2,), (4, 4)))),
    "diagonals": lambda m: m.tridiagonal_solve(*(np.ones(s, np.float32) for s in (2, 3, 3, (3, 1)))),
    "empty tridiagonal": lambda m: m.tridiagonal(np.ones((0, 0), np.float32)),
    "wide polar": lambda m: m.qdwh(np.ones((2, 3), np.float32)),
    "schur sorted": lambda m: m.schur(np.eye(2, dtype=np.float32), sort_eig_vals=True),
    "update": lambda m: m.cholesky_update(np.eye(2, dtype=np.float32), np.ones(3, np.float32)),
    "product": lambda m: m.symmetric_product(np.ones((2, 3), np.float32), np.ones((3, 3), np.float32)),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_errors_are_those_of_jax(name):
    with pytest.raises(Exception) as expected:  # Any error of JAX.
        BAD[name](theirs)
    builtin = next(t for t in expected.type.__mro__ if t.__module__ == "builtins")
    with pytest.raises(builtin):
        BAD[name](ours)


@pytest.mark.parametrize(
    "function",
    [
        lambda m, x: m.eig(x)[1],
        lambda m, x: m.svd(x[:, :2], full_matrices=True),
        lambda m, x: m.svd(x, subset_by_index=(0, 2), full_matrices=False),
    ],
)
def test_derivatives_that_jax_refuses(function):
    x = heavy(3)
    for derivative, module in ((jax.jvp, theirs), (plugjax.jvp, ours)):
        with pytest.raises(NotImplementedError):
            derivative(lambda x, m=module: function(m, x), (x,), (x,))


# Decompositions -----------------------------------------------------------------------------------


@both_dtypes
@pytest.mark.parametrize("shape", [(5, 5), (6, 4), (3, 5), (1, 1)])
def test_decompositions_against_lapack(dtype, shape):
    x = matrix(2, *shape, dtype=dtype)
    close(plugjax.jit(systems.lu)(x), ours.lu(x))
    for full in (True, False):
        for pivoting in (True, False):
            found = plugjax.jit(
                lambda x, f=full, p=pivoting: reflections.qr(x, full_matrices=f, pivoting=p)
            )(x)
            close(found, ours.qr(x, full_matrices=full, pivoting=pivoting))
        found = plugjax.jit(lambda x, f=full: jacobi.svd(x, full_matrices=f, compute_uv=True))(x)
        s, u, vh = map(np.asarray, found)
        close(s, ours.svd(x, compute_uv=False))
        least = min(shape)
        close((u[..., :least] * s[..., None, :]) @ vh[..., :least, :], x)
        for q in (u, adjoint(vh)):
            close(
                adjoint(q) @ q,
                np.broadcast_to(np.eye(q.shape[-1], dtype=dtype), (2, *q.shape[-1:] * 2)),
            )


@both_dtypes
@pytest.mark.parametrize("size", [1, 2, 5, 6])
def test_jacobi_eigenvectors(dtype, size):
    x = np.stack([positive(size, dtype), -positive(size, dtype)])
    vectors, values = map(np.asarray, plugjax.jit(lambda x: jacobi.eigh(x, lower=True))(x))
    close(values, ours.eigh(x)[1])
    close(x @ vectors, (vectors * values[:, None, :]).astype(dtype), 1e-2)


def test_singular_vectors_of_a_matrix_of_low_rank_are_orthonormal():
    x = np.outer([1.0, 2.0, 0.0, 0.0], [1.0, 0.0, 1.0]).astype(np.float32)
    s, u, vh = map(np.asarray, jacobi.svd(x, full_matrices=False, compute_uv=True))
    close((u * s) @ vh, x, 1e-5)
    close(u.T @ u, np.eye(3, dtype=np.float32), 1e-5)


@both_dtypes
@pytest.mark.parametrize("bits", range(16))
def test_triangular_decomposition_against_blas(dtype, bits):
    names = ("left_side", "lower", "transpose_a", "conjugate_a")
    how = {name: bool(bits >> i & 1) for i, name in enumerate(names)}
    a = heavy(4, dtype)
    b = matrix(*((4, 3) if how["left_side"] else (3, 4)), dtype=dtype)
    found = systems.triangular_solve(a, b, unit_diagonal=False, **how)
    close(found, ours.triangular_solve(a, b, **how))


@pytest.mark.parametrize("lower", [False, True])
def test_infinite_parts_of_a_solution_leave_the_others_as_they_are(lower):
    a = np.eye(3, dtype=np.float32) * 5 + 0.75
    b = np.array([[np.inf, 2], [2, -np.inf], [3, 4]], np.float32)[:: -1 if not lower else 1]
    op = {
        "left_side": True,
        "lower": lower,
        "transpose_a": False,
        "conjugate_a": False,
        "unit_diagonal": False,
    }
    found = systems.triangular_solve(a, b, **op)
    np.testing.assert_allclose(found, ours.triangular_solve(a, b, **op), rtol=1e-6)
    rows = np.array([[np.inf, 1, 2], [0, 3, 4], [0, 5, 6]], np.float32)
    factors, *_ = systems.lu(rows)
    np.testing.assert_allclose(factors, ours.lu(rows)[0], rtol=1e-6)


@both_dtypes
def test_other_decompositions_against_lapack(dtype):
    x = positive(4, dtype)
    close(np.tril(systems.cholesky(x)), ours.cholesky(x))
    packed, taus = geqrf(matrix(5, 3, dtype=dtype))
    close(reflections.geqrf(np.asarray(x)), geqrf(x))
    close(reflections.householder_product(packed, taus), ours.householder_product(packed, taus))
    for left in (True, False):
        for transpose in (True, False):
            c = matrix(*((5, 2) if left else (2, 5)), dtype=dtype)
            how = {"left": left, "transpose": transpose}
            close(reflections.ormqr(packed, taus, c, **how), ours.ormqr(packed, taus, c, **how))
    lines = FUNCTIONS["tridiagonal_solve"][1](dtype)
    found = systems.tridiagonal_solve(*lines, perturb_singular=False)
    close(found, ours.tridiagonal_solve(*lines))


# Compiled -----------------------------------------------------------------------------------------


def program(a, h, b):
    return [
        ours.cholesky(h),
        ours.triangular_solve(h, b, left_side=True, lower=True),
        *ours.lu(a),
        *ours.qr(a),
        solve(a, b),
        *(y * y for y in ours.eigh(h)),
        *(y * y for y in ours.svd(a)),
    ]


def test_compiled_programs_call_lapack_without_a_warning(backend):
    args = heavy(4), positive(4), matrix(4, 3)
    with plugjax.default_device("numpy"):
        expected = [np.asarray(y) for y in program(*args)]
    with warnings.catch_warnings(), plugjax.default_device(backend):
        warnings.simplefilter("error", FallbackWarning)
        close(plugjax.jit(program)(*args), expected)
        close(plugjax.jit(ours.schur)(args[0]), ours.schur(args[0]))


@pytest.mark.parametrize("compiler", ["xla", "iree"])
def test_programs_that_may_not_call_python_are_decomposed(compiler):
    args = heavy(4), positive(4), matrix(4, 3)

    def some(a, h, b):
        return ours.cholesky(h), solve(a, b)

    def values(a, h, b):
        return (ours.eigh(h)[1],)

    before = plugjax.config.read("fallback")
    plugjax.config.update("fallback", "error")
    try:
        with plugjax.default_device(compiler):
            # One by one: IREE 3.13 fails on some programs with several of these loops.
            for function in (some, values):
                close(plugjax.jit(function)(*args), [np.asarray(y) for y in function(*args)])
    finally:
        plugjax.config.update("fallback", before)


def test_an_exported_module_solves_without_python(tmp_path):
    from plugjax_iree.runtime import open_device

    h, b = positive(4), matrix(4, 2)

    def likelihood(h, b):
        factor = ours.cholesky(h)
        return ours.triangular_solve(factor, b, left_side=True, lower=True), solve(h, b)

    done = to_iree({"f": (likelihood, (h, b))}, tmp_path / "m.vmfb")
    device = open_device("local-sync")
    found = device.load(done.path.read_bytes()).function("f")([device.put(h), device.put(b)])
    for y, expected in zip(found, likelihood(h, b), strict=True):
        close(device.get(y, np.dtype("f4"), (4, 2)), expected)
