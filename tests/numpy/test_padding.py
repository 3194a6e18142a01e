"""Padding in every mode, against JAX."""

import jax.numpy
import numpy as np
import pytest

import plugjax
import plugjax.numpy

X = np.arange(12, dtype=np.float32).reshape(3, 4)
WIDTHS = ((1, 2), (0, 3))


def _edges(vector, widths, axis, options):
    start = vector.at[: widths[0]].set(options.get("c", 9) + axis)
    return start.at[vector.shape[0] - widths[1] :].set(8)


CALLS = [
    *(
        (WIDTHS, mode, {"stat_length": length})
        for mode in ("mean", "median", "maximum", "minimum")
        for length in (None, 1, 2, (1, 2), ((1, 2), (2, 3)), 10, 0)
    ),
    *(
        (widths, mode, {"reflect_type": kind})
        for widths in (WIDTHS, ((2, 2), (1, 5)), ((7, 0), (11, 9)))
        for mode in ("reflect", "symmetric")
        for kind in ("even", "odd")
    ),
    *(
        (((2, 2), (1, 5)), mode, {})
        for mode in ("wrap", "edge", "empty", "linear_ramp", "constant")
    ),
    (1, "linear_ramp", {"end_values": ((1, 2), (3, 4))}),
    (WIDTHS, _edges, {}),
    (2, _edges, {"c": 4}),
    (1, "mean", {"end_values": 3}),
    (1, "edge", {"constant_values": 3}),
    (1, "constant", {"no_such": 3}),
    (1, "no such mode", {}),
]


def outcome(library, x, call):
    widths, mode, options = call
    try:
        return np.asarray(library.numpy.pad(x, widths, mode, **options))
    except Exception as error:
        return type(error)


@pytest.mark.spread(3)
@pytest.mark.parametrize("dtype", [np.float32, np.int32])
@pytest.mark.parametrize(
    "call", CALLS, ids=lambda c: f"{getattr(c[1], '__name__', c[1])} {c[0]} {c[2]}"
)
def test_against_jax(call, dtype):
    x = X.astype(dtype)
    expected, found = outcome(jax, x, call), outcome(plugjax, x, call)
    if isinstance(expected, type):
        assert found is expected
        return
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("mode", ["reflect", "symmetric"])
def test_one_element(mode):
    x = np.float32([3])
    for kind in ("even", "odd"):
        expected, found = (m.numpy.pad(x, (2, 3), mode, reflect_type=kind) for m in (jax, plugjax))
        np.testing.assert_array_equal(found, expected)
