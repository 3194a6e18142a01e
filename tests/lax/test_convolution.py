"""Convolutions against JAX: forms, gradients, batching, errors."""

import jax
import numpy as np
import pytest
from jax import lax as jlax

import plugjax
from plugjax import lax

CASES = {
    "same": ((2, 3, 8, 9), (4, 3, 3, 2), (1, 1), "SAME", {}),
    "strides": ((2, 3, 8, 9), (4, 3, 3, 2), (2, 3), "VALID", {}),
    "dilations": (
        (2, 3, 8, 9), (4, 3, 3, 2), (2, 1), ((1, 2), (-1, 3)),
        {"lhs_dilation": (2, 1), "rhs_dilation": (1, 2)},
    ),
    "groups": ((2, 6, 8, 9), (4, 3, 3, 2), (2, 1), "SAME_LOWER", {"feature_group_count": 2}),
    "depthwise": ((2, 6, 8), (6, 1, 3), (1,), "SAME", {"feature_group_count": 6}),
    "batch groups": ((4, 3, 8, 9), (4, 3, 3, 2), (1, 2), "SAME", {"batch_group_count": 2}),
    "NHWC": (
        (2, 8, 9, 3), (3, 2, 3, 4), (1, 1), "SAME", {"dimension_numbers": ("NHWC", "HWIO", "NHWC")},
    ),
    "odd layout": (
        (8, 2, 9, 6), (3, 4, 3, 2), (1, 2), "SAME",
        {"dimension_numbers": ("HNWC", "IOHW", "CNWH"), "feature_group_count": 2},
    ),
    "no axes": ((2, 3), (4, 3), (), (), {}),
    "empty": ((2, 3, 0, 4), (4, 3, 1, 1), (1, 1), "SAME", {}),
    "kernel too large": ((2, 3, 4, 4), (4, 3, 5, 5), (1, 1), "VALID", {}),
    "three axes": ((1, 2, 5, 5, 5), (2, 2, 2, 2, 2), (1, 2, 1), "SAME", {}),
    "cut off": ((2, 3, 8), (4, 3, 3), (2,), ((-3, -2),), {}),
}  # fmt: skip
AXES = [(0, None), (None, 0), (0, 0), (-1, None), (None, 1), (2, 1)]


def operands(case, dtype=np.float32):
    lhs, rhs, strides, padding, options = CASES[case]
    rng = np.random.default_rng(len(case))
    x, k = rng.normal(size=lhs).astype(dtype), rng.normal(size=rhs).astype(dtype)

    def of(module):
        return lambda x, k: module.conv_general_dilated(x, k, strides, padding, **options)

    return of(lax), of(jlax), x, k


def loss(function, weight):
    return lambda x, k: (function(x, k) * weight).sum()


def close(found, wanted, rtol=2e-5):
    wanted = np.asarray(wanted)
    assert found.shape == wanted.shape
    assert found.dtype == wanted.dtype
    scale = 1 + np.max(np.abs(wanted.astype(np.complex128)), initial=0)
    np.testing.assert_allclose(np.asarray(found), wanted, rtol=rtol, atol=rtol * scale)


@pytest.mark.spread(2)
@pytest.mark.parametrize("case", CASES)
def test_values_and_gradients(case, backend):
    ours, theirs, x, k = operands(case)
    wanted = theirs(x, k)
    weight = np.random.default_rng(1).normal(size=wanted.shape).astype(np.float32)

    @plugjax.jit
    def both(x, k):
        return ours(x, k), plugjax.grad(loss(ours, weight), (0, 1))(x, k)

    value, gradients = both(x, k)
    close(value, wanted)
    for found, expected in zip(
        gradients, jax.grad(loss(theirs, weight), (0, 1))(x, k), strict=True
    ):
        close(found, expected)


@pytest.mark.spread(2)
@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("case", ["dilations", "groups", "batch groups", "odd layout"])
def test_batching(case, axes):
    ours, theirs, x, k = operands(case)
    given = [
        a if d is None else np.stack([a, 2 * a, a - 1], d)
        for a, d in zip((x, k), axes, strict=True)
    ]
    with plugjax.default_device("numpy"):
        close(plugjax.vmap(ours, axes)(*given), jax.vmap(theirs, axes)(*given))
        weight = np.ones(theirs(x, k).shape, np.float32)
        found = plugjax.vmap(plugjax.grad(loss(ours, weight), (0, 1)), axes)(*given)
        wanted = jax.vmap(jax.grad(loss(theirs, weight), (0, 1)), axes)(*given)
        for a, b in zip(found, wanted, strict=True):
            close(a, b)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "int8", "int32"])
def test_dtypes(dtype, backend):
    ours, theirs, x, k = operands("same")
    x, k = (np.round(4 * a).astype(jax.numpy.dtype(dtype)) for a in (x, k))
    close(plugjax.jit(ours)(x, k), theirs(x, k), 1e-2 if dtype == "bfloat16" else 1e-3)


def test_preferred_element_type(backend):
    def of(lax):
        return lambda x, k: lax.conv(x, k, (1,), "SAME", preferred_element_type=np.int32)

    rng = np.random.default_rng(0)
    x, k = (rng.integers(-99, 99, s).astype(np.int8) for s in ((2, 3, 8), (4, 3, 3)))
    close(plugjax.jit(of(lax))(x, k), of(jlax)(x, k))


@pytest.mark.parametrize("dtype", [np.complex64])
def test_complex(dtype, backend):
    ours, theirs, x, k = operands("strides")
    x, k = ((a + 1j * a[::-1]).astype(dtype) for a in (x, k))
    close(plugjax.jit(ours)(x, k), theirs(x, k))


FORMS = {
    "conv": lambda lax, x, k: lax.conv(x, k, (2, 1), "SAME"),
    "conv_with_general_padding": lambda lax, x, k: lax.conv_with_general_padding(
        x, k, (1, 1), ((1, 1), (0, 0)), None, (2, 1)
    ),
    **{
        f"conv_transpose {padding} {flip} {consistent}": (
            lambda lax, x, k, padding=padding, flip=flip, consistent=consistent: lax.conv_transpose(
                x, k, (2, 3), padding, (1, 2), ("NCHW", "OIHW" if not flip else "IOHW", "NCHW"),
                transpose_kernel=flip, use_consistent_padding=consistent,
            )
        )
        for padding in ("SAME", "VALID", ((1, 1), (0, 2)))
        for flip in (False, True)
        for consistent in (False, True)
    },
    "patches": lambda lax, x, k: lax.conv_general_dilated_patches(
        x, (3, 2), (2, 1), "SAME", dimension_numbers=("NCHW", "OIHW", "NHWC")
    ),
    "local": lambda lax, x, k: lax.conv_general_dilated_local(
        x, np.arange(4 * 18 * 4 * 8, dtype=np.float32).reshape(4, 18, 4, 8) % 7, (2, 1),
        ((1, 1), (0, 0)), (3, 2), dimension_numbers=("NCHW", "OIHW", "NHWC"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_forms(form):
    rng = np.random.default_rng(0)
    x, k = (rng.normal(size=s).astype(np.float32) for s in ((2, 3, 8, 9), (4, 3, 3, 2)))
    with plugjax.default_device("numpy"):
        close(FORMS[form](lax, x, k), FORMS[form](jlax, x, k))


BAD = {
    "ranks": lambda lax, x, k: lax.conv_general_dilated(x, k[0], (1, 1), "SAME"),
    "features": lambda lax, x, k: lax.conv_general_dilated(x[:, :2], k, (1, 1), "SAME"),
    "groups": lambda lax, x, k: lax.conv_general_dilated(
        x, k, (1, 1), "SAME", feature_group_count=2
    ),
    "both groups": lambda lax, x, k: lax.conv_general_dilated(
        x, k[:, :1], (1, 1), "SAME", feature_group_count=1, batch_group_count=3
    ),
    "no groups": lambda lax, x, k: lax.conv_general_dilated(
        x, k, (1, 1), "SAME", feature_group_count=0
    ),
    "padding name": lambda lax, x, k: lax.conv_general_dilated(x, k, (1, 1), "FULL"),
    "letters": lambda lax, x, k: lax.conv_general_dilated(
        x, k, (1, 1), "SAME", dimension_numbers=("NCHH", "OIHW", "NCHW")
    ),
    "too few letters": lambda lax, x, k: lax.conv_general_dilated(
        x, k, (1, 1), "SAME", dimension_numbers=("NCH", "OIHW", "NCHW")
    ),
    "stride": lambda lax, x, k: lax.conv_general_dilated(x, k, (0, 1), "VALID"),
    "dtypes": lambda lax, x, k: lax.conv_general_dilated(x, k.astype(np.int32), (1, 1), "SAME"),
    "padding": lambda lax, x, k: lax.conv_general_dilated(x, k, (1, 1), ((-9, 0), (0, 0))),
}


@pytest.mark.filterwarnings("ignore:divide by zero")  # JAX's error for a stride of 0.
@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_the_error_of_jax(case):
    x, k = np.ones((2, 3, 8, 9), np.float32), np.ones((4, 3, 3, 2), np.float32)
    with pytest.raises(Exception) as wanted:  # Any error of JAX.
        BAD[case](jlax, x, k)
    with pytest.raises(wanted.type):
        BAD[case](lax, x, k)


@pytest.mark.parametrize("padding", ["SAME", "SAME_LOWER", "VALID", ((1, 2), (0, 1))])
def test_shapes(padding):
    shapes = ((2, 8, 9, 3), (3, 2, 3, 4), (2, 3), padding, ("NHWC", "HWIO", "NHWC"))
    assert lax.conv_general_shape_tuple(*shapes) == jlax.conv_general_shape_tuple(*shapes)
    if padding != "SAME_LOWER":
        assert lax.conv_transpose_shape_tuple(*shapes) == jlax.conv_transpose_shape_tuple(*shapes)
    if isinstance(padding, str):
        assert lax.padtype_to_pads((8, 9), (3, 2), (2, 3), padding) == jlax.padtype_to_pads(
            (8, 9), (3, 2), (2, 3), padding
        )


def test_padding_of_an_empty_array_meets_no_nan_of_the_kernel():
    k = np.full((1, 1, 2), np.nan, np.float32)

    def gradient(library, convolve):
        # The kernel reaches over the image: the output is empty, and so is its cotangent.
        def f(x):
            return convolve(x, k, (1,), "VALID", rhs_dilation=(4,)).sum()

        return library.grad(f)

    x = np.ones((2, 1, 4), np.float32)
    found = gradient(plugjax, lax.conv_general_dilated)
    np.testing.assert_array_equal(found(x), gradient(jax, jlax.conv_general_dilated)(x))
    np.testing.assert_array_equal(found(x), np.zeros_like(x))
    np.testing.assert_array_equal(plugjax.jit(found)(x), np.zeros_like(x))
    empty = np.ones((2, 1, 0), np.float32)
    for convolve in (lax.conv_general_dilated, jlax.conv_general_dilated):
        assert not np.asarray(convolve(empty, k, (1,), ((2, 2),))).any()
