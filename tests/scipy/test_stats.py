"""Distributions and statistics against JAX and SciPy: values, edges, dtypes, derivatives, compiled for each backend."""

import importlib
import inspect

import jax
import jax.scipy.stats as theirs
import numpy as np
import pytest
import scipy.stats

import plugjax
import plugjax.numpy as jnp
from plugjax.scipy import stats as ours

NAN, INF = np.nan, np.inf
X = [-INF, -50, -3.2, -1, -0.5, 0, 0.25, 0.5, 1, 1.5, 2, 3, 7.5, 30, INF, NAN]
K = [-1, 0, 1, 2, 3, 5, 9, 20, 2.5, NAN]
Q = [-0.1, 1e-5, 0.02, 0.3, 0.5, 0.77, 0.999, 1.1, NAN]
P = [-0.1, 0, 0.2, 0.7, 1, 1.2]
LOC, SCALE = [0, 1, -0.5], [1, 2.5, 0.3]

# Samplers of the arguments before loc and scale, and which of these two exist.
CASES = {
    **dict.fromkeys(
        ["norm", "cauchy", "laplace", "logistic", "expon", "uniform", "gumbel_l", "gumbel_r"],
        ([X], "loc scale"),
    ),
    "beta": ([X, [0.5, 1, 2.5, -1], [0.7, 1, 6, 0]], "loc scale"),
    "gamma": ([X, [0.4, 1, 3, 20]], "loc scale"),
    "chi2": ([X, [0.5, 1, 2, 7, 30]], "loc scale"),
    "pareto": ([X, [0.5, 2, 7]], "loc scale"),
    "t": ([X, [0.5, 1, 4, 60]], "loc scale"),
    "truncnorm": ([X, [-3, -0.5, 1, 4], [-2, 0.6, 3, 9]], "loc scale"),
    "gennorm": ([X, [0.5, 1, 2, 4]], ""),
    "vonmises": ([X, [-1, 0, 0.3, 2, 50]], ""),
    "wrapcauchy": ([X, [-0.1, 0, 0.3, 0.9, 1]], ""),
    "bernoulli": ([K, P], "loc"),
    "geom": ([K, P], "loc"),
    "poisson": ([K, [0, 0.3, 4, 30]], "loc"),
    "binom": ([K, [0, 1, 5, 30], P], "loc"),
    "nbinom": ([K, [1, 3, 7.5], P], "loc"),
    "betabinom": ([K, [0, 1, 6, 30], [0.5, 2, -1], [0.3, 4]], "loc"),
}
# Inside of the support and away from kinks, where derivatives are compared.
INSIDE = {
    "beta": (0.4, 2.3, 1.7), "gamma": (1.3, 2.2), "chi2": (2.1, 3.3), "pareto": (2.7, 1.6), "t": (0.8, 3.1),
    "truncnorm": (0.4, -0.7, 1.9), "gennorm": (0.7, 1.8), "vonmises": (0.6, 1.4), "wrapcauchy": (1.1, 0.4),
    "bernoulli": (1.0, 0.3), "geom": (3.0, 0.3), "poisson": (2.0, 1.7), "binom": (2.0, 5.4, 0.3),
    "nbinom": (2.0, 3.6, 0.3), "betabinom": (2.0, 5.0, 1.3, 0.8), "expon": (0.7,), "uniform": (0.4,),
}  # fmt: skip
DISCRETE = {"bernoulli", "geom", "poisson", "binom", "nbinom", "betabinom"}


def functions(name):
    module = importlib.import_module(f"jax.scipy.stats.{name}")
    public = [n for n in dir(module) if not n.startswith("_") and callable(getattr(module, n))]
    return [n for n in public if n != "entropy"]


def sample(name, function, count=48):
    """Arguments drawn from the lists of a case, always as many, so that JAX compiles few programs."""
    lists, rest = CASES[name]
    lists = [Q if function in {"ppf", "isf"} else lists[0], *lists[1:]]
    if not (name == "bernoulli" and function in {"cdf", "ppf"}):
        lists = lists + [LOC] * ("loc" in rest) + [SCALE] * ("scale" in rest)
    rng = np.random.default_rng(0)
    drawn = [rng.choice(np.array(v, np.float64), count) for v in lists]
    drawn[0] = np.resize(lists[0], count)
    return drawn


def both(name, function):
    return (getattr(getattr(module, name), function) for module in (ours, theirs))


@pytest.mark.spread(6)
@pytest.mark.parametrize("name", CASES)
def test_values_and_edges_are_those_of_jax_or_scipy(name):
    """SciPy's where JAX loses digits, or gives nan."""
    # JAX takes a second to compile each of the functions of the truncated normal distribution.
    for function in functions(name) if name != "truncnorm" else ("logpdf", "logcdf"):
        args = [v.astype(np.float32) for v in sample(name, function)]
        mine, other = both(name, function)
        found, expected = np.asarray(mine(*args)), np.asarray(other(*args))
        with np.errstate(all="ignore"):
            reference = getattr(getattr(scipy.stats, name), function)(*map(np.float64, args))
        near = [
            np.isclose(found, v, rtol=3e-5, atol=1e-6, equal_nan=True)
            for v in (expected, reference)
        ]
        near[1][np.isnan(args[0]) | (np.isnan(expected) & np.isnan(reference))] = True
        wrong = ~(near[0] | near[1])
        # A logarithm near 0 is as accurate as the probability near 1.
        wrong &= ~(np.isclose(found, expected, atol=3e-5) & function.startswith("log"))
        # Below, the probability is subnormal.
        wrong &= ~((found < -85) & (reference < -85))
        assert not wrong.any(), (function, [v[wrong] for v in (*args, found, expected)])
        assert np.isnan(found[np.isnan(args[0])]).all(), function


@pytest.mark.parametrize("name", CASES)
def test_float64_has_the_digits_of_scipy(name):
    for function in functions(name):
        if name in DISCRETE and function == "ppf":
            continue  # SciPy's lies below the support at 0.
        args = sample(name, function, 160)
        if name in DISCRETE:
            args = [
                np.trunc(v) if i in {0, len(args) - 1} and len(args) > 2 else v
                for i, v in enumerate(args)
            ]
        with np.errstate(all="ignore"):
            expected = getattr(getattr(scipy.stats, name), function)(*args)
        known = np.isfinite(expected) & (args[-1] != 0 if name == "vonmises" else True)
        with plugjax.enable_x64(True):
            found = getattr(getattr(ours, name), function)(*args)
        np.testing.assert_allclose(
            np.asarray(found)[known], expected[known], rtol=1e-10, atol=1e-14, err_msg=function
        )


def test_far_quantiles_of_the_cauchy_distribution():
    q = np.float32([0, 1e-20, 1e-6, 1])
    np.testing.assert_allclose(
        ours.cauchy.ppf(q), scipy.stats.cauchy.ppf(q.astype(float)), rtol=1e-5
    )
    np.testing.assert_allclose(ours.cauchy.isf(q), -ours.cauchy.ppf(q))


def test_signatures_and_dtypes():
    for name in CASES:
        for function in functions(name):
            mine, other = both(name, function)
            parameters = inspect.signature(mine).parameters.values()
            expected = inspect.signature(other).parameters.values()
            assert [(p.name, p.default) for p in parameters] == [
                (p.name, p.default) for p in expected
            ]
            count = len(sample(name, function))
            for x64, args in (
                (False, [0.5] * count),
                (False, [np.ones(2, np.float32)] * count),
                (False, [np.ones((2, 1), np.int16), *[np.ones(3, np.float32)] * (count - 1)]),
                (False, [np.ones(2, jnp.bfloat16)] * count),
                (True, [np.ones(2, np.float32)] * count),
                (True, [np.ones(2, np.float64), *[1] * (count - 1)]),
            ):
                with plugjax.enable_x64(x64), jax.enable_x64(x64):
                    assert kind(plugjax, mine, args) == kind(jax, other, args), (name, function)


def kind(framework, function, args):
    try:
        found = framework.eval_shape(function, *args)
    except TypeError:
        return TypeError
    return found.shape, found.dtype, found.weak_type


@pytest.mark.parametrize("name", CASES)
def test_derivatives(name):
    step = 1e-6
    with plugjax.enable_x64(True):
        for function in functions(name):
            args = list(INSIDE.get(name, (0.7,)))
            if function in {"ppf", "isf"}:
                args[0] = 0.4
            smooth = [i for i in range(len(args)) if name not in DISCRETE or i > 0]
            if name == "beta" and "pdf" not in function:
                smooth = [0]  # As in JAX.
            if name == "bernoulli" and function == "ppf":
                continue
            f = getattr(getattr(ours, name), function)
            found = plugjax.grad(f, tuple(smooth))(*args)
            for i, slope in zip(smooth, found, strict=True):
                up, down = list(args), list(args)
                up[i], down[i] = args[i] + step, args[i] - step
                expected = (float(f(*up)) - float(f(*down))) / (2 * step)
                np.testing.assert_allclose(slope, expected, rtol=1e-6, atol=1e-8, err_msg=function)


def test_the_slope_of_a_location_and_a_scale():
    def total(x, loc, scale):
        return sum(
            getattr(ours, name).logpdf(x, loc, scale).sum()
            for name in ("norm", "cauchy", "laplace", "logistic", "gumbel_l", "expon")
        )

    x = np.array([0.9, 1.4, 3.0])
    with plugjax.enable_x64(True):
        found = plugjax.grad(total, (1, 2))(x, 0.3, 1.7)
        for i, slope in enumerate(found):
            moved = [np.array([0.3, 1.7]) + s * 1e-6 * np.eye(2)[i] for s in (1, -1)]
            up, down = (float(total(x, *v)) for v in moved)
            np.testing.assert_allclose(slope, (up - down) / 2e-6, rtol=1e-6)


def test_outside_of_the_support_the_slope_is_zero():
    x = np.float32([-1.0, 0.5])
    for slope in (
        plugjax.grad(lambda a: ours.gamma.pdf(x, a).sum())(2.0),
        plugjax.grad(lambda a: ours.beta.pdf(x, a, 2.0).sum())(2.0),
        plugjax.grad(lambda b: ours.pareto.pdf(x, b).sum())(2.0),
    ):
        assert np.isfinite(slope)


@pytest.mark.spread(3)
def test_compiled_for_a_backend(on_backend):
    q, k = np.float32([0.1, 0.5, 0.8]), np.float32([0, 1, 3])
    points, cov = np.float32([[0.1, -0.4], [1.2, 0.3]]), np.float32([[2, 0.3], [0.3, 1]])

    def several(q, k, points, cov, p, one):
        return [
            ours.norm.ppf(q),
            ours.truncnorm.logcdf(q, -one, 2 * one),
            ours.cauchy.ppf(q),
            ours.binom.logpmf(k, 4 * one, p),
            ours.multivariate_normal.logpdf(points, points[0], cov),
            ours.rankdata(k),
            ours.mode(k).count,
        ]

    args = (q, k, points, cov, np.float32(0.3), np.float32(1))
    found = plugjax.jit(several)(*args)
    with plugjax.default_device("numpy"):
        for y, z in zip(found, several(*args), strict=True):
            np.testing.assert_allclose(y, z, rtol=5e-5, atol=2e-5)


def test_gumbel_distributions_have_no_density_at_infinity(on_backend):
    x = np.float32([-np.inf, np.inf])
    for f in (ours.gumbel_l.pdf, ours.gumbel_r.pdf):
        np.testing.assert_array_equal(plugjax.jit(f)(x), [0, 0])


def test_vmap_and_jit_give_the_same():
    x = np.linspace(0.1, 0.9, 5).astype(np.float32)
    for name in ("beta", "gamma", "t", "truncnorm", "binom"):
        rest = INSIDE[name][1:]
        f = getattr(getattr(ours, name), "logpmf" if name in DISCRETE else "logpdf")
        whole = f(x, *rest)
        np.testing.assert_allclose(plugjax.vmap(lambda v, f=f, rest=rest: f(v, *rest))(x), whole)
        np.testing.assert_allclose(plugjax.jit(f)(x, *rest), whole, rtol=1e-6)


def test_entropy_of_the_poisson_distribution():
    def exact(mu):
        logarithms = scipy.stats.poisson.logpmf(np.arange(mu + 40 * mu**0.5 + 60), mu)
        return -(np.exp(logarithms) * np.where(logarithms > -1000, logarithms, 0)).sum()

    mu = np.float32([0, 0.1, 1, 5, 19.9, 20, 45, 99, 101, 1e4])
    expected = [exact(float(m)) for m in mu]
    np.testing.assert_allclose(ours.poisson.entropy(mu), expected, rtol=3e-6)
    assert ours.poisson.entropy(mu, np.zeros((2, 1))).shape == (2, mu.size)
    assert np.isnan(ours.poisson.entropy(np.float32([-1, np.nan]))).all()
    with plugjax.enable_x64(True):
        found = ours.poisson.entropy(mu.astype(np.float64))
    # The sum of the last one loses digits.
    np.testing.assert_allclose(found[:-1], expected[:-1], rtol=1e-12)


def test_entropy_is_differentiated():
    with plugjax.enable_x64(True):
        for mu in (0.7, 30.0, 300.0):
            f = ours.poisson.entropy
            slope = (float(f(mu + 1e-5)) - float(f(mu - 1e-5))) / 2e-5
            np.testing.assert_allclose(plugjax.grad(f)(mu), slope, rtol=1e-6)


def test_multinomial():
    x, p = np.array([[1, 2, 0], [3, 0, 0], [1, 1, 0]]), np.array([0.2, 0.5, 0.3], np.float32)
    expected = scipy.stats.multinomial.logpmf(x, 3, p.astype(float) / p.astype(float).sum())
    np.testing.assert_allclose(ours.multinomial.logpmf(x, 3, p), expected, rtol=1e-5)
    np.testing.assert_allclose(
        ours.multinomial.pmf(x[0], 3, p), theirs.multinomial.pmf(x[0], 3, p), rtol=1e-5
    )


def test_dirichlet():
    alpha = np.float32([1.5, 0.7, 3])
    x = np.float32([[0.2, 0.5, 0.6], [0.3, 0.1, 0.6], [0.5, 0.4, -0.2]])
    for rows in (x, x[:2], x[:, 0], x[:2, 1]):
        found, expected = ours.dirichlet.logpdf(rows, alpha), theirs.dirichlet.logpdf(rows, alpha)
        np.testing.assert_allclose(found, expected, rtol=1e-5)
    inside = x[:, 0].astype(float) / x[:, 0].astype(float).sum()
    np.testing.assert_allclose(
        ours.dirichlet.pdf(x[:, 0], alpha), scipy.stats.dirichlet.pdf(inside, alpha), rtol=1e-5
    )


def test_multivariate_normal():
    rng = np.random.default_rng(0)
    root = rng.normal(size=(4, 3, 3))
    covs = root @ root.swapaxes(-1, -2) + np.eye(3)
    x, mean = rng.normal(size=(5, 4, 3)), rng.normal(size=3)
    with plugjax.enable_x64(True):
        one = ours.multivariate_normal.logpdf(x, mean, covs[0])
        np.testing.assert_allclose(
            one, scipy.stats.multivariate_normal.logpdf(x, mean, covs[0]), rtol=1e-12
        )
        each = ours.multivariate_normal.logpdf(x, mean, covs)
        for i, cov in enumerate(covs):
            expected = scipy.stats.multivariate_normal.logpdf(x[:, i], mean, cov)
            np.testing.assert_allclose(each[:, i], expected, rtol=1e-12)
        np.testing.assert_allclose(
            ours.multivariate_normal.pdf(x, mean, 2.0),
            scipy.stats.multivariate_normal.pdf(x, mean, 2.0 * np.eye(3)),
            rtol=1e-12,
        )
        np.testing.assert_allclose(
            ours.multivariate_normal.logpdf(x, 1.0, 4.0), scipy.stats.norm.logpdf(x, 1, 2)
        )
        slope = plugjax.grad(lambda c: ours.multivariate_normal.logpdf(x, mean, c).sum())(covs[0])
        inverse = np.linalg.inv(covs[0])
        w = (x - mean).reshape(-1, 3) @ inverse
        np.testing.assert_allclose(slope, 0.5 * (w.T @ w - len(w) * inverse), rtol=1e-10)


@pytest.mark.parametrize("axis", [0, 1, -1, None])
@pytest.mark.parametrize("keepdims", [False, True])
def test_mode(axis, keepdims):
    a = np.random.default_rng(1).integers(0, 3, (5, 4))
    a = a.astype(np.float32)
    a[:3, 1] = np.nan
    found, expected = ours.mode(a, axis, keepdims=keepdims), theirs.mode(a, axis, keepdims=keepdims)
    for y, z in zip(found, expected, strict=True):
        assert (y.shape, y.dtype) == (z.shape, z.dtype)
        np.testing.assert_array_equal(y, z)


def test_mode_of_nothing():
    for axis in (0, 1):
        found, expected = (m.mode(np.zeros((0, 2), np.int32), axis) for m in (ours, theirs))
        for y, z in zip(found, expected, strict=True):
            assert (y.shape, y.dtype) == (z.shape, z.dtype)
            np.testing.assert_array_equal(y, z)


@pytest.mark.parametrize("method", ["average", "min", "max", "dense", "ordinal"])
def test_rankdata(method):
    a = np.float32([[3, 1, 1, 2], [5, 5, 5, 0], [1, 2, np.nan, 4]])
    for values, axis in ((a[:2], None), (a[:2], 0), (a, 1), (a, None), (a[0, :0], None)):
        found = ours.rankdata(values, method, axis=axis)
        expected = scipy.stats.rankdata(values, method, axis=axis)
        assert found.dtype == np.float32
        np.testing.assert_array_equal(found, expected)


def test_sem():
    a = np.random.default_rng(2).normal(size=(5, 4)).astype(np.float32)
    a[1, 2] = np.nan
    for settings in ({}, {"axis": 1, "ddof": 0}, {"axis": None, "keepdims": True}):
        for policy in ("propagate", "omit"):
            found, expected = (m.sem(a, nan_policy=policy, **settings) for m in (ours, theirs))
            assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
            np.testing.assert_allclose(found, expected, rtol=1e-5)


class TestGaussianKDE:
    DATA = np.random.default_rng(3).normal(size=(2, 20)).astype(np.float32)
    WEIGHTS = np.random.default_rng(4).uniform(0.5, 1, 20).astype(np.float32)

    @pytest.mark.parametrize("method", ["scott", "silverman", 0.6, lambda estimate: 0.5, None])
    @pytest.mark.parametrize("weighted", [False, True])
    def test_values(self, method, weighted):
        weights = self.WEIGHTS if weighted else None
        mine, reference = (m.gaussian_kde(self.DATA, method, weights) for m in (ours, scipy.stats))
        points = np.float32([[0.3, -1, 8], [0.1, 0.5, -7]])
        np.testing.assert_allclose(mine(points), reference(points), rtol=1e-4, atol=1e-30)
        np.testing.assert_allclose(mine.logpdf(points), reference.logpdf(points), rtol=1e-4)
        np.testing.assert_allclose(mine.evaluate(points[:, 0]), reference(points[:, 0]), rtol=1e-4)
        np.testing.assert_allclose(mine.neff, reference.neff, rtol=1e-5)
        mean, cov = np.float32([0.5, -0.2]), np.float32([[1, 0.3], [0.3, 2]])
        np.testing.assert_allclose(
            mine.integrate_gaussian(mean, cov), reference.integrate_gaussian(mean, cov), rtol=1e-4
        )
        other, other_reference = (m.gaussian_kde(self.DATA[:, :7] + 1) for m in (ours, scipy.stats))
        np.testing.assert_allclose(
            mine.integrate_kde(other), reference.integrate_kde(other_reference), rtol=1e-4
        )

    def test_one_dimension(self):
        mine, reference = (m.gaussian_kde(self.DATA[0]) for m in (ours, scipy.stats))
        np.testing.assert_allclose(
            mine.integrate_box_1d(-0.5, 0.7), reference.integrate_box_1d(-0.5, 0.7), rtol=1e-5
        )

    def test_draws_the_numbers_of_jax(self):
        mine, other = (m.gaussian_kde(self.DATA) for m in (ours, theirs))
        found = mine.resample(plugjax.random.key(5), (6,))
        np.testing.assert_allclose(
            found, other.resample(jax.random.key(5), (6,)), rtol=1e-4, atol=1e-5
        )
        assert mine.resample(plugjax.random.key(5), (3, 4)).shape == (2, 3, 4)

    def test_is_a_pytree_and_immutable(self):
        estimate = ours.gaussian_kde(self.DATA)
        points = np.zeros((2, 1), np.float32)
        value, slope = plugjax.value_and_grad(lambda e: e.logpdf(points).sum())(estimate)
        assert type(slope) is ours.gaussian_kde
        np.testing.assert_allclose(
            plugjax.jit(lambda e: e.logpdf(points).sum())(estimate), value, rtol=1e-6
        )
        with pytest.raises(AttributeError):
            estimate.neff = 1.0


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda m: m.norm.logpdf([1.0]), TypeError),
        (lambda m: m.norm.cdf(np.float16(1)), TypeError),
        (lambda m: m.norm.ppf(1), TypeError),
        (lambda m: m.multinomial.logpmf(np.ones(2), 2, np.ones(2)), ValueError),
        (lambda m: m.dirichlet.logpdf(np.ones(2), np.ones((2, 1))), ValueError),
        (lambda m: m.dirichlet.logpdf(np.ones(4), np.ones(2)), ValueError),
        (
            lambda m: m.multivariate_normal.logpdf(np.ones(2), np.ones(2), np.ones((3, 3))),
            ValueError,
        ),
        (lambda m: m.multivariate_normal.logpdf(1.0, 1.0, 1.0, True), NotImplementedError),
        (lambda m: m.mode(np.ones(2), nan_policy="other"), ValueError),
        (lambda m: m.mode(np.ones(2), nan_policy="omit"), NotImplementedError),
        (lambda m: m.mode(np.ones(2), axis=1), ValueError),
        (lambda m: m.rankdata(np.ones(2), "other"), ValueError),
        (lambda m: m.rankdata(np.ones(2), nan_policy="raise"), NotImplementedError),
        (lambda m: m.sem(np.ones(2), nan_policy="raise"), ValueError),
        (lambda m: m.gaussian_kde(1.0), ValueError),
        (lambda m: m.gaussian_kde(np.ones(3) * 1j), NotImplementedError),
        (lambda m: m.gaussian_kde(np.arange(3.0), "other"), ValueError),
        (lambda m: m.gaussian_kde(np.arange(3.0), weights=np.ones(2)), ValueError),
        (lambda m: m.gaussian_kde(np.arange(3.0))(np.ones((2, 2))), ValueError),
        (lambda m: m.gaussian_kde(np.arange(3.0)).integrate_gaussian(np.ones(2), 1.0), ValueError),
        (lambda m: m.gaussian_kde(np.arange(3.0)).integrate_box_1d(np.ones(2), 1.0), ValueError),
        (lambda m: m.gaussian_kde(np.arange(3.0)).integrate_box(0, 1), NotImplementedError),
        (lambda m: m.gaussian_kde(np.arange(3.0)).set_bandwidth(), NotImplementedError),
    ],
)
def test_refused_as_in_jax(call, error):
    for module in (ours, theirs):
        with pytest.raises(error):
            call(module)


def test_module_lists_its_distributions():
    assert {*CASES, "dirichlet", "multinomial", "multivariate_normal"} <= set(dir(ours))
    with pytest.raises(AttributeError):
        ours.zipf  # noqa: B018
