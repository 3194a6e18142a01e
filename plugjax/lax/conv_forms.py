"""Short forms of convolutions, transposed convolutions, patches, and locally connected layers."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from plugjax.extend.core import Array, ArrayLike, as_array, aval_of
from plugjax.extend.dtypes import DTypeLike
from plugjax.lax.conv_shape import (
    ConvGeneralDilatedDimensionNumbers,
    conv_dimension_numbers,
    dilated,
    transposed_padding,
)
from plugjax.lax.convolution import conv_general_dilated
from plugjax.lax.dot import Precision, PrecisionLike, dot_general, precision_pair
from plugjax.lax.families import convert
from plugjax.lax.shape import broadcast_in_dim, reshape, rev, transpose

_TRANSPOSED_LAYOUTS = {
    2: ("NC", "IO", "NC"),
    3: ("NHC", "HIO", "NHC"),
    4: ("NHWC", "HWIO", "NHWC"),
    5: ("NHWDC", "HWDIO", "NHWDC"),
}


def conv(
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Sequence[int],
    padding: str,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """:func:`conv_general_dilated` without dilation, in the layout ``NC...``, ``OI...``, ``NC...``.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.conv(jnp.ones((1, 1, 3, 3)), jnp.ones((1, 1, 2, 2)), (1, 1), "VALID")
        Array([[[[4., 4.],
                 [4., 4.]]]], dtype=float32)
    """
    return conv_general_dilated(
        lhs,
        rhs,
        window_strides,
        padding,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def conv_with_general_padding(
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    lhs_dilation: Sequence[int] | None,
    rhs_dilation: Sequence[int] | None,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """:func:`conv_general_dilated` in the layout ``NC...``, ``OI...``, ``NC...``.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.conv_with_general_padding(jnp.ones((1, 1, 3)), jnp.ones((1, 1, 2)), (1,), [(1, 0)], None, None)
        Array([[[1., 2., 2.]]], dtype=float32)
    """
    return conv_general_dilated(
        lhs,
        rhs,
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def conv_transpose(
    lhs: ArrayLike,
    rhs: ArrayLike,
    strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers = None,
    transpose_kernel: bool = False,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    use_consistent_padding: bool = False,
) -> Array:
    """Convolution with fractional strides: the input is dilated by ``strides``.

    Args:
        lhs: the input, of rank n + 2.
        rhs: the kernel, of rank n + 2.
        strides: n strides of the convolution that this one is the transpose of.
        padding: ``"SAME"`` or ``"VALID"`` of that convolution; pairs are the padding of this one unless
            ``use_consistent_padding``.
        rhs_dilation: n dilations of the kernel.
        dimension_numbers: as in :func:`conv_general_dilated`; ``None`` puts features last, up to n = 3.
        transpose_kernel: reverse the kernel and exchange its feature axes, as the derivative of a convolution does.
        precision: see :class:`Precision`.
        preferred_element_type: dtype of sums and of the result.
        use_consistent_padding: pairs, too, are the padding of the forward convolution.

    Raises:
        ValueError: no default layout for this rank.

    Example:
        >>> import plugjax.numpy as jnp
        >>> x, k = jnp.array([[[1.0], [2.0]]]), jnp.ones((2, 1, 1))
        >>> print(conv_transpose(x, k, (2,), "VALID")[0, :, 0])
        [1. 1. 2. 2.]
    """
    left, right = aval_of(lhs), aval_of(rhs)
    if dimension_numbers is None:
        dimension_numbers = _TRANSPOSED_LAYOUTS.get(left.ndim)
        if dimension_numbers is None:
            raise ValueError(
                f"conv_transpose has no default dimension_numbers for lhs {left.str_short()}; pass them."
            )
    numbers = conv_dimension_numbers(left.shape, right.shape, dimension_numbers)
    spatial = numbers.rhs_spec[2:]
    spread = (1,) * len(spatial) if rhs_dilation is None else tuple(rhs_dilation)
    if use_consistent_padding or padding in ("SAME", "VALID"):
        each = [padding] * len(spatial) if isinstance(padding, str) else padding
        padding = [
            transposed_padding(dilated(right.shape[d], r), s, p)
            for d, r, s, p in zip(spatial, spread, strides, each, strict=True)
        ]
    if transpose_kernel:
        outputs, inputs = numbers.rhs_spec[:2]
        order = list(range(right.ndim))
        order[outputs], order[inputs] = inputs, outputs
        rhs = transpose(rev(rhs, spatial), order)
    return conv_general_dilated(
        lhs,
        rhs,
        (1,) * len(spatial),
        padding,
        strides,
        spread,
        numbers,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def conv_general_dilated_patches(
    lhs: ArrayLike,
    filter_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers = None,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """The elements of every window as features: channels first, then the positions of ``filter_shape``.

    The kernel is an identity matrix, in one group per channel.

    Shapes:
        lhs: ``[batch, channels, spatial...]`` -> ``[batch, channels * prod(filter_shape), windows...]``.

    Args:
        lhs: the input, of rank n + 2.
        filter_shape: n sizes of the window, in the order of the kernel's spatial axes.
        window_strides: see :func:`conv_general_dilated`, as the remaining arguments.
        padding: as there.
        lhs_dilation: as there.
        rhs_dilation: as there.
        dimension_numbers: as there.
        precision: of ``lhs``.
        preferred_element_type: as there.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.conv_general_dilated_patches(jnp.arange(3.0).reshape(1, 1, 3), (2,), (1,), "VALID")
        Array([[[0., 1.],
                [1., 2.]]], dtype=float32)
    """
    aval = aval_of(lhs)
    sizes = tuple(filter_shape)
    numbers = conv_dimension_numbers(aval.shape, (1, 1, *sizes), dimension_numbers)
    channels, places = aval.shape[numbers.lhs_spec[1]], math.prod(sizes)
    picks = convert(as_array(np.eye(places, dtype=bool)), aval.dtype)
    kernel = broadcast_in_dim(picks, (channels, places, places), (1, 2))
    kernel = reshape(kernel, (channels * places, 1, *sizes))
    order = sorted(range(aval.ndim), key=numbers.rhs_spec.__getitem__)
    pair = precision_pair(precision)
    return conv_general_dilated(
        lhs,
        transpose(kernel, order),
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        numbers,
        feature_group_count=channels,
        precision=None if pair is None else (pair[0], Precision.DEFAULT),
        preferred_element_type=preferred_element_type,
    )


def conv_general_dilated_local(
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    filter_shape: Sequence[int],
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers = None,
    precision: PrecisionLike = None,
) -> Array:
    """Convolution with another kernel in every window: a locally connected layer.

    Shapes:
        lhs: ``[batch, channels, spatial...]``.
        rhs: ``[output features, channels * prod(filter_shape), windows...]``, in the order of the kernel's letters.
        result: ``[batch, output features, windows...]``.

    Args:
        lhs: the input.
        rhs: a kernel for each window.
        window_strides: see :func:`conv_general_dilated`, as the remaining arguments.
        padding: as there.
        filter_shape: n sizes of the window.
        lhs_dilation: as there.
        rhs_dilation: as there.
        dimension_numbers: as there.
        precision: see :class:`Precision`.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.conv_general_dilated_local(jnp.ones((1, 1, 3)), jnp.ones((1, 2, 2)), (1,), "VALID", (2,))
        Array([[[2., 2.]]], dtype=float32)
    """
    pair = precision_pair(precision)
    patches = conv_general_dilated_patches(
        lhs,
        filter_shape,
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        dimension_numbers,
        None if pair is None else pair[0],
    )
    shape = aval_of(lhs).shape
    _, rhs_spec, out_spec = conv_dimension_numbers(shape, (1, 1, *filter_shape), dimension_numbers)
    # The windows form one axis in the order of the result; then the batch and the output features
    # are transposed into place.
    pairs = sorted(zip(out_spec[2:], rhs_spec[2:], strict=True))
    windows, kernels = tuple(o for o, _ in pairs), tuple(k for _, k in pairs)
    out = dot_general(
        patches, rhs, (((out_spec[1],), (rhs_spec[1],)), (windows, kernels)), precision
    )
    batch, feature = out_spec[:2]
    first, second = sorted(((batch, -2), (feature, -1)))
    rank = len(shape)
    order = list(range(rank - 2))
    order.insert(first[0], rank + first[1])
    order.insert(second[0], rank + second[1])
    return transpose(out, order)
