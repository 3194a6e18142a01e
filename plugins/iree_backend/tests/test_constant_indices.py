"""Gathers and scatters at constant indices: within the operand nothing is checked when the program runs."""

import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp

X = np.arange(12, dtype=np.float32).reshape(4, 3)
V = np.array([0.5, -1.5, 2.5], np.float32)
INDICES = {
    "inside": np.array([0, 3, 1], np.int32),
    "outside": np.array([0, 4, 9], np.int32),
    "negative": np.array([-1, -4, -5], np.int8),
    "unsigned": np.array([2, 3, 2**32 - 1], np.uint32),
    "all_outside": np.array([7, 8, 9], np.uint8),
    "one": np.array([2], np.int32),
    "none": np.array([], np.int32),
}
CASES = [(name, mode) for name in INDICES for mode in ("drop", "clip")]
CASES += [("inside", "promise_in_bounds"), ("one", "promise_in_bounds")]


def operations(indices, mode):
    reading = "fill" if mode == "drop" else mode

    def program(x, v):
        at, rows = x.at[indices], v[: len(indices), None]
        pairs = x.at[indices, np.minimum(indices, 2)]
        return (
            at.get(mode=reading),
            at.set(rows, mode=mode),
            at.add(rows, mode=mode),
            at.max(rows * 3, mode=mode),
            pairs.set(v[: len(indices)], mode=mode),
            pairs.get(mode=reading),
        )

    return program


@pytest.mark.spread(4)
@pytest.mark.parametrize(("name", "mode"), CASES)
def test_values_are_those_of_numpy(name, mode, agrees):
    agrees(operations(INDICES[name], mode), X, V, rtol=0, atol=0)


def test_only_what_may_be_outside_is_checked():
    def words(indices):
        with plugjax.default_device("iree"):
            f = plugjax.jit(lambda x: (x.at[indices].set(0.0), jnp.asarray(x)[indices]))
            return {*f.lower(X).as_text().split()}

    for indices in (INDICES["inside"], 2, (1, -1)):
        assert not {"stablehlo.clamp", "stablehlo.and"} & words(indices)
    assert "stablehlo.and" in words(INDICES["outside"])
