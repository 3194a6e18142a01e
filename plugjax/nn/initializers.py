"""Initial values of parameters.

An initializer is a function ``(key, shape, dtype) -> array``.

Reference:
    X. Glorot, Y. Bengio, "Understanding the difficulty of training deep feedforward neural networks", 2010.
    K. He et al., "Delving deep into rectifiers", 2015.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from plugjax import lax, random
from plugjax.extend.core import Array
from plugjax.extend.dtypes import DTypeLike
from plugjax.extend.meshes import ShardingLike
from plugjax.extend.transforms import api_boundary, publish
from plugjax.lax.placement import laid_out
from plugjax.numpy.creation import array, full, ones as ones_array, zeros as zeros_array
from plugjax.numpy.manipulation import moveaxis
from plugjax.numpy.promotion import ArrayLike, canonical_dtype

__all__ = [
    "Initializer", "constant", "delta_orthogonal", "glorot_normal", "glorot_uniform", "he_normal", "he_uniform", "kaiming_normal",
    "kaiming_uniform", "lecun_normal", "lecun_uniform", "normal", "ones", "orthogonal", "truncated_normal", "uniform",
    "variance_scaling", "xavier_normal", "xavier_uniform", "zeros",
]  # fmt: skip


class Initializer(Protocol):
    """A function that makes initial values."""

    def __call__(self, key: ArrayLike, shape: Sequence[int], dtype: DTypeLike = ...) -> Array:
        """Initial values of a shape."""


def zeros(
    key: ArrayLike,
    shape: Sequence[int],
    dtype: DTypeLike = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Zeros; the key is not used.

    Example:
        >>> from plugjax import random
        >>> from plugjax.nn import initializers
        >>> import plugjax.numpy as jnp
        >>> initializers.zeros(random.key(0), (2,), jnp.float32)
        Array([0., 0.], dtype=float32)
    """
    if out_sharding is not None:
        return laid_out("zeros", zeros(key=key, shape=shape, dtype=dtype), out_sharding)
    return zeros_array(shape, dtype)


def ones(
    key: ArrayLike,
    shape: Sequence[int],
    dtype: DTypeLike = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Ones; the key is not used.

    Example:
        >>> from plugjax import random
        >>> from plugjax.nn import initializers
        >>> import plugjax.numpy as jnp
        >>> initializers.ones(random.key(0), (2,), jnp.float32)
        Array([1., 1.], dtype=float32)
    """
    if out_sharding is not None:
        return laid_out("ones", ones(key=key, shape=shape, dtype=dtype), out_sharding)
    return ones_array(shape, dtype)


def _dtype(who: str, dtype: DTypeLike) -> Any:
    return canonical_dtype(who, float if dtype is None else dtype)


def constant(value: ArrayLike, dtype: DTypeLike = None) -> Initializer:
    """One value everywhere.

    Example:
        >>> from plugjax import random
        >>> from plugjax.nn import initializers
        >>> import plugjax.numpy as jnp
        >>> initializers.constant(7.0)(random.key(0), (2,), jnp.float32)
        Array([7., 7.], dtype=float32)
    """

    @api_boundary
    def init(key: ArrayLike, shape: Sequence[int], dtype: DTypeLike = dtype) -> Array:
        return full(shape, value, _dtype("constant", dtype))

    return init


def uniform(scale: ArrayLike = 1e-2, dtype: DTypeLike = None) -> Initializer:
    """Uniform numbers in ``[0, scale)``.

    Example:
        >>> from plugjax import random
        >>> from plugjax.nn import initializers
        >>> import plugjax.numpy as jnp
        >>> x = initializers.uniform(0.1)(random.key(0), (9,), jnp.float32)
        >>> jnp.all((0 <= x) & (x < 0.1))
        Array(True, dtype=bool)
    """

    @api_boundary
    def init(key: ArrayLike, shape: Sequence[int], dtype: DTypeLike = dtype) -> Array:
        wanted = _dtype("uniform", dtype)
        return random.uniform(key, shape, wanted) * wanted.type(scale)

    return init


def normal(stddev: ArrayLike = 1e-2, dtype: DTypeLike = None) -> Initializer:
    """Normal numbers of a standard deviation.

    Example:
        >>> from plugjax import random
        >>> from plugjax.nn import initializers
        >>> import plugjax.numpy as jnp
        >>> initializers.normal(5.0)(random.key(0), (2, 3), jnp.float32).round(2)
        Array([[ 8.11, 10.13, -2.17],
               [-0.39,  0.88, -4.86]], dtype=float32)
    """

    @api_boundary
    def init(key: ArrayLike, shape: Sequence[int], dtype: DTypeLike = dtype) -> Array:
        wanted = _dtype("normal", dtype)
        return random.normal(key, shape, wanted) * wanted.type(stddev)

    return init


def truncated_normal(
    stddev: ArrayLike = 1e-2, dtype: DTypeLike = None, lower: float = -2.0, upper: float = 2.0
) -> Initializer:
    """Normal numbers between ``lower`` and ``upper`` standard deviations.

    Example:
        >>> from plugjax import random
        >>> from plugjax.nn import initializers
        >>> import plugjax.numpy as jnp
        >>> jnp.all(jnp.abs(initializers.truncated_normal(1.0)(random.key(0), (9,), jnp.float32)) <= 2)
        Array(True, dtype=bool)
    """

    @api_boundary
    def init(key: ArrayLike, shape: Sequence[int], dtype: DTypeLike = dtype) -> Array:
        wanted = _dtype("truncated_normal", dtype)
        drawn = random.truncated_normal(key, lower, upper, shape, wanted)
        return drawn * wanted.type(stddev)

    return init


def _product(shape: Sequence[int], axes: int | Sequence[int]) -> int:
    return math.prod(shape[i] for i in ((axes,) if isinstance(axes, int) else axes))


def _fans(
    shape: Sequence[int],
    in_axis: int | Sequence[int],
    out_axis: int | Sequence[int],
    batch_axis: int | Sequence[int],
) -> tuple[float, float]:
    """Numbers of inputs and outputs of a unit; the remaining axes are a receptive field."""
    if len(shape) <= 1 and in_axis == -2:
        raise ValueError(
            f"the numbers of inputs and outputs need a shape of at least 2D, got {len(shape)} dimensions."
        )
    inputs, outputs, batch = (_product(shape, axes) for axes in (in_axis, out_axis, batch_axis))
    field = math.prod(shape) / inputs / outputs / batch
    return inputs * field, outputs * field


def _in_disk(
    key: ArrayLike,
    shape: Sequence[int],
    real: np.dtype[Any],
    wanted: np.dtype[Any],
    cut: float | None,
) -> Array:
    """Complex numbers of variance 1: uniform in a disk, or normal ones truncated at the absolute value ``cut``."""
    radius_key, angle_key = random.split(key)
    drawn = random.uniform(radius_key, shape, real)
    if cut is None:
        radius = lax.sqrt(drawn * real.type(2))
    else:
        # The square of a normal radius is exponential; invert its distribution up to the cut.
        radius = lax.sqrt(lax.neg(lax.log1p(drawn * real.type(np.expm1(-(cut**2))))))
    angle = random.uniform(angle_key, shape, real) * real.type(2 * np.pi)
    return lax.convert_element_type(
        lax.complex(lax.mul(radius, lax.cos(angle)), lax.mul(radius, lax.sin(angle))), wanted
    )


def variance_scaling(
    scale: ArrayLike,
    mode: str,
    distribution: str,
    in_axis: int | Sequence[int] = -2,
    out_axis: int | Sequence[int] = -1,
    batch_axis: Sequence[int] = (),
    dtype: DTypeLike = None,
) -> Initializer:
    """Numbers of variance ``scale / n``, where ``n`` counts inputs, outputs or their mean.

    Args:
        scale: factor.
        mode: ``"fan_in"``, ``"fan_out"``, ``"fan_avg"`` or ``"fan_geo_avg"``: the choice of ``n``.
        distribution: ``"truncated_normal"``, ``"normal"`` or ``"uniform"``.
        in_axis: axes of inputs.
        out_axis: axes of outputs.
        batch_axis: axes that are neither inputs nor outputs.
        dtype: default dtype.

    Raises:
        ValueError: an unknown mode or distribution, or a shape with less than two axes.

    Example:
        >>> from plugjax import random
        >>> from plugjax.nn import initializers
        >>> import plugjax.numpy as jnp
        >>> make = initializers.variance_scaling(2.0, "fan_in", "normal")
        >>> make(random.key(0), (2, 3), jnp.float32).round(2)
        Array([[ 1.62,  2.03, -0.43],
               [-0.08,  0.18, -0.97]], dtype=float32)
    """

    @api_boundary
    def init(key: ArrayLike, shape: Sequence[int], dtype: DTypeLike = dtype) -> Array:
        wanted = _dtype("variance_scaling", dtype)
        fan_in, fan_out = _fans(shape, in_axis, out_axis, batch_axis)
        counts = {
            "fan_in": fan_in,
            "fan_out": fan_out,
            "fan_avg": (fan_in + fan_out) / 2,
            "fan_geo_avg": (fan_in * fan_out) ** 0.5,
        }
        if mode not in counts:
            raise ValueError(f"variance_scaling: no mode {mode}. There are: {', '.join(counts)}.")
        is_complex = wanted.kind == "c"
        real = np.dtype(f"float{wanted.itemsize * 4}") if is_complex else wanted
        variance = real.type(scale / counts[mode])
        if distribution == "normal":
            return lax.mul(random.normal(key, shape, wanted), wanted.type(np.sqrt(variance)))
        if distribution == "uniform":
            if is_complex:
                return _in_disk(key, shape, real, wanted, None) * wanted.type(np.sqrt(variance))
            return random.uniform(key, shape, wanted, -1) * np.sqrt(wanted.type(3) * variance)
        if distribution == "truncated_normal":
            # The standard deviation of a truncated standard normal: cut at -2 and 2, or at the
            # absolute value 2.
            stddev = np.sqrt(variance) / real.type(
                0.95311164380491208 if is_complex else 0.87962566103423978
            )
            if is_complex:
                return _in_disk(key, shape, real, wanted, 2.0) * wanted.type(stddev)
            return random.truncated_normal(key, -2, 2, shape, wanted) * stddev
        raise ValueError(f"variance_scaling: no distribution {distribution}.")

    return init


def glorot_uniform(
    in_axis: int | Sequence[int] = -2,
    out_axis: int | Sequence[int] = -1,
    batch_axis: Sequence[int] = (),
    dtype: DTypeLike = None,
) -> Initializer:
    """Uniform numbers of variance 2 / (inputs + outputs).

    Example:
        >>> from plugjax import random
        >>> from plugjax.nn import initializers
        >>> import plugjax.numpy as jnp
        >>> initializers.glorot_uniform()(random.key(0), (2, 3), jnp.float32).round(2)
        Array([[ 0.98,  1.05, -0.37],
               [-0.07,  0.15, -0.73]], dtype=float32)
    """
    return variance_scaling(1.0, "fan_avg", "uniform", in_axis, out_axis, batch_axis, dtype)


def glorot_normal(
    in_axis: int | Sequence[int] = -2,
    out_axis: int | Sequence[int] = -1,
    batch_axis: Sequence[int] = (),
    dtype: DTypeLike = None,
) -> Initializer:
    """Truncated normal numbers of variance 2 / (inputs + outputs).

    Example:
        >>> from plugjax import random
        >>> from plugjax.nn import initializers
        >>> import plugjax.numpy as jnp
        >>> initializers.glorot_normal()(random.key(0), (2, 3), jnp.float32).round(2)
        Array([[ 1.05,  1.23, -0.3 ],
               [-0.05,  0.12, -0.66]], dtype=float32)
    """
    return variance_scaling(
        1.0, "fan_avg", "truncated_normal", in_axis, out_axis, batch_axis, dtype
    )


def lecun_uniform(
    in_axis: int | Sequence[int] = -2,
    out_axis: int | Sequence[int] = -1,
    batch_axis: Sequence[int] = (),
    dtype: DTypeLike = None,
) -> Initializer:
    """Uniform numbers of variance 1 / inputs.

    Example:
        >>> from plugjax import random
        >>> from plugjax.nn import initializers
        >>> import plugjax.numpy as jnp
        >>> initializers.lecun_uniform()(random.key(0), (2, 3), jnp.float32).round(2)
        Array([[ 1.1 ,  1.17, -0.41],
               [-0.08,  0.17, -0.82]], dtype=float32)
    """
    return variance_scaling(1.0, "fan_in", "uniform", in_axis, out_axis, batch_axis, dtype)


def lecun_normal(
    in_axis: int | Sequence[int] = -2,
    out_axis: int | Sequence[int] = -1,
    batch_axis: Sequence[int] = (),
    dtype: DTypeLike = None,
) -> Initializer:
    """Truncated normal numbers of variance 1 / inputs.

    Example:
        >>> from plugjax import random
        >>> from plugjax.nn import initializers
        >>> import plugjax.numpy as jnp
        >>> initializers.lecun_normal()(random.key(0), (2, 3), jnp.float32).round(2)
        Array([[ 1.17,  1.38, -0.33],
               [-0.06,  0.14, -0.73]], dtype=float32)
    """
    return variance_scaling(1.0, "fan_in", "truncated_normal", in_axis, out_axis, batch_axis, dtype)


def he_uniform(
    in_axis: int | Sequence[int] = -2,
    out_axis: int | Sequence[int] = -1,
    batch_axis: Sequence[int] = (),
    dtype: DTypeLike = None,
) -> Initializer:
    """Uniform numbers of variance 2 / inputs.

    Example:
        >>> from plugjax import random
        >>> from plugjax.nn import initializers
        >>> import plugjax.numpy as jnp
        >>> initializers.he_uniform()(random.key(0), (2, 3), jnp.float32).round(2)
        Array([[ 1.55,  1.66, -0.58],
               [-0.11,  0.24, -1.16]], dtype=float32)
    """
    return variance_scaling(2.0, "fan_in", "uniform", in_axis, out_axis, batch_axis, dtype)


def he_normal(
    in_axis: int | Sequence[int] = -2,
    out_axis: int | Sequence[int] = -1,
    batch_axis: Sequence[int] = (),
    dtype: DTypeLike = None,
) -> Initializer:
    """Truncated normal numbers of variance 2 / inputs.

    Example:
        >>> from plugjax import random
        >>> from plugjax.nn import initializers
        >>> import plugjax.numpy as jnp
        >>> initializers.he_normal()(random.key(0), (2, 3), jnp.float32).round(2)
        Array([[ 1.66,  1.95, -0.47],
               [-0.09,  0.19, -1.04]], dtype=float32)
    """
    return variance_scaling(2.0, "fan_in", "truncated_normal", in_axis, out_axis, batch_axis, dtype)


xavier_uniform = glorot_uniform
xavier_normal = glorot_normal
kaiming_uniform = he_uniform
kaiming_normal = he_normal


def orthogonal(
    scale: ArrayLike = 1.0, column_axis: int = -1, dtype: DTypeLike = None
) -> Initializer:
    """Matrices with orthonormal columns (rows, if there are fewer), uniform among all such, times ``scale``.

    Args:
        scale: factor.
        column_axis: the axis of the columns; the others together are that of the rows.
        dtype: default dtype of the values.

    Example:
        >>> from plugjax import random
        >>> from plugjax.nn import initializers
        >>> import plugjax.numpy as jnp
        >>> q = initializers.orthogonal()(random.key(0), (2, 2), jnp.float32)
        >>> jnp.allclose(q @ q.T, jnp.eye(2), atol=1e-5)
        Array(True, dtype=bool)
    """

    @api_boundary
    def init(key: ArrayLike, shape: Sequence[int], dtype: DTypeLike = dtype) -> Array:
        wanted = _dtype("orthogonal", dtype)
        if len(shape) < 2:
            raise ValueError("orthogonal requires a shape of two axes or more.")
        if 0 in shape:
            return zeros_array(shape, wanted)
        columns = shape[column_axis]
        rest = [n for i, n in enumerate(shape) if i != column_axis % len(shape)]
        q = random.orthogonal(key, math.prod(rest), (), wanted, columns)
        q = moveaxis(lax.reshape(q, (*rest, columns)), -1, column_axis)
        return array(scale, wanted) * q

    return init


def delta_orthogonal(
    scale: ArrayLike = 1.0, column_axis: int = -1, dtype: DTypeLike = None
) -> Initializer:
    """Kernels of convolutions that are an orthogonal matrix in the middle, and zero elsewhere.

    Args:
        scale: factor.
        column_axis: the axis of the columns.
        dtype: default dtype of the values.

    Reference:
        L. Xiao et al., "Dynamical isometry and a mean field theory of CNNs", 2018.

    Example:
        >>> from plugjax import random
        >>> from plugjax.nn import initializers
        >>> import plugjax.numpy as jnp
        >>> jnp.square(initializers.delta_orthogonal()(random.key(0), (3, 2, 2), jnp.float32)).sum((1, 2)).round(2)
        Array([0., 2., 0.], dtype=float32)
    """
    matrix = orthogonal(scale, column_axis, dtype)

    @api_boundary
    def init(key: ArrayLike, shape: Sequence[int], dtype: DTypeLike = dtype) -> Array:
        if len(shape) not in (3, 4, 5):
            raise ValueError("delta_orthogonal requires a shape of three, four or five axes.")
        if shape[-1] < shape[-2]:
            raise ValueError("delta_orthogonal requires fan_in <= fan_out.")
        middle = tuple((n - 1) // 2 for n in shape[:-2])
        wanted = _dtype("delta_orthogonal", dtype)
        return zeros_array(shape, wanted).at[middle].set(matrix(key, shape[-2:], wanted))

    return init


publish(globals(), __all__)
