"""Resampling of images: the names of ``jax.image``.

Along each axis the result is the image times a matrix. Column ``i`` of the matrix is a kernel, centered at the position
of output pixel ``i`` in the image, sampled at the input pixels and divided by its sum. With antialiasing the kernel
widens as the image shrinks.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from plugjax import lax
from plugjax.extend.core import Array
from plugjax.extend.transforms import publish
from plugjax.lax.axes import static_sizes
from plugjax.lax.dot import PrecisionLike
from plugjax.numpy.creation import arange
from plugjax.numpy.einsum import einsum
from plugjax.numpy.indexing import take
from plugjax.numpy.manipulation import canonical_axis
from plugjax.numpy.promotion import ArrayLike, Operand, as_operand, same_dtype, to_inexact
from plugjax.numpy.selection import where

__all__ = ["ResizeMethod", "resize", "scale_and_translate"]

Kernel = Callable[[Any], Any]


class ResizeMethod(enum.Enum):
    """Kernel of a resampling."""

    NEAREST = 0
    LINEAR = 1
    LANCZOS3 = 2
    LANCZOS5 = 3
    CUBIC = 4
    CUBIC_PYTORCH = 5
    AREA = 6

    @staticmethod
    def from_string(s: str) -> ResizeMethod:
        """The method of a name such as ``"bilinear"``.

        Raises:
            ValueError: an unknown name.
        """
        if s not in _NAMES:
            raise ValueError(f'resize: no method "{s}". There are: {", ".join(_NAMES)}.')
        return _NAMES[s]


_NAMES = {
    "nearest": ResizeMethod.NEAREST,
    **dict.fromkeys(("linear", "bilinear", "trilinear", "triangle"), ResizeMethod.LINEAR),
    "lanczos3": ResizeMethod.LANCZOS3,
    "lanczos5": ResizeMethod.LANCZOS5,
    **dict.fromkeys(("cubic", "bicubic", "tricubic"), ResizeMethod.CUBIC),
    **dict.fromkeys(("cubic-pytorch", "bicubic-pytorch"), ResizeMethod.CUBIC_PYTORCH),
    "area": ResizeMethod.AREA,
}


def _triangle(x: Any) -> Any:
    return where(x < 1, 1 - x, 0)


def _lanczos(radius: int) -> Kernel:
    def kernel(x: Any) -> Any:
        waves = radius * lax.sin(np.pi * x) * lax.sin(np.pi * x / radius)
        # Near 0 the quotient is 1, and would be 0 / 0.
        inside = where(x > 1e-3, waves / where(x != 0, np.pi**2 * x * x, 1), 1)
        return where(x > radius, 0, inside)

    return kernel


def _cubic(a: float) -> Kernel:
    """The kernel of cubic convolution (Keys 1981) with slope ``a`` at 1."""

    def kernel(x: Any) -> Any:
        near = ((a + 2) * x - (a + 3)) * x * x + 1
        far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
        return where(x >= 2, 0, where(x >= 1, far, near))

    return kernel


_KERNELS: dict[ResizeMethod, Kernel] = {
    ResizeMethod.LINEAR: _triangle,
    ResizeMethod.LANCZOS3: _lanczos(3),
    ResizeMethod.LANCZOS5: _lanczos(5),
    ResizeMethod.CUBIC: _cubic(-0.5),
    ResizeMethod.CUBIC_PYTORCH: _cubic(-0.75),
}


def _overlaps(size: int, count: int, step: Any, start: Any, dtype: Any) -> Any:
    """Lengths that output pixels, laid over the image, share with input pixels."""
    left = arange(count, dtype=dtype) * step + start
    pixel = arange(size, dtype=dtype)[:, None]
    shared = lax.min(*_spread((left + step)[None], pixel + 1.0)) - lax.max(
        *_spread(left[None], pixel)
    )
    return where(shared > 0, shared, 0)


def _spread(x: Any, y: Any) -> tuple[Any, Any]:
    shape = np.broadcast_shapes(x.shape, y.shape)
    return lax.broadcast_in_dim(x, shape, (0, 1)), lax.broadcast_in_dim(y, shape, (0, 1))


def _weights(
    size: int, count: int, scale: Any, translation: Any, method: ResizeMethod, antialias: bool
) -> Any:
    """Matrix ``[size, count]`` that resamples one axis."""
    step = 1.0 / scale
    dtype = step.dtype
    start = -translation * step
    centers = (arange(count, dtype=dtype) + 0.5) * step + start - 0.5
    # Without antialiasing, PyTorch's cubic kernel extends the image by its edge.
    margin = 2 if method is ResizeMethod.CUBIC_PYTORCH else 0
    if method is ResizeMethod.AREA:
        weights = _overlaps(size, count, step, start, dtype)
    else:
        pixels = arange(-margin, size + margin, dtype=dtype)
        distance = abs(centers[None] - pixels[:, None])
        if antialias:
            distance = distance / where(step > 1, step, 1)
        weights = _KERNELS[method](distance)
    if margin:
        before = weights[:margin].sum(0)
        after = weights[size + margin :].sum(0)
        weights = weights[margin : size + margin].at[0].add(before).at[-1].add(after)
    total = weights.sum(0, keepdims=True)
    enough = abs(total) > 1000 * float(np.finfo(np.float32).eps)
    weights = where(enough, weights / where(total != 0, total, 1), 0)
    if margin:
        return weights
    inside = (centers >= -0.5) & (centers <= size - 0.5)
    return where(inside[None], weights, 0)


def _resampled(
    x: Operand,
    shape: tuple[int, ...],
    axes: Sequence[int],
    scales: Sequence[Any],
    translations: Sequence[Any],
    method: ResizeMethod,
    antialias: bool,
    precision: Any,
) -> Array:
    if method is ResizeMethod.CUBIC_PYTORCH and antialias:
        method = ResizeMethod.CUBIC
    for axis, scale, translation in zip(axes, scales, translations, strict=True):
        weights = _weights(x.shape[axis], shape[axis], scale, translation, method, antialias)
        ins = list(range(x.ndim))
        outs = [x.ndim if i == axis else i for i in ins]
        x = einsum(x, ins, weights.astype(x.dtype), [axis, x.ndim], outs, precision=precision)
    return x


def _checked(
    image: Operand, shape: Sequence[int], method: str | ResizeMethod
) -> tuple[tuple[int, ...], ResizeMethod]:
    sizes = static_sizes("image.resize", shape)
    if len(sizes) != image.ndim:
        raise ValueError(
            f"resize: shape needs one size for each axis, got {sizes} for an image of shape {image.shape}."
        )
    return sizes, ResizeMethod.from_string(method) if isinstance(method, str) else method


def scale_and_translate(
    image: ArrayLike,
    shape: Sequence[int],
    spatial_dims: Sequence[int],
    scale: ArrayLike,
    translation: ArrayLike,
    method: str | ResizeMethod,
    antialias: bool = True,
    precision: PrecisionLike = lax.Precision.HIGHEST,
) -> Array:
    """An image scaled, then moved, along some of its axes; zero outside of the moved image.

    Args:
        image: the image.
        shape: shape of the result; axes that are not resampled keep their sizes.
        spatial_dims: the axes to resample.
        scale: a factor for each of them.
        translation: a distance in output pixels for each of them.
        method: kernel, or its name; not ``"nearest"``.
        antialias: widen the kernel when the image shrinks.
        precision: of the products with the matrices.

    Raises:
        ValueError: shapes that do not fit, or a method without a kernel.

    Example:
        >>> from plugjax import image
        >>> import plugjax.numpy as jnp
        >>> image.scale_and_translate(jnp.array([[1.0, 2.0]]), (1, 4), (1,), jnp.array([2.0]), jnp.zeros(1), "linear")
        Array([[1.  , 1.25, 1.75, 2.  ]], dtype=float32)
    """
    x = as_operand("scale_and_translate", image)
    sizes, method = _checked(x, shape, method)
    if method is ResizeMethod.NEAREST:
        raise ValueError(
            "scale_and_translate: nearest neighbors have no kernel. Use another method."
        )
    x = to_inexact("scale_and_translate", x)
    scales, moves = same_dtype("scale_and_translate", scale, translation, inexact=True)
    axes = [canonical_axis(a, x.ndim) for a in spatial_dims]
    if len(axes) != len(scales) or len(axes) != len(moves):
        raise ValueError("scale and translation must have one entry for each of spatial_dims")
    each = range(len(axes))
    return _resampled(
        x,
        sizes,
        axes,
        [scales[i] for i in each],
        [moves[i] for i in each],
        method,
        antialias,
        precision,
    )


def resize(
    image: ArrayLike,
    shape: Sequence[int],
    method: str | ResizeMethod,
    antialias: bool = True,
    precision: PrecisionLike = lax.Precision.HIGHEST,
) -> Array:
    """An image resampled to another shape.

    Args:
        image: the image.
        shape: shape of the result, for all axes.
        method: kernel, or its name: ``"nearest"``, ``"linear"``, ``"cubic"``, ``"lanczos3"``, ``"lanczos5"``,
            ``"cubic-pytorch"``, ``"area"``.
        antialias: widen the kernel when the image shrinks.
        precision: of the products with the matrices.

    Raises:
        ValueError: another number of axes, or an unknown method.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax import image
        >>> image.resize(jnp.array([0.0, 1.0]), (4,), "linear")
        Array([0.  , 0.25, 0.75, 1.  ], dtype=float32)
    """
    x = as_operand("resize", image)
    sizes, method = _checked(x, shape, method)
    axes = [i for i, (old, new) in enumerate(zip(x.shape, sizes, strict=True)) if old != new]
    if method is ResizeMethod.NEAREST:
        for axis in axes:
            centers = (np.arange(sizes[axis], dtype=np.float32) + np.float32(0.5)) * np.float32(
                x.shape[axis]
            )
            nearest = np.floor(centers / np.float32(max(sizes[axis], 1))).astype(np.int32)
            x = take(x, nearest, axis)
        return x
    x = to_inexact("resize", x)
    scales = [as_operand("resize", sizes[i] / x.shape[i] if sizes[i] else 1.0) for i in axes]
    none = as_operand("resize", 0.0)
    return _resampled(x, sizes, axes, scales, [none] * len(axes), method, antialias, precision)


publish(globals(), __all__)
