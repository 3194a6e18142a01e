"""Indices and updates drawn by hypothesis: all of NumPy's indexing, out of bounds too, and the methods of ``.at``."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import array_shapes, basic_indices, integer_array_indices

from tests.drawn import agree, arrays

SHAPES = st.lists(st.sampled_from([1, 2, 3, 4]), min_size=1, max_size=3).map(tuple)
DTYPES = ["int32", "uint8", "bool", "float32", "bfloat16", "complex64"]


@st.composite
def mixed_indices(draw, shape):
    """Integers, slices and arrays, and new axes between them; arrays are sometimes out of bounds."""
    beyond = draw(st.integers(0, 4)) == 0
    index = []
    for size in shape[: draw(st.integers(0, len(shape)))]:
        low, high = (-size - 2, size + 1) if beyond else (-size, size - 1)
        one = st.integers(-size, size - 1)
        several = st.lists(st.integers(low, high), min_size=2, max_size=2).map(np.array)
        column = several.map(lambda i: i[:, None])
        part = st.builds(slice, one, one, st.sampled_from([None, 1, 2, -1]))
        index.append(draw(st.one_of(one, part, several, column)))
        if draw(st.integers(0, 4)) == 0:
            index.append(None)
    return tuple(index), not beyond


@st.composite
def masks(draw, shape):
    """A mask of some leading axes."""
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    return rng.random(shape[: draw(st.integers(1, len(shape)))]) < 0.5


@st.composite
def indices(draw, shape):
    """An index, and whether all of it is in bounds."""
    kind = draw(st.sampled_from(["basic", "arrays", "mixed", "mask"]))
    if kind == "mixed":
        return draw(mixed_indices(shape))
    if kind == "basic":
        return draw(basic_indices(shape, allow_newaxis=True)), True
    if kind == "mask":
        return draw(masks(shape)), True
    result = array_shapes(min_dims=1, max_dims=2, max_side=3)
    return draw(integer_array_indices(shape, result_shape=result, dtype=np.int32)), True


@given(data=st.data())
@pytest.mark.parametrize("part", range(8))
def test_getting(part, data):
    x = data.draw(arrays(DTYPES, SHAPES))
    index, inside = data.draw(indices(x.shape))
    agree(lambda n, _, x: n.asarray(x)[index], (lambda x: x[index]) if inside else None, x)


@given(data=st.data())
@pytest.mark.parametrize("mode", ["clip", "fill", "wrap", "promise_in_bounds", "drop"])
def test_modes(mode, data):
    x = data.draw(arrays(DTYPES, SHAPES))
    size = x.shape[0]
    rows = np.array(data.draw(st.lists(st.integers(-size - 2, size + 1), min_size=1, max_size=4)))
    if mode == "promise_in_bounds":
        rows = np.clip(rows, -size, size - 1)

    def oracle(x):
        if mode in ("clip", "wrap", "promise_in_bounds"):
            # JAX counts negative indices from the end before it clips them.
            wrapped = np.where(rows < 0, rows + size, rows)
            return x.take(rows if mode == "wrap" else np.clip(wrapped, 0, size - 1), 0, mode="wrap")
        missing = (rows < -size) | (rows >= size)
        found = x[np.where(missing, 0, rows)]
        found[missing] = 7
        return found

    fill = {"fill_value": 7} if mode in ("fill", "drop") else {}
    oracle = oracle if x.dtype != bool else None
    agree(lambda n, _, x: n.asarray(x).at[rows].get(mode=mode, **fill), oracle, x)


UPDATES = {
    "set": None,
    "add": np.add.at,
    "subtract": np.subtract.at,
    "multiply": np.multiply.at,
    "min": np.minimum.at,
    "max": np.maximum.at,
}


@given(data=st.data())
@pytest.mark.parametrize("whole", [True, False], ids=["array", "scalar"])
@pytest.mark.parametrize("name", UPDATES)
def test_updates(name, whole, data):
    x = data.draw(arrays(["int32", "float32", "float16"], SHAPES))
    index, inside = data.draw(indices(x.shape))
    values = np.arange(np.zeros(x.shape)[index].size if inside else 1, dtype=x.dtype)
    values = values.reshape(np.zeros(x.shape)[index].shape if inside and whole else (-1,))
    values = values if whole and values.size else x.dtype.type(3)
    repeated = name == "set" and _has_integers(index)

    def oracle(x):
        x = x.copy()
        if name == "set":
            x[index] = values
        else:
            UPDATES[name](x, index, values)
        return x

    known = inside and not repeated
    agree(
        lambda n, _, x, v: getattr(n.asarray(x).at[index], name)(v),
        (lambda x, v: oracle(x)) if known else None,
        x,
        values,
    )


def _has_integers(index):
    """Whether arrays of integers may repeat an element."""
    parts = index if isinstance(index, tuple) else (index,)
    return any(isinstance(part, np.ndarray) and part.dtype != bool for part in parts)
