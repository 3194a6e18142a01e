"""``plugjax.scipy.optimize`` against SciPy and, where its line search succeeds, JAX; compiled for each backend."""

import jax
import jax.numpy as jax_numpy
import jax.scipy.optimize
import numpy as np
import pytest
import scipy.optimize

import plugjax
import plugjax.numpy as jnp
from plugjax.scipy.optimize import OptimizeResults, minimize

LBFGS = "l-bfgs-experimental-do-not-rely-on-this"


def rosenbrock(_):
    return lambda x: (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def himmelblau(_):
    return lambda x: (x[0] ** 2 + x[1] - 11) ** 2 + (x[0] + x[1] ** 2 - 7) ** 2


def matyas(_):
    return lambda x: 0.26 * (x**2).sum() - 0.48 * x[0] * x[1]


def beale(_):
    return lambda x: sum(
        (a - x[0] * (1 - x[1] ** (k + 1))) ** 2 for k, a in enumerate((1.5, 2.25, 2.625))
    )


def zakharov(np):
    def f(x):
        b = (0.5 * np.arange(1, x.size + 1) * x).sum()
        return (x**2).sum() + b**2 + b**4

    return f


def entropy(np):
    return lambda x: (x - np.log(x)).sum()


PROBLEMS = [
    (rosenbrock, [0.0, 0]),
    (rosenbrock, [-1.2, 1]),
    (rosenbrock, [1.3, 0.7, 0.8, 1.9, 1.2]),
    (himmelblau, [92, 0.001]),
    (matyas, [1.0, 2]),
    (beale, [1.0, 1]),
    (zakharov, [600.0, 700, 200, 100, 90, -1000]),
    (entropy, [5.0, 0.1]),
]


@pytest.mark.spread(2)
@pytest.mark.parametrize("x64", [False, True])
@pytest.mark.parametrize("method", ["BFGS", LBFGS])
@pytest.mark.parametrize(("problem", "start"), PROBLEMS)
def test_minima(problem, start, method, x64):
    with plugjax.enable_x64(x64):
        dtype = np.float64 if x64 else np.float32
        found = minimize(problem(jnp), np.array(start, dtype), method=method)
        with np.errstate(all="ignore"):
            wanted = scipy.optimize.minimize(problem(np), np.array(start), method="BFGS")
        # L-BFGS may stop without progress at the minimum.
        assert found.success or int(found.status) == 4
        assert found.x.dtype == found.fun.dtype == found.jac.dtype == dtype
        np.testing.assert_allclose(found.fun, wanted.fun, atol=1e-6)
        np.testing.assert_allclose(found.jac, 0, atol=1e-3)
        np.testing.assert_allclose(found.fun, problem(jnp)(found.x), atol=1e-5)


@pytest.mark.parametrize(("method", "problem"), [("BFGS", himmelblau), (LBFGS, matyas)])
def test_results_are_those_of_jax(method, problem):
    start = jax_numpy.array([92, 0.001] if problem is himmelblau else [1.0, 2.0])
    found = minimize(problem(jnp), np.asarray(start), method=method)
    wanted = jax.scipy.optimize.minimize(problem(jax_numpy), start, method=method)
    assert type(found) is OptimizeResults
    assert found._fields == wanted._fields
    for name, y, z in zip(found._fields, found, wanted, strict=True):
        if z is None:
            assert y is None
            continue
        assert (y.shape, y.dtype, y.weak_type) == (z.shape, z.dtype, z.weak_type), name
        np.testing.assert_allclose(y, z, rtol=2e-3, atol=1e-4)


def test_status():
    def run(fun, method, **options):
        found = minimize(fun, np.float32([-1.2, 1]), method=method, options=options)
        return int(found.status), int(found.nit), bool(found.success)

    assert run(rosenbrock(jnp), "bfgs", maxiter=3) == (1, 3, False)
    assert run(rosenbrock(jnp), LBFGS, maxiter=3) == (1, 3, False)
    assert run(rosenbrock(jnp), LBFGS, maxfun=4)[0] == 2
    assert run(rosenbrock(jnp), LBFGS, maxgrad=4)[0] == 3
    # Unbounded from below: steps grow until the search gives up.
    assert run(lambda x: x.sum(), "BFGS", line_search_maxiter=3)[0] == 5
    assert run(lambda x: x.sum(), LBFGS, maxls=3)[0] == 5
    # No step decreases it: the interval of the line search shrinks to nothing.
    assert run(lambda x: jnp.where(x[0] == np.float32(-1.2), x[0], jnp.nan), "BFGS")[0] == 3
    assert run(lambda x: (x * 0).sum(), "BFGS") == (0, 0, True)
    loose = minimize(rosenbrock(jnp), np.float32([-1.2, 1]), method="BFGS", tol=1.0)
    assert abs(loose.jac).max() > 1e-3


def test_arguments():
    found = minimize(
        lambda x, a, b: ((x - a) ** 2).sum() + b, np.ones(3, np.float32), (2.0, 5.0), method="BFGS"
    )
    np.testing.assert_allclose(found.x, 2, rtol=1e-5)
    np.testing.assert_allclose(found.fun, 5, rtol=1e-5)
    center = np.array([1 + 2j, -0.5j], np.complex64)
    found = minimize(lambda x: (abs(x - center) ** 2).sum(), 0 * center, method=LBFGS)
    np.testing.assert_allclose(found.x, center, atol=1e-4)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: minimize(matyas(jnp), np.ones(2, np.float32), method="newton"), ValueError),
        (lambda: minimize(matyas(jnp), np.ones(2, np.float32), 1, method="BFGS"), TypeError),
        (lambda: minimize(matyas(jnp), np.ones((2, 2), np.float32), method="BFGS"), ValueError),
        (lambda: minimize(matyas(jnp), [1.0, 2.0], method="BFGS"), TypeError),
        (lambda: minimize(matyas(jnp), np.ones(2, np.int32), method="BFGS"), TypeError),
        (
            lambda: minimize(matyas(jnp), np.ones(2, np.float32), method="BFGS", options={"x": 1}),
            TypeError,
        ),
    ],
)
def test_refused(call, error):
    with pytest.raises(error):
        call()


@pytest.mark.parametrize("method", ["BFGS", LBFGS])
def test_batches(method):
    starts = np.array([[-1.2, 1], [0, 0], [1.0, 1.0]], np.float32)
    found = plugjax.vmap(lambda x: minimize(rosenbrock(jnp), x, method=method))(starts)
    np.testing.assert_allclose(found.x, 1, atol=2e-3)
    assert found.nit.shape == (3,)
    assert int(found.nit[2]) == 0


@pytest.mark.spread(3)
def test_compiled_for_a_backend(on_backend):
    start = np.array([-1.2, 1], np.float32)
    found = plugjax.jit(lambda x: minimize(rosenbrock(jnp), x, method="BFGS"))(start)
    assert found.success
    np.testing.assert_allclose(found.x, 1, atol=2e-3)
