"""Convolutions of integers on GPUs as sums of products, compared with NumPy's kernel."""

import numpy as np
import pytest

import plugjax
from plugjax import lax
from plugjax_xla.lowering.convolution import sum_of_taps

RNG = np.random.default_rng(0)

# Shapes of operands, and settings.
CASES = {
    "valid": ((2, 3, 5), (4, 3, 2), {}),
    "strides and edges": ((2, 3, 7, 6), (4, 3, 2, 3), {"window_strides": (2, 3), "padding": ((1, 2), (0, 1))}),
    "cut off": ((2, 3, 9), (4, 3, 2), {"padding": ((-1, -2),)}),
    "dilations": ((2, 3, 5), (4, 3, 2), {"lhs_dilation": (2,), "rhs_dilation": (3,), "padding": ((2, 2),)}),
    "groups of features": ((2, 6, 5), (4, 3, 2), {"feature_group_count": 2}),
    "groups of the batch": ((4, 3, 5), (6, 3, 2), {"batch_group_count": 2}),
    "features last": ((2, 5, 6, 3), (2, 2, 3, 4), {"dimension_numbers": ("NHWC", "HWIO", "NHWC")}),
    "no axis": ((2, 3), (4, 3), {}),
}  # fmt: skip


def convolution(left, right, given):
    count = len(left) - 2
    settings = {"window_strides": (1,) * count, "padding": ((0, 0),) * count, **given}
    return lambda x, k: lax.conv_general_dilated(x, k, **settings)


@pytest.mark.parametrize("dtype", [np.int32, np.uint8])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_values(case, dtype):
    left, right, given = case
    # They wrap, in int32 too.
    info = np.iinfo(dtype)
    x, k = (RNG.integers(info.min, info.max, s).astype(dtype) for s in (left, right))
    f = convolution(left, right, given)
    (eqn,) = plugjax.make_jaxpr(f)(x, k).eqns
    names = ("precision", "preferred_element_type")
    params = {name: value for name, value in eqn.params.items() if name not in names}
    expected = f(x, k)
    found = sum_of_taps(
        plugjax.numpy.asarray(x),
        plugjax.numpy.asarray(k),
        shape=expected.shape,
        dtype=expected.dtype,
        **params,
    )
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", ["cuda", "rocm"])
def test_programs_for_gpus(name):
    struct = plugjax.ShapeDtypeStruct
    f = convolution((2, 3, 5), (4, 3, 2), {})
    for dtype, convolved in (("int32", False), ("float32", True)):
        traced = plugjax.jit(f).trace(struct((2, 3, 5), dtype), struct((4, 3, 2), dtype))
        text = traced.lower(lowering_platforms=(name,)).as_text()
        assert ("stablehlo.convolution" in text) is convolved
    assert "stablehlo.convolution" in traced.lower(lowering_platforms=("tpu",)).as_text()
