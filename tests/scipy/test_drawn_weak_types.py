"""Dtypes, weak types, shapes and errors of `scipy.special` and `scipy.stats` for operands of all kinds in all
positions, against JAX.

A formula's constants may be weak or strong beside weak operands, so the result's type depends on the position of each
constant. Values are compared elsewhere (`test_drawn.py`, `test_drawn_distributions.py`).
"""

import inspect

import jax
import jax.scipy.special
import jax.scipy.stats
import numpy as np
import pytest
from hypothesis import given, strategies as st

import plugjax
from tests.drawn import agree

DTYPES = [
    "bool", "int8", "int32", "uint8", "float16", "bfloat16", "float32", "complex64", "float64", "int64",
]  # fmt: skip
SHAPES = [(), (3,), (3,), (2, 1), (1, 3), (0, 3), (2, 3)]
DISTRIBUTIONS = [n for n in dir(jax.scipy.stats) if inspect.ismodule(getattr(jax.scipy.stats, n))]
OPERANDS = {
    "entr": 1, "erf": 1, "erfc": 1, "erfcx": 1, "erfinv": 1, "dawsn": 1, "digamma": 1, "exp1": 1, "expi": 1, "expit": 1,
    "factorial": 1, "fresnel": 1, "gamma": 1, "gammaln": 1, "gammasgn": 1, "i0": 1, "i0e": 1, "i1": 1, "i1e": 1,
    "log_ndtr": 1, "log_softmax": 1, "loggamma": 1, "logit": 1, "logsumexp": 1, "ndtr": 1, "ndtri": 1, "sici": 1,
    "softmax": 1, "spence": 1, "wofz": 1, "beta": 2, "betaln": 2, "boxcox": 2, "boxcox1p": 2, "comb": 2, "expn": 2,
    "gammainc": 2, "gammaincc": 2, "kl_div": 2, "owens_t": 2, "poch": 2, "polygamma": 2, "rel_entr": 2, "xlog1py": 2,
    "xlogy": 2, "zeta": 2, "betainc": 3, "hyp1f1": 3, "hyp2f1": 4,
}  # fmt: skip


class Kind:
    """An operand in either namespace: a Python number, a NumPy array, or a weak array."""

    def __init__(self, value, weak_shape=None):
        self.value, self.weak_shape = value, weak_shape

    def __repr__(self):
        weak = "" if self.weak_shape is None else f" weak {self.weak_shape}"
        x = self.value
        return f"{x.dtype}{list(x.shape)}" if isinstance(x, np.ndarray) else f"{x!r}{weak}"

    def of(self, numpy):
        if self.weak_shape is None:
            return self.value
        return numpy.broadcast_to(numpy.asarray(self.value), self.weak_shape)


PYTHON = st.sampled_from([True, 2, 0.5]).map(Kind)
WEAK = st.builds(Kind, st.sampled_from([2, 0.5]), st.sampled_from(SHAPES))
STRONG = st.builds(
    lambda d, s: Kind(np.ones(s, jax.numpy.dtype(d))),
    st.sampled_from(DTYPES),
    st.sampled_from(SHAPES),
)
BOOLS = st.sampled_from(SHAPES).map(lambda s: Kind(np.ones(s, bool)))
KINDS = st.one_of(PYTHON, WEAK, STRONG, BOOLS)


def compare(function, kinds, wide):
    """``function(scipy, *operands)``, with 64 bits if ``wide``."""
    with plugjax.enable_x64(wide), jax.enable_x64(wide):
        agree(lambda n, j: function(j.scipy, *[k.of(n) for k in kinds]), None)


def methods(distribution):
    module = getattr(jax.scipy.stats, distribution)
    return [n for n in dir(module) if not n.startswith("_") and callable(getattr(module, n))]


def parameters(function):
    return inspect.signature(function).parameters.values()


@pytest.mark.spread(2)
@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@given(data=st.data())
def test_distributions(distribution, data):
    method = data.draw(st.sampled_from(methods(distribution)))
    positions = list(parameters(getattr(getattr(jax.scipy.stats, distribution), method)))
    least = sum(p.default is p.empty for p in positions)
    kinds = data.draw(st.lists(KINDS, min_size=least, max_size=len(positions)))
    if "allow_singular" in [p.name for p in positions[: len(kinds)]]:
        kinds.pop()
    compare(
        lambda s, *xs: getattr(getattr(s.stats, distribution), method)(*xs),
        kinds,
        data.draw(st.booleans()),
    )


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_weak_arrays_and_bools_beside_defaults(distribution):
    for method in methods(distribution):
        f = getattr(getattr(jax.scipy.stats, distribution), method)
        count = sum(p.default is p.empty for p in parameters(f))
        for kind in (Kind(np.ones(3, bool)), Kind(0.5, (3,)), Kind(2, ())):
            agree(
                lambda n, j, d=distribution, m=method, k=kind, c=count: getattr(getattr(j.scipy.stats, d), m)(*[k.of(n)] * c),
                None,
            )  # fmt: skip


@pytest.mark.spread(6)
@pytest.mark.parametrize("name", OPERANDS)
@given(data=st.data())
def test_special_functions(name, data):
    kinds = data.draw(st.lists(KINDS, min_size=OPERANDS[name], max_size=OPERANDS[name]))
    if name == "owens_t":
        # JAX gives meaningless numbers for complex arguments, and float64 for all others with x64.
        kinds = [k for k in kinds if getattr(k.value, "dtype", None) != "complex64"]
        if len(kinds) == 2:
            agree(lambda n, j: j.scipy.special.owens_t(*[k.of(n) for k in kinds]), None)
        return
    compare(lambda s, *xs: getattr(s.special, name)(*xs), kinds, data.draw(st.booleans()))


# Some operands are integers that are known at tracing time.
WHOLE = {
    "multigammaln": lambda s, k, x, y: s.multigammaln(x, k),
    "bessel_jn": lambda s, k, x, y: s.bessel_jn(x, v=k),
    "sph_harm_y": lambda s, k, x, y: s.sph_harm_y(np.array([k]), np.array([1]), x, y),
    "expn": lambda s, k, x, y: s.expn(k, x),
    "polygamma": lambda s, k, x, y: s.polygamma(k, x),
    "log_ndtr": lambda s, k, x, y: s.log_ndtr(x, k),
    "comb": lambda s, k, x, y: s.comb(x, k, repetition=True),
}


@pytest.mark.parametrize("name", WHOLE)
@given(data=st.data())
def test_special_functions_of_whole_numbers(name, data):
    order = data.draw(st.integers(1, 3))
    kinds = [data.draw(KINDS), data.draw(KINDS)]
    compare(lambda s, x, y: WHOLE[name](s, order, x, y), kinds, data.draw(st.booleans()))
