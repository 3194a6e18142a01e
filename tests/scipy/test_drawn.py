"""`plugjax.scipy` on drawn dtypes and shapes: values against SciPy, the rest against JAX (`tests/drawn.py`)."""

import jax.scipy.stats
import pytest
import scipy.special
import scipy.stats
from hypothesis import assume, given, strategies as st

from tests.drawn import agree, arrays, axes_of, stretchable

REALS = ["float32", "float16", "bfloat16", "int32", "int8", "uint8", "bool"]

# Domains in which functions neither overflow nor cancel.
UNARY = {
    "gammaln": (0.1, 3), "digamma": (0.1, 3), "erf": (-3, 3), "erfc": (-3, 3), "erfinv": (-0.9, 0.9),
    "expit": (-3, 3), "logit": (0.1, 0.9), "ndtr": (-3, 3), "ndtri": (0.1, 0.9), "log_ndtr": (-3, 3),
    "i0": (-3, 3), "i0e": (-3, 3), "i1": (-3, 3), "i1e": (-3, 3), "entr": (-1, 3), "spence": (0.1, 3),
    "gamma": (0.5, 3), "loggamma": (0.5, 3), "factorial": (0, 3), "expi": (0.5, 3),
}  # fmt: skip
BINARY = {
    "xlogy": (0.1, 3), "xlog1py": (0.1, 3), "betaln": (0.5, 3), "gammainc": (0.5, 3), "gammaincc": (0.5, 3),
    "kl_div": (0.1, 3), "rel_entr": (0.1, 3), "beta": (0.5, 3), "poch": (0.5, 3), "zeta": (1.5, 3),
}  # fmt: skip
DENSITIES = {
    "norm": (-3, 3), "expon": (0, 3), "cauchy": (-3, 3), "laplace": (-3, 3), "logistic": (-3, 3), "uniform": (0, 0.9),
}  # fmt: skip


@pytest.mark.parametrize("name", UNARY)
@given(data=st.data())
def test_special_functions_of_one(name, data):
    x = data.draw(arrays(REALS, low=UNARY[name][0], high=UNARY[name][1]))
    oracle = getattr(scipy.special, name, None) if x.dtype == "float32" else None
    agree(lambda _, j, x: getattr(j.scipy.special, name)(x), oracle, x)


@pytest.mark.parametrize("name", BINARY)
@given(data=st.data())
def test_special_functions_of_two(name, data):
    low, high = BINARY[name]
    x = data.draw(arrays(REALS, low=low, high=high))
    y = data.draw(arrays(REALS, st.just(x.shape), low=low, high=high))
    oracle = getattr(scipy.special, name) if x.dtype == y.dtype == "float32" else None
    agree(lambda _, j, x, y: getattr(j.scipy.special, name)(x, y), oracle, x, y)


@pytest.mark.parametrize("name", ["xlogy", "betaln", "zeta", "kl_div"])
@given(data=st.data())
def test_shapes_that_are_stretched(name, data):
    x, y = data.draw(stretchable(["float32", "int32"]))
    agree(lambda _, j, x, y: getattr(j.scipy.special, name)(x, y), None, x, y)


# Functions of several arguments, some of them integers, and functions with complex or several
# results.
OTHERS = {
    "dawsn": lambda s, x, y: s.dawsn(x),
    "erfcx": lambda s, x, y: s.erfcx(x),
    "exp1": lambda s, x, y: s.exp1(x),
    "gammasgn": lambda s, x, y: s.gammasgn(-x),
    "sici": lambda s, x, y: s.sici(x),
    "fresnel": lambda s, x, y: s.fresnel(x),
    "expn": lambda s, x, y: s.expn(2, x),
    "polygamma": lambda s, x, y: s.polygamma(2, x),
    "multigammaln": lambda s, x, y: s.multigammaln(x + 2, 2),
    "comb": lambda s, x, y: s.comb(x + 3, y),
    "boxcox": lambda s, x, y: s.boxcox(x, y),
    "boxcox1p": lambda s, x, y: s.boxcox1p(x, y),
    "owens_t": lambda s, x, y: s.owens_t(x, y),
    "betainc": lambda s, x, y: s.betainc(x, y, 0.4),
    "hyp1f1": lambda s, x, y: s.hyp1f1(x, y, 0.7),
    "hyp2f1": lambda s, x, y: s.hyp2f1(x, y, 2.5, 0.3),
}


@pytest.mark.spread(6)
@pytest.mark.parametrize("name", OTHERS)
@given(data=st.data())
def test_other_special_functions(name, data):
    dtypes = ["float32", "float32", "float16", "bfloat16"]
    x = data.draw(arrays(dtypes, low=0.5, high=3))
    y = data.draw(arrays([x.dtype.name], st.just(x.shape), low=0.5, high=3))
    f = OTHERS[name]
    known = x.dtype == "float32" and hasattr(scipy.special, name)
    oracle = (lambda x, y: f(scipy.special, x, y)) if known else None
    agree(lambda _, j, x, y: f(j.scipy.special, x, y), oracle, x, y, tolerance=5)


@given(data=st.data())
def test_logsumexp(data):
    x = data.draw(arrays(["float32", "float16", "int8", "complex64"]))
    axis, keepdims = data.draw(axes_of(x.ndim)), data.draw(st.booleans())
    options = {"axis": axis, "keepdims": keepdims}
    oracle = lambda x: scipy.special.logsumexp(x, **options)  # noqa: E731
    agree(
        lambda _, j, x: j.scipy.special.logsumexp(x, **options),
        oracle if x.dtype == "float32" and x.size else None,
        x,
    )


@given(data=st.data())
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax(name, data):
    x = data.draw(arrays(["float32", "float16", "bfloat16"]))
    assume(x.size)
    axis = data.draw(axes_of(x.ndim, several=False))
    # All elements together, unless an axis is given; `nn.softmax` uses the last one.
    for options in ({}, {"axis": axis}):
        agree(
            lambda _, j, x, o=options: getattr(j.scipy.special, name)(x, **o),
            lambda x, o=options: getattr(scipy.special, name)(x, **o),
            x,
        )
    agree(
        lambda _, j, x: getattr(j.nn, name)(x, axis=axis),
        lambda x: getattr(scipy.special, name)(x, axis=axis),
        x,
    )


@pytest.mark.parametrize("method", ["pdf", "logpdf", "cdf", "sf"])
@pytest.mark.parametrize("name", DENSITIES)
@given(data=st.data())
def test_densities(name, method, data):
    x = data.draw(arrays(REALS, low=DENSITIES[name][0], high=DENSITIES[name][1]))  # fmt: skip
    oracle = getattr(getattr(scipy.stats, name), method) if x.dtype == "float32" else None
    agree(lambda _, j, x: getattr(getattr(j.scipy.stats, name), method)(x), oracle, x)


# Bounds of the drawn point and of each parameter.
FAMILIES = {
    "beta": [(0.1, 0.9), (0.5, 3), (0.5, 3)],
    "chi2": [(0.1, 6), (0.5, 5)],
    "gamma": [(0.1, 6), (0.5, 5)],
    "gennorm": [(-3, 3), (0.5, 4)],
    "pareto": [(1.1, 5), (0.5, 4)],
    "t": [(-3, 3), (0.5, 6)],
    "truncnorm": [(-0.4, 0.4), (-2, -0.5), (0.5, 2)],
    "vonmises": [(-3, 3), (0.5, 4)],
    "wrapcauchy": [(0.1, 6), (0.1, 0.9)],
    "gumbel_l": [(-3, 3), (-1, 1), (0.5, 2)],
    "gumbel_r": [(-3, 3), (-1, 1), (0.5, 2)],
    "norm": [(-3, 3), (-1, 1), (0.5, 2)],
    "logistic": [(-3, 3), (-1, 1), (0.5, 2)],
    "uniform": [(-1, 1), (-3, -2), (5, 6)],
    "bernoulli": [(0, 1), (0.1, 0.9)],
    "poisson": [(0, 5), (0.5, 4)],
    "geom": [(1, 5), (0.1, 0.9)],
    "nbinom": [(0, 5), (1, 4), (0.1, 0.9)],
    "binom": [(0, 3), (3, 6), (0.1, 0.9)],
    "betabinom": [(0, 3), (3, 6), (0.5, 3), (0.5, 3)],
}
COUNTED = {"bernoulli": 1, "poisson": 1, "geom": 1, "nbinom": 2, "binom": 2, "betabinom": 2}


METHODS = ["pdf", "logpdf", "pmf", "logpmf", "cdf", "logcdf", "sf", "logsf"]


@pytest.mark.spread(8)
@pytest.mark.parametrize(
    ("name", "method"),
    [(n, m) for n in FAMILIES for m in METHODS if hasattr(getattr(jax.scipy.stats, n), m)],
)
@given(data=st.data())
def test_families_of_distributions(name, method, data):
    """Parameters that are arrays, some of them stretched."""
    dtype = data.draw(st.sampled_from(["float32", "float32", "float16"]))
    shape = data.draw(st.sampled_from([(), (3,), (2, 3)]))
    args = []
    for position, (low, high) in enumerate(FAMILIES[name]):
        own = shape if position == 0 or data.draw(st.booleans()) else shape[1:]
        whole = position < COUNTED.get(name, 0)
        x = data.draw(arrays(["int32" if whole else dtype], st.just(own), low=low, high=high))
        args.append(x)
    known = dtype == "float32" and hasattr(getattr(scipy.stats, name), method)
    oracle = getattr(getattr(scipy.stats, name), method) if known else None
    agree(
        lambda _, j, *xs: getattr(getattr(j.scipy.stats, name), method)(*xs),
        oracle,
        *args,
        tolerance=10,
    )
