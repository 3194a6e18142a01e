"""Strict promotion: accepted and refused pairs, against JAX."""

import itertools
import operator

import jax
import jax.scipy.signal
import jax.scipy.sparse.linalg
import jax.scipy.stats
import numpy as np
import pytest

import plugjax
import plugjax.scipy.signal
import plugjax.scipy.sparse.linalg
import plugjax.scipy.stats

RNG = np.random.default_rng(0)
DTYPES = ["bool", "int32", "uint8", "float32", "complex64"]
NUMBERS = {"True": True, "2": 2, "0.5": 0.5, "1j": 1j}
PAIRS = [*itertools.combinations_with_replacement(DTYPES, 2), *itertools.product(DTYPES, NUMBERS)]

BINARY = "add true_divide power equal bitwise_or matmul append setdiff1d where"
UNARY = "mean std median average unique exp angle cov gradient packbits histogram nan_to_num"
FFT = "fft irfft hfft fftn rfftn"
LINALG = "eig eigh pinv slogdet svd"
MADE = {
    "mgrid of a step": lambda m: m.numpy.mgrid[0:3:0.5, 0:2],
    "mgrid of a number": lambda m: m.numpy.mgrid[0:3:4j, 0:2],
    "ogrid": lambda m: m.numpy.ogrid[0:3:0.5, 0:2],
    "r_": lambda m: m.numpy.r_[1:3, 0.5],
    "arange": lambda m: m.numpy.arange(0, 3.0, 1),
    "linspace": lambda m: m.numpy.linspace(m.numpy.int32(0), 1, 3),
    "geomspace": lambda m: m.numpy.geomspace(1, 2.0, 3),
    "array": lambda m: m.numpy.array([1, 2.5]),
    "array of arrays": lambda m: m.numpy.array([m.numpy.int32(1), m.numpy.float32(2.5)]),
    "stack": lambda m: m.numpy.stack([m.numpy.arange(3), m.numpy.ones(3)]),
    "select": lambda m: m.numpy.select([np.array([True, False])], [m.numpy.arange(2)], 0.5),
    "polyfit": lambda m: m.numpy.polyfit(m.numpy.arange(4.0), m.numpy.arange(4.0), 1),
    "weak bools": lambda m: m.lax.full_like(True, True) | m.numpy.array([True]),
    "weak bool": lambda m: m.numpy.logical_and(m.lax.full((), True), True),
    "bool carry": lambda m: m.lax.scan(lambda c, x: (c & True, x), True, m.numpy.ones(2)),
    "bool in a loop": lambda m: m.lax.fori_loop(0, 2, lambda i, c: c | (i > 0), False),
    "weights of a histogram": lambda m: m.numpy.histogram(m.numpy.ones(3), 3, weights=np.arange(3)),
    "weights of cov": lambda m: m.numpy.cov(m.numpy.ones((2, 3)), fweights=np.arange(1, 4)),
    "set": lambda m: m.numpy.ones(3).at[0].set(1),
    "set of an array": lambda m: m.numpy.ones(3).at[0].set(m.numpy.int32(1)),
    "hessian": lambda m: m.hessian(lambda x: (x**3).sum())(m.numpy.ones(3)),
}


def _operand(name, shape=(3, 3)):
    if name in NUMBERS:
        return NUMBERS[name]
    return np.asarray(jax.numpy.asarray(RNG.uniform(0.6, 2.4, shape)).astype(name))


def _outcome(package, call):
    """The dtypes of the results, "refused" by promotion, or ``None`` if refused for another reason."""
    with package.numpy_dtype_promotion("strict"):
        try:
            leaves = package.tree.leaves(call(package))
        except (ValueError, TypeError, NotImplementedError) as error:
            return "refused" if "promotion" in str(error) else None
    return [str(x.dtype) for x in leaves]


def _same(call):
    theirs = _outcome(jax, call)
    if theirs is not None:
        assert _outcome(plugjax, call) == theirs


@pytest.mark.spread(6)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", BINARY.split())
def test_functions_of_two_arrays(name):
    for first, second in PAIRS:
        operands = _operand(first), _operand(second)
        if name == "where":
            operands = np.array(True), *operands
        _same(lambda m, xs=operands: getattr(m.numpy, name)(*xs))


@pytest.mark.spread(2)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", UNARY.split())
def test_functions_of_one_array(name):
    for dtype in DTYPES:
        x = _operand(dtype)
        _same(lambda m, x=x: getattr(m.numpy, name)(x))


@pytest.mark.filterwarnings("ignore")
def test_roots():
    for dtype in ["int32", "uint8", "float32", "complex64"]:
        x = _operand(dtype, (4,))
        _same(lambda m, x=x: m.numpy.roots(x))


@pytest.mark.parametrize("name", FFT.split())
def test_transforms(name):
    for dtype in ["bool", "int32", "float32", "complex64"]:
        x = _operand(dtype, (4, 4))
        _same(lambda m, x=x: getattr(m.numpy.fft, name)(x))


@pytest.mark.parametrize("name", LINALG.split())
def test_linear_algebra(name):
    for dtype in ["int32", "float32", "complex64"]:
        x = _operand(dtype)
        _same(lambda m, x=x: getattr(m.numpy.linalg, name)(x + x.T))


@pytest.mark.parametrize("name", MADE)
def test_what_is_made_and_updated(name):
    _same(MADE[name])


@pytest.mark.parametrize("preferred", [None, "int32", "float32"])
def test_products(preferred):
    options = {"preferred_element_type": preferred and np.dtype(preferred)}
    for first, second in itertools.product(["bool", "int32", "float32"], repeat=2):
        xs = _operand(first), _operand(second)
        _same(lambda m, xs=xs: m.numpy.dot(*xs, **options))
        _same(lambda m, xs=xs: m.numpy.matmul(*xs, **options))
        _same(lambda m, xs=xs: m.numpy.einsum("ij,jk", *xs, **options))
        if preferred is not None:
            _same(lambda m, xs=xs: m.lax.dot(*xs, **options))


@pytest.mark.parametrize("preferred", [None, np.float32])
def test_products_of_groups_and_with_scales(preferred):
    scales = {
        "lhs_scale": np.ones((2, 1), "float8_e8m0fnu"),
        "rhs_scale": np.ones((1, 2), "float8_e8m0fnu"),
    }
    options = {"preferred_element_type": preferred}
    for first, second in itertools.product(["uint8", "float32", "bfloat16"], repeat=2):
        xs = _operand(first, (4, 3)), _operand(second, (2, 3, 3)), np.int32([2, 2])
        _same(lambda m, xs=xs: m.lax.ragged_dot(*xs, **options))
        ys = _operand(first, (2, 32)), _operand(second, (32, 2))
        _same(lambda m, ys=ys: m.lax.scaled_dot(*ys, **scales, **options))


@pytest.mark.spread(2)
@pytest.mark.parametrize("name", ["stft", "welch", "csd", "istft"])
def test_spectra(name):
    x = np.linspace(0, 1, 64, dtype=np.float32)
    if name == "istft":
        x = np.ones((9, 5), np.complex64)
    xs = (x, x) if name == "csd" else (x,)
    _same(lambda m: getattr(m.scipy.signal, name)(*xs, nperseg=16))


def test_ranks_and_solves():
    _same(lambda m: m.scipy.stats.rankdata(np.float32([3, 1, 2])))
    _same(lambda m: m.scipy.sparse.linalg.gmres(lambda v: v * 2, np.ones(3, np.complex64))[0])


@pytest.mark.parametrize("symbol", ["add", "and_", "lt"])
def test_bool_arrays_with_bools(symbol):
    for other in (True, np.array(False), plugjax.lax.full((), True)):
        with plugjax.numpy_dtype_promotion("strict"):
            found = getattr(operator, symbol)(plugjax.numpy.array([True]), other)
        assert found.dtype == bool
