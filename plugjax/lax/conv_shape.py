"""Geometry of convolutions: dimension numbers, padding by name, and the sizes of results.

Along one spatial axis the input is spread by its dilation (``d - 1`` zeros between neighbours) and padded. A kernel,
spread by its own dilation, is applied at every ``stride``-th position.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from plugjax.extend.errors import SizeError
from plugjax.lax import axes
from plugjax.lax.axes import static_ints

Sizes: TypeAlias = Sequence[int]
Pads: TypeAlias = Sequence[tuple[int, int]]


class ConvDimensionNumbers(NamedTuple):
    """Positions of the axes of the arrays of a convolution.

    Attributes:
        lhs_spec: (batch, feature, spatial axes...) of the input.
        rhs_spec: (output feature, input feature, spatial axes...) of the kernel.
        out_spec: (batch, feature, spatial axes...) of the result.
    """

    lhs_spec: tuple[int, ...]
    rhs_spec: tuple[int, ...]
    out_spec: tuple[int, ...]


ConvGeneralDilatedDimensionNumbers: TypeAlias = tuple[str, str, str] | ConvDimensionNumbers | None


def conv_dimension_numbers(
    lhs_shape: Sizes, rhs_shape: Sizes, dimension_numbers: ConvGeneralDilatedDimensionNumbers
) -> ConvDimensionNumbers:
    """The numbers of strings such as ``("NHWC", "HWIO", "NHWC")``; ``None`` is ``NC...``, ``OI...``, ``NC...``.

    Raises:
        TypeError: ranks differ, or the strings do not fit them.

    Example:
        >>> conv_dimension_numbers((1, 8, 8, 3), (3, 3, 3, 4), ("NHWC", "HWIO", "NHWC"))
        ConvDimensionNumbers(lhs_spec=(0, 3, 1, 2), rhs_spec=(3, 2, 0, 1), out_spec=(0, 3, 1, 2))
    """
    if isinstance(dimension_numbers, ConvDimensionNumbers):
        return dimension_numbers
    if len(lhs_shape) != len(rhs_shape):
        raise SizeError(
            f"convolution needs lhs and rhs of one rank, got {len(lhs_shape)} and {len(rhs_shape)}."
        )
    if dimension_numbers is None:
        same = tuple(range(len(lhs_shape)))
        return ConvDimensionNumbers(same, same, same)
    if not isinstance(dimension_numbers, (list, tuple)):
        raise SizeError(
            f"convolution dimension_numbers must be a tuple of three strings or None, got {dimension_numbers!r}."
        )
    if len(dimension_numbers) != 3:
        raise ValueError(
            f"convolution dimension_numbers are three, for lhs, rhs and the result; got {dimension_numbers!r}."
        )
    if not all(isinstance(s, str) for s in dimension_numbers):
        raise TypeError(
            f"convolution dimension_numbers must be three strings, for lhs, rhs and the result; got {dimension_numbers!r}."
        )
    for i, labels in enumerate(dimension_numbers):
        if len(labels) != len(lhs_shape):
            raise TypeError(
                f"convolution dimension_numbers[{i}] = {labels!r} must have one letter per axis of lhs {tuple(lhs_shape)} "
                f"and rhs {tuple(rhs_shape)}."
            )
    return ConvDimensionNumbers(*conv_general_permutations(dimension_numbers))


def conv_general_permutations(dimension_numbers: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    """Permutations from three strings: special axes first, spatial axes in the order of the kernel's letters.

    Raises:
        TypeError: a special letter is missing or comes twice, or the spatial letters differ.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.conv_general_permutations(("NCH", "OIH", "NCH"))
        ((0, 1, 2), (0, 1, 2), (0, 1, 2))
    """
    _, rhs, _ = dimension_numbers
    special = (("N", "C"), ("O", "I"), ("N", "C"))
    for i, (labels, pair) in enumerate(zip(dimension_numbers, special, strict=True)):
        if any(labels.count(letter) != 1 for letter in pair) or len(set(labels)) != len(labels):
            raise TypeError(
                f"convolution dimension_numbers[{i}] = {labels!r} needs the letters {pair[0]!r} and {pair[1]!r} once "
                "each, and no letter twice."
            )
    spatial = [letter for letter in rhs if letter not in "OI"]
    if any(
        set(labels) - set(pair) != set(spatial)
        for labels, pair in zip(dimension_numbers, special, strict=True)
    ):
        raise TypeError(
            f"convolution dimension_numbers must name the same spatial axes thrice, got {dimension_numbers}."
        )
    return tuple(
        tuple(labels.index(letter) for letter in (*pair, *spatial))
        for labels, pair in zip(dimension_numbers, special, strict=True)
    )


def dilated(size: int, dilation: int) -> int:
    """Extent of ``size`` elements with ``dilation - 1`` holes between neighbours."""
    return 0 if size == 0 else (size - 1) * dilation + 1


def window_count(size: int, window: int, stride: int) -> int:
    """How many windows fit."""
    return axes.larger(0, (size - window) // stride + 1)


def padtype_to_pads(
    in_shape: Sizes, window_shape: Sizes, window_strides: Sizes, padding: str | Pads
) -> list[tuple[int, int]]:
    """Padding before and after each axis for ``"VALID"``, ``"SAME"`` or ``"SAME_LOWER"``.

    ``"SAME"`` gives ``ceil(size / stride)`` windows, with the odd element of padding after; ``"SAME_LOWER"`` puts it
    before.

    Raises:
        RuntimeError: another name.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.padtype_to_pads((4,), (3,), (1,), "SAME")
        [(1, 1)]
    """
    if not isinstance(padding, str):
        return padding_pairs(padding)
    name = padding.upper()
    if name == "VALID":
        return [(0, 0)] * len(in_shape)
    if name not in ("SAME", "SAME_LOWER"):
        raise RuntimeError(
            f"padding {padding!r} is unknown. Give 'VALID', 'SAME', 'SAME_LOWER' or a pair for each axis."
        )
    pads = []
    # One number stands for all axes, as in NumPy.
    columns = np.broadcast_arrays(
        *(np.asarray(v) for v in (in_shape, window_shape, window_strides))
    )
    for size, window, stride in zip(*(map(axes.index, c) for c in columns), strict=True):
        total = axes.larger(0, (-(-size // stride) - 1) * stride + window - size)
        low = total // 2 if name == "SAME" else total - total // 2
        pads.append((low, total - low))
    return pads


def padding_pairs(padding: Any) -> list[tuple[int, int]]:
    """Padding before and after each axis, as pairs of integers.

    Raises:
        SizeError: the padding has another form.
    """
    try:
        return [(axes.index(low), axes.index(high)) for low, high in padding]
    except (TypeError, ValueError):
        raise SizeError(
            f"padding is 'SAME', 'SAME_LOWER', 'VALID' or a pair of integers for each axis, got {padding!r}."
        ) from None


def conv_shape_tuple(
    lhs_shape: Sizes, rhs_shape: Sizes, strides: Sizes, pads: str | Pads, batch_group_count: int = 1
) -> tuple[int, ...]:
    """Shape of the result for arrays in the order ``NC...``, ``OI...``, ``NC...``, with nothing dilated.

    Raises:
        TypeError: not one pair of paddings per spatial axis.
        ValueError: negative padding cuts off more than the axis has.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.conv_shape_tuple((1, 1, 4), (2, 1, 3), (1,), [(0, 0)])
        (1, 2, 2)
    """
    strides = static_ints("conv_shape_tuple", "strides", strides)
    pairs = padtype_to_pads(lhs_shape[2:], rhs_shape[2:], strides, pads)
    if len(pairs) != len(lhs_shape) - 2:
        raise TypeError(
            f"convolution needs {len(lhs_shape) - 2} pairs of padding, one for each spatial axis, got {len(pairs)}."
        )
    padded = [s + lo + hi for s, (lo, hi) in zip(lhs_shape[2:], pairs, strict=True)]
    if any(s < 0 for s in padded):
        raise ValueError(
            f"convolution: padding={pairs} takes more away than there is: lhs_shape[2:]={tuple(lhs_shape[2:])}."
        )
    spatial = map(window_count, padded, rhs_shape[2:], strides)
    return (lhs_shape[0] // batch_group_count, rhs_shape[0], *spatial)


def conv_general_shape_tuple(
    lhs_shape: Sizes,
    rhs_shape: Sizes,
    window_strides: Sizes,
    padding: str | Pads,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers,
) -> tuple[int, ...]:
    """Shape of the result of a convolution with axes in the order of ``dimension_numbers``.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.conv_general_shape_tuple((1, 1, 4), (2, 1, 3), (1,), "VALID", ("NCH", "OIH", "NCH"))
        (1, 2, 2)
    """
    numbers = conv_dimension_numbers(lhs_shape, rhs_shape, dimension_numbers)
    lhs, rhs = (
        np.take(shape, spec).tolist()
        for shape, spec in zip((lhs_shape, rhs_shape), numbers[:2], strict=True)
    )
    found = conv_shape_tuple(lhs, rhs, window_strides, padding)
    return tuple(int(found[i]) for i in np.argsort(numbers.out_spec))


def conv_transpose_shape_tuple(
    lhs_shape: Sizes,
    rhs_shape: Sizes,
    window_strides: Sizes,
    padding: str | Pads,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers,
) -> tuple[int, ...]:
    """Shape of the result of :func:`plugjax.lax.conv_transpose` with explicit or named padding.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.conv_transpose_shape_tuple((1, 1, 4), (1, 2, 3), (1,), "VALID", ("NCH", "IOH", "NCH"))
        (1, 2, 6)
    """
    numbers = conv_dimension_numbers(lhs_shape, rhs_shape, dimension_numbers)
    lhs, rhs = (
        np.take(shape, spec).tolist()
        for shape, spec in zip((lhs_shape, rhs_shape), numbers[:2], strict=True)
    )
    if isinstance(padding, str):
        padding = [
            transposed_padding(int(k), s, padding)
            for k, s in zip(rhs[2:], window_strides, strict=True)
        ]
    spread = [dilated(int(d), s) for d, s in zip(lhs[2:], window_strides, strict=True)]
    found = conv_shape_tuple((*lhs[:2], *spread), rhs, (1,) * len(spread), padding)
    return tuple(int(found[i]) for i in np.argsort(numbers.out_spec))


def transposed_padding(window: int, stride: int, padding: Any) -> tuple[int, int]:
    """Padding of the transposed convolution from that of the forward one.

    Args:
        window: extent of the kernel, dilation included.
        stride: of the forward convolution.
        padding: of the forward convolution: ``"SAME"``, ``"VALID"`` or a pair.

    Raises:
        ValueError: another padding.
    """
    if padding == "SAME":
        total = window + stride - 2
        low = window - 1 if stride > window - 1 else math.ceil(total / 2)
        return low, total - low
    if padding == "VALID":
        return window - 1, stride - 1 + max(window - stride, 0)
    if isinstance(padding, tuple):
        low, high = padding
        return window - low - 1, window - high - 1
    raise ValueError(
        f"conv_transpose: padding {padding} is unknown. Give 'SAME', 'VALID' or a pair for each spatial axis."
    )
