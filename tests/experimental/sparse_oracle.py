"""Sparse arrays drawn for both libraries, and results compared."""

import os
import warnings

import jax
import jax.experimental.sparse
import jax.experimental.sparse.bcoo
import numpy as np
from hypothesis import settings, strategies as st

import plugjax
import plugjax.numpy
from plugjax.experimental import sparse


class Library:
    """What a case needs of a library."""

    def __init__(self, module, sparse_module):
        self.jax, self.np, self.lax, self.sparse = module, module.numpy, module.lax, sparse_module


OURS = Library(plugjax, sparse)
THEIRS = Library(jax, jax.experimental.sparse)
FEW = settings(max_examples=int(os.environ.get("EX", 4)), deadline=None, derandomize=True)
DTYPES = ["float32", "float32", "float32", "int32", "complex64"]


def values(rng, shape, dtype):
    found = rng.integers(-3, 4, shape)
    if dtype == "complex64":
        found = found + 1j * rng.integers(-3, 4, shape)
    return np.asarray(found, dtype)


@st.composite
def layouts(draw, ranks=(1, 2, 3), n_batch=None, n_dense=None, dtypes=DTYPES):
    """Shape, buffers and numbers of axes of a BCOO array, with duplicates and padding."""
    rank = draw(st.sampled_from(ranks))
    shape = tuple(draw(st.lists(st.sampled_from([1, 2, 3]), min_size=rank, max_size=rank)))
    batch = draw(st.integers(0, min(2, rank))) if n_batch is None else n_batch
    dense = draw(st.integers(0, min(1, rank - batch))) if n_dense is None else n_dense
    return buffers(
        shape, batch, dense, draw(st.sampled_from([0, 2, 4])), draw(st.sampled_from(dtypes)), draw(st.integers(0, 10**6)),
        shared=draw(st.sampled_from(["", "", "", "data", "indices"])),
    )  # fmt: skip


def buffers(shape, n_batch, n_dense, nse, dtype="float32", seed=0, shared=""):
    rng = np.random.default_rng(seed)
    stop = len(shape) - n_dense
    lead = shape[:n_batch]
    data_lead = (1,) * n_batch if shared == "data" else lead
    indices_lead = (1,) * n_batch if shared == "indices" else lead
    sizes = np.array(shape[n_batch:stop], np.int32)
    data = values(rng, (*data_lead, nse, *shape[stop:]), dtype)
    indices = rng.integers(0, sizes + 1, (*indices_lead, nse, len(sizes)), np.int32)
    padding = (indices >= sizes).any(-1, keepdims=True)
    indices = np.where(padding, sizes, indices).astype(np.int32)
    return {"data": data, "indices": indices, "shape": shape}


def clean(found):
    """The buffers with values of 0 at padding, which JAX counts where it drops the axis that tells; ``None`` if data are shared."""
    data, indices = found["data"], found["indices"]
    n = indices.ndim - 2
    if data.shape[:n] != indices.shape[:n]:
        return None
    sizes = np.array(found["shape"][n : n + indices.shape[-1]])
    keep = (indices < sizes).all(-1)
    return {
        **found,
        "data": data * keep.reshape(keep.shape + (1,) * (data.ndim - keep.ndim)).astype(data.dtype),
    }


def bcoo(m, found, **flags):
    buffers = m.np.asarray(found["data"]), m.np.asarray(found["indices"])
    return m.sparse.BCOO(buffers, shape=found["shape"], **flags)


def described(result):
    """A result as what can be compared: sparse arrays by their layout and what they stand for."""
    if isinstance(result, (sparse.JAXSparse, jax.experimental.sparse.JAXSparse)):
        words = repr(result)
        if isinstance(result, (sparse.BCOO, jax.experimental.sparse.BCOO)):
            words = (words, result.indices_sorted, result.unique_indices, result.indices.dtype.name)
        return [words, np.asarray(result.todense())]
    if isinstance(result, (tuple, list)):
        return [part for item in result for part in described(item)]
    if isinstance(result, dict):
        return [part for _, item in sorted(result.items()) for part in described(item)]
    return [np.asarray(result)]


def outcome(function, m, *args):
    """What a function gives, or the error that it raises."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", Warning if m is THEIRS else sparse.SparseEfficiencyWarning
            )
            return described(function(m, *args))
    except Exception as error:
        return error


def fails_inside(error):
    """Whether JAX's error is a failure of its own, not a refusal."""
    inner = (AssertionError, AttributeError, IndexError, KeyError)
    return isinstance(error, inner) or "Cannot lower jaxpr" in str(error)


def same_errors(ours, theirs):
    """Whether an error is of JAX's type."""
    names = [c.__name__ for c in type(ours).__mro__]
    return isinstance(ours, type(theirs)) or type(theirs).__name__ in names


def assert_same(function, *args, rtol=1e-5, atol=1e-5):
    """``function(library, *args)`` gives in both libraries what stands for the same."""
    ours, theirs = outcome(function, OURS, *args), outcome(function, THEIRS, *args)
    if isinstance(theirs, Exception):
        if fails_inside(theirs):
            return
        assert isinstance(ours, Exception), f"JAX raises {theirs!r}"
        assert same_errors(ours, theirs), (repr(ours), repr(theirs))
        return
    if isinstance(ours, Exception):
        raise ours
    assert len(ours) == len(theirs)
    for x, y in zip(ours, theirs, strict=True):
        if isinstance(x, np.ndarray):
            assert (x.shape, x.dtype) == (y.shape, y.dtype)
            np.testing.assert_allclose(x, y, rtol=rtol, atol=atol)
        else:
            assert x == y
