"""Large convolutions as matrix products, on processors.

IREE 3.13 generates loops for convolutions that, on processors without AVX-512, reach a third of the speed of its matrix products, and less than a
tenth if an image is 7 or 14 elements wide (eight images of 14 x 14 and 128 features, on a core with AVX2: 164 ms, as products 7). Two
forms, of operands with features last:

* The taps along the last axis of the image become features, and the taps along the others become features of the result: one product.
  Its parts, shifted, are added. A large image has a product of its own, so that what is between stays in the cache.
* A convolution with few results and many taps (the gradient of a kernel) is a product for each result.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from plugjax import lax
from plugjax.extend.core import ClosedJaxpr, ShapedArray
from plugjax.extend.transforms import stage

# Below, the loops are as fast as all that surrounds the products.
_FEWEST_PRODUCTS = 1_000_000
# Fewer features of an image, unless it has hardly any, make the loops fast and the products slow.
_FEWEST_FEATURES = 16
_HARDLY_ANY = 2
_MOST_RESULTS = 64
# Bytes that the last cache holds, and that a cache of each core holds.
_LARGE, _BAND = 8 << 20, 1 << 20


class Shape(NamedTuple):
    """A convolution without groups, of operands with features last and padding and holes filled in.

    Attributes:
        image: shape of the images: batch, space, features.
        kernel: shape of the kernel: space, features of the images, features of the result.
        strides: between results, for each axis of space.
        gaps: between taps.
        precision: of the products.
    """

    image: tuple[int, ...]
    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    gaps: tuple[int, ...]
    precision: Any

    @property
    def results(self) -> tuple[int, ...]:
        """How many results there are along each axis of space."""
        sizes = zip(self.image[1:-1], self.kernel, self.gaps, self.strides, strict=False)
        return tuple((size - (taps - 1) * gap - 1) // step + 1 for size, taps, gap, step in sizes)


def suits(shape: Shape, has_holes: bool) -> bool:
    """Whether a convolution is faster as products.

    Args:
        shape: the convolution.
        has_holes: there are zeros between the elements of an image, which the products include.
    """
    if 0 in (*shape.image, *shape.kernel):
        return False
    taps, places = math.prod(shape.kernel[:-2]), math.prod(shape.results)
    products = shape.image[0] * places * math.prod(shape.kernel)
    if taps == 1 or products < _FEWEST_PRODUCTS:
        return False
    *_, features, outputs = shape.kernel
    if has_holes and outputs < _FEWEST_FEATURES:
        return False
    if _has_few_results(shape):
        return min(outputs, shape.image[0]) >= _FEWEST_FEATURES
    if features <= _HARDLY_ANY:
        return min(outputs, features * taps) >= _FEWEST_FEATURES
    return features >= _FEWEST_FEATURES


def _has_few_results(shape: Shape) -> bool:
    places = math.prod(shape.results)
    return places <= _MOST_RESULTS and places < math.prod(shape.kernel[:-2])


@functools.cache
def program(shape: Shape, dtype: np.dtype[Any]) -> ClosedJaxpr:
    """The convolution as a program of images and kernel."""
    form = _few_results if _has_few_results(shape) else _many_results
    avals = [ShapedArray(shape.image, dtype), ShapedArray(shape.kernel, dtype)]
    return stage(lambda x, kernel: [form(shape, x, kernel)], avals, "convolution")


def _few_results(shape: Shape, x: Any, kernel: Any) -> Any:
    """For each result the product of all that its taps read with the kernel."""
    space = range(len(shape.results))
    axes = ((*(axis + 1 for axis in space), len(space) + 1), (*space, len(space)))
    found = []
    for place in np.ndindex(*shape.results):
        read = x
        for axis in space:
            start, step = place[axis] * shape.strides[axis], shape.gaps[axis]
            end = start + (shape.kernel[axis] - 1) * step + 1
            read = lax.slice_in_dim(read, start, end, step, axis + 1)
        found.append(lax.dot_general(read, kernel, (axes, ((), ())), precision=shape.precision))
    y = lax.concatenate([lax.expand_dims(part, (1,)) for part in found], 1)
    return lax.reshape(y, (shape.image[0], *shape.results, shape.kernel[-1]))


def _many_results(shape: Shape, x: Any, kernel: Any) -> Any:
    """The convolution as a whole, or in bands of images if what is between does not stay in a cache."""
    across = math.prod(shape.kernel[axis] for axis in _inner(shape))
    between = 4 * math.prod(shape.image) * across
    first, *others = shape.results
    if between <= _LARGE or (shape.image[0] == 1 and not others):
        return _convolved(shape, x, kernel, shape.results, in_one=True)
    bands = -(-between // (shape.image[0] * _BAND)) if others else 1
    rows = _rows(first, -(-first // min(bands, first)))
    bands = -(-first // rows)
    read = (rows - 1) * shape.strides[0] + (shape.kernel[0] - 1) * shape.gaps[0] + 1
    over = (bands - 1) * rows * shape.strides[0] + read - shape.image[1]
    if over > 0:  # The last band reads beyond the image.
        edges = [(0, over if axis == 1 else 0, 0) for axis in range(x.ndim)]
        x = lax.pad(x, np.zeros((), x.dtype), edges)

    def band(number: Any) -> Any:
        image, place = lax.div(number, np.int32(bands)), lax.rem(number, np.int32(bands))
        start = lax.mul(place, np.int32(rows * shape.strides[0]))
        starts: list[Any] = [image, start, *[np.int32(0)] * (x.ndim - 2)]
        part = lax.dynamic_slice(x, starts, (1, read, *x.shape[2:]))
        return lax.squeeze(_convolved(shape, part, kernel, (rows, *others), in_one=False), (0,))

    found = lax.map(band, np.arange(shape.image[0] * bands, dtype=np.int32))
    found = lax.reshape(found, (shape.image[0], bands * rows, *found.shape[2:]))
    return lax.slice_in_dim(found, 0, first, axis=1)


def _rows(count: int, most: int) -> int:
    """How many rows of a result a band has: a divisor of their number, if one is not much smaller than the most."""
    divisor = next(rows for rows in range(most, 0, -1) if count % rows == 0)
    return divisor if 2 * divisor >= most else most


def _inner(shape: Shape) -> range:
    """The axes of space whose taps become features of what is multiplied: the last, or all if there are hardly any features."""
    rank = len(shape.results)
    return range(0 if shape.kernel[-2] <= _HARDLY_ANY else rank - 1, rank)


def _convolved(shape: Shape, x: Any, kernel: Any, results: Sequence[int], *, in_one: bool) -> Any:
    """Products of images, as many for each as ``results`` says; in one if strides allow it."""
    *sizes, features, outputs = shape.kernel
    inner = _inner(shape)
    outer = range(inner.start)
    across, taps = (math.prod(sizes[axis] for axis in axes) for axes in (inner, outer))
    kernel = lax.reshape(kernel, (taps, across * features, outputs))

    def read(x: Any, axes: Sequence[int], tap: Sequence[int]) -> Any:
        for axis, place in zip(axes, tap, strict=True):
            start, step = place * shape.gaps[axis], shape.strides[axis]
            end = start + (results[axis] - 1) * step + 1
            x = lax.slice_in_dim(x, start, end, step, axis + 1)
        return x

    def product(x: Any, kernel: Any) -> Any:
        flat = lax.reshape(x, (math.prod(x.shape[:-1]), x.shape[-1]))
        y = lax.dot_general(flat, kernel, (((1,), (0,)), ((), ())), precision=shape.precision)
        return lax.reshape(y, (*x.shape[:-1], kernel.shape[-1]))

    wide = lax.concatenate([read(x, inner, tap) for tap in _taps(sizes, inner)], x.ndim - 1)
    if in_one and all(shape.strides[axis] == 1 for axis in outer):
        # The taps of outer axes are features of the result.
        joined = lax.reshape(lax.transpose(kernel, (1, 0, 2)), (across * features, taps * outputs))
        y = product(wide, joined)
        parts = [
            read(lax.slice_in_dim(y, i * outputs, (i + 1) * outputs, axis=-1), outer, tap)
            for i, tap in enumerate(_taps(sizes, outer))
        ]
    else:
        parts = [
            product(read(wide, outer, tap), lax.index_in_dim(kernel, i, keepdims=False))
            for i, tap in enumerate(_taps(sizes, outer))
        ]
    return functools.reduce(lax.add, parts)


def _taps(sizes: Sequence[int], axes: Sequence[int]) -> Iterator[tuple[int, ...]]:
    return itertools.product(*(range(sizes[axis]) for axis in axes))
