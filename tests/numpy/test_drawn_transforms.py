"""Fourier transforms, and factorizations and other functions of `numpy` without a drawn test elsewhere."""

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

from tests.drawn import DTYPES, agree, arrays, axes_of, outcome

ONE_AXIS = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]
SEVERAL = ["fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn"]
NORMS = st.sampled_from([None, "ortho", "forward", "backward", "sideways"])
OF_FOURIER = [dtype for dtype in DTYPES if dtype not in ("float16", "bfloat16")]


@pytest.mark.parametrize("name", ONE_AXIS)
@given(data=st.data())
def test_along_one_axis(name, data):
    x = data.draw(arrays(OF_FOURIER))
    options = {"n": data.draw(st.sampled_from([None, None, 1, 2, 5, 0])), "norm": data.draw(NORMS)}
    options["axis"] = data.draw(axes_of(x.ndim, several=False))
    call = lambda n, x: getattr(n.fft, name)(x, **options)  # noqa: E731
    # NumPy refuses empty arrays.
    refused = isinstance(outcome(lambda: call(np, x)), ValueError)
    agree(lambda n, _, x: call(n, x), None if refused else (lambda x: call(np, x)), x, tolerance=4)


@pytest.mark.parametrize("name", SEVERAL)
@given(data=st.data())
def test_along_several_axes(name, data):
    x = data.draw(
        arrays(OF_FOURIER, st.lists(st.integers(1, 4), min_size=1, max_size=4).map(tuple))
    )
    axes = data.draw(st.lists(st.integers(-x.ndim, x.ndim - 1), min_size=2, max_size=2))
    axes = axes if name.endswith("2") or data.draw(st.booleans()) else None
    sizes = data.draw(st.sampled_from([None, None, (2, 3), (4, 1)])) if axes is not None else None
    options = {"s": sizes, "axes": axes, "norm": data.draw(NORMS)}
    # NumPy transforms a repeated axis twice, and refuses empty arrays.
    repeated = axes is not None and len({a % x.ndim for a in axes}) < 2
    call = lambda n, x: getattr(n.fft, name)(x, **options)  # noqa: E731
    repeated = repeated or isinstance(outcome(lambda: call(np, x)), ValueError)
    agree(lambda n, _, x: call(n, x), None if repeated else (lambda x: call(np, x)), x, tolerance=8)


@pytest.mark.parametrize("name", ["fftshift", "ifftshift", "fftfreq", "rfftfreq"])
@given(data=st.data())
def test_places(name, data):
    if name.endswith("freq"):
        n, d = data.draw(st.integers(1, 7)), data.draw(st.sampled_from([1.0, 0.25]))
        agree(lambda lib, _: getattr(lib.fft, name)(n, d), lambda: getattr(np.fft, name)(n, d))
        return
    x = data.draw(arrays(DTYPES))
    axes = data.draw(axes_of(x.ndim))
    oracle = lambda x: getattr(np.fft, name)(x, axes)  # noqa: E731
    # NumPy fails on numbers without axes.
    agree(lambda n, _, x: getattr(n.fft, name)(x, axes), oracle if x.ndim else None, x)


FACTORS = {
    "qr": lambda n, x: n.abs(n.linalg.qr(x)[1]),
    "qr, complete": lambda n, x: n.abs(n.linalg.qr(x, mode="complete")[0]),
    "qr, only r": lambda n, x: n.abs(n.linalg.qr(x, mode="r")),
    "lstsq": lambda n, x: n.linalg.lstsq(x, x[:, :1])[0],
    "matrix_norm": lambda n, x: n.linalg.matrix_norm(x),
    "matrix_norm of order 1": lambda n, x: n.linalg.matrix_norm(x, ord=1, keepdims=True),
    "vector_norm": lambda n, x: n.linalg.vector_norm(x, ord=3, axis=-1),
    "vector_norm of all": lambda n, x: n.linalg.vector_norm(x, keepdims=True),
    "multi_dot": lambda n, x: n.linalg.multi_dot([x, x.T, x]),
    "tensorinv": lambda n, x: n.linalg.tensorinv((x @ n.conj(x.T) + 9 * np.eye(x.shape[0], dtype=x.dtype)), ind=1),
    "tensorsolve": lambda n, x: n.linalg.tensorsolve(x @ n.conj(x.T) + 9 * np.eye(x.shape[0], dtype=x.dtype), x[:, 0]),
    "eig": lambda n, x: n.linalg.eig(x @ x.T)[0],
    "eigvals": lambda n, x: n.linalg.eigvals(x @ x.T),
}  # fmt: skip


@pytest.mark.parametrize("name", FACTORS)
@given(data=st.data())
def test_factors(name, data):
    size = data.draw(st.integers(1, 3))
    x = data.draw(
        arrays(["float32", "complex64"], st.just((size + data.draw(st.integers(0, 2)), size)))
    )
    known = not name.startswith(("eig", "qr, complete"))
    call = FACTORS[name]
    agree(
        lambda n, _, x: call(n, n.asarray(x)),
        (lambda x: call(np, x)) if known else None,
        x,
        tolerance=30,
    )


@pytest.mark.parametrize("name", FACTORS)
@given(data=st.data())
def test_types_of_factors(name, data):
    x = data.draw(arrays(["bool", "int32", "float16", "bfloat16", "float32", "complex64"]))
    assume(x.size or name not in ("eig", "eigvals"))
    call = FACTORS[name]
    agree(lambda n, _, x: call(n, n.asarray(x)), None, x)


def _of_its_dtype(q, x):
    """JAX multiplies fractions by weights in the dtype of the elements, without promotion."""
    return np.asarray(q, x.dtype if x.dtype.name in ("float16", "bfloat16") else np.float32)


OTHERS = {
    "argpartition": lambda n, x, a: n.zeros_like(n.argpartition(x, 0, a)),
    "argwhere": lambda n, x, a: n.argwhere(x, size=4, fill_value=-1),
    "compress": lambda n, x, a: n.compress(np.array([True, False]), x, a, size=1),
    "extract": lambda n, x, a: n.extract(n.asarray(x) != 0, x, size=3, fill_value=0),
    "empty_like": lambda n, x, a: n.empty_like(x) * 0 if x.dtype != bool else n.empty_like(x),
    "predicates": lambda n, x, a: n.asarray([n.iscomplexobj(x), n.isrealobj(x), n.iterable(n.asarray(x))]),
    "isdtype": lambda n, x, a: n.asarray([n.isdtype(x.dtype, k) for k in ("bool", "integral", "real floating", "numeric")]),
    "polydiv": lambda n, x, a: n.polydiv(n.ravel(x), np.array([1, 2], "f")),
    "roots": lambda n, x, a: n.zeros_like(n.roots(n.ravel(x), strip_zeros=False)),
    "put": lambda n, x, a: n.put(x, np.array([0, 1]), 1, inplace=False),
    "put, clipped": lambda n, x, a: n.put(x, np.array([0, 99]), 1, mode="clip", inplace=False),
    "unique_all": lambda n, x, a: n.unique_all(x, size=4, fill_value=0),
    "unique_counts": lambda n, x, a: n.unique_counts(x, size=4),
    "unique_inverse": lambda n, x, a: n.unique_inverse(x, size=4),
    "unique_values": lambda n, x, a: n.unique_values(x, size=4),
    "frompyfunc": lambda n, x, a: n.frompyfunc(lambda u, v: u + v, 2, 1)(x, x),
    "isin, sorted": lambda n, x, a: n.isin(x, x, method="sort"),
    "isin, looked up": lambda n, x, a: n.isin(x, n.asarray(x).ravel()[:1], method="binary_search", invert=True),
    "take_along_axis": lambda n, x, a: n.take_along_axis(n.ravel(x), np.array([0, -1]), 0, wrap_negative_indices=False),
    "argsort to a dtype": lambda n, x, a: n.argsort(x, a, dtype="uint8"),
    "quantile, inverted": lambda n, x, a: n.quantile(x, _of_its_dtype(0.4, x), axis=a, method="inverted_cdf"),
    "quantile, weighted": lambda n, x, a: n.nanquantile(
        n.asarray(x).astype("float32"), np.array([0.1, 0.7], "f"), axis=a, method="inverted_cdf",
        weights=n.ones(x.shape, "float32"), keepdims=True,
    ),
    "array of positions": lambda n, x, a: n.array(x, "float32", ndmin=2),
}  # fmt: skip


@pytest.mark.spread(2)
@pytest.mark.parametrize("name", OTHERS)
@given(data=st.data())
def test_others(name, data):
    x = data.draw(arrays(DTYPES))
    axis = data.draw(axes_of(x.ndim, several=False))
    agree(lambda n, _, x: OTHERS[name](n, x, axis), None, x)


@given(data=st.data())
def test_weighted_quantiles_have_numpys_values(data):
    shape = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=3).map(tuple))
    x = data.draw(arrays(["float32"], st.just(shape)))
    axis = data.draw(st.integers(0, len(shape) - 1))
    weights = data.draw(arrays(["int32"], st.just((shape[axis],)), low=1, high=4)).astype("float32")
    q = np.array(data.draw(st.sampled_from([[0.0], [0.11, 0.63], [1.0]])), np.float32)
    options = {"axis": axis, "method": "inverted_cdf", "keepdims": data.draw(st.booleans())}
    call = lambda n, x, w: n.quantile(x, q, weights=w, **options)  # noqa: E731
    agree(lambda n, _, x, w: call(n, x, w), lambda x, w: call(np, x, w), x, weights)
