"""Initial values of weights: functions ``(key, shape, dtype) -> array``."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any


import plugjax.numpy as jnp
from plugjax import random

Initializer = Callable[..., Any]


def zeros(key: Any, shape: Sequence[int], dtype: Any = None, out_sharding: Any = None) -> Any:
    """All zeros."""
    return jnp.zeros(shape, dtype or jnp.float_)


def ones(key: Any, shape: Sequence[int], dtype: Any = None, out_sharding: Any = None) -> Any:
    """All ones."""
    return jnp.ones(shape, dtype or jnp.float_)


def constant(value: Any, dtype: Any = None) -> Initializer:
    """All of one value."""

    def init(key: Any, shape: Sequence[int], dtype: Any = dtype, out_sharding: Any = None) -> Any:
        return jnp.full(shape, value, dtype or jnp.float_)

    return init


def uniform(scale: Any = 1e-2, dtype: Any = None) -> Initializer:
    """Uniform in ``[0, scale)``."""

    def init(key: Any, shape: Sequence[int], dtype: Any = dtype, out_sharding: Any = None) -> Any:
        kind = jnp.dtype(dtype or jnp.float_)
        return random.uniform(key, shape, kind) * jnp.asarray(scale, kind)

    return init


def normal(stddev: Any = 1e-2, dtype: Any = None) -> Initializer:
    """Normal with mean 0."""

    def init(key: Any, shape: Sequence[int], dtype: Any = dtype, out_sharding: Any = None) -> Any:
        kind = jnp.dtype(dtype or jnp.float_)
        return random.normal(key, shape, kind) * jnp.asarray(stddev, kind)

    return init


def truncated_normal(
    stddev: Any = 1e-2, dtype: Any = None, lower: Any = -2.0, upper: Any = 2.0
) -> Initializer:
    """Normal with mean 0, restricted to ``[lower, upper]`` standard deviations."""

    def init(key: Any, shape: Sequence[int], dtype: Any = dtype, out_sharding: Any = None) -> Any:
        kind = jnp.dtype(dtype or jnp.float_)
        return random.truncated_normal(key, lower, upper, shape, kind) * jnp.asarray(stddev, kind)

    return init


def _fans(
    shape: Sequence[int], in_axis: Any, out_axis: Any, batch_axis: Any
) -> tuple[float, float]:
    if len(shape) < 2 and isinstance(in_axis, int) and isinstance(out_axis, int):
        raise ValueError(
            f"Can't compute input and output sizes of a {len(shape)}-dimensional weights tensor. Must be at least 2D."
        )

    def size(axes: Any) -> int:
        return math.prod(shape[a] for a in ((axes,) if isinstance(axes, int) else axes))

    receptive = math.prod(shape) / (size(in_axis) * size(out_axis) * size(batch_axis))
    return size(in_axis) * receptive, size(out_axis) * receptive


def variance_scaling(
    scale: Any,
    mode: str,
    distribution: str,
    in_axis: Any = -2,
    out_axis: Any = -1,
    batch_axis: Any = (),
    dtype: Any = None,
) -> Initializer:
    """Values whose variance is ``scale`` over the number of inputs, outputs, or their mean.

    Args:
        scale: positive factor.
        mode: ``"fan_in"``, ``"fan_out"`` or ``"fan_avg"``.
        distribution: ``"truncated_normal"``, ``"normal"`` or ``"uniform"``.
        in_axis: axis or axes of the inputs.
        out_axis: axis or axes of the outputs.
        batch_axis: axis or axes that count for neither.
        dtype: dtype of the values.

    Raises:
        ValueError: another mode or distribution.
    """

    def init(key: Any, shape: Sequence[int], dtype: Any = dtype, out_sharding: Any = None) -> Any:
        kind = jnp.dtype(dtype or jnp.float_)
        fan_in, fan_out = _fans(shape, in_axis, out_axis, batch_axis)
        denominators = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2}
        if mode not in denominators:
            raise ValueError(f"invalid mode for variance scaling initializer: {mode}")
        variance = jnp.asarray(scale / denominators[mode], kind)
        if distribution == "normal":
            return random.normal(key, shape, kind) * jnp.sqrt(variance)
        if distribution == "uniform":
            return random.uniform(key, shape, kind, -1) * jnp.sqrt(3 * variance)
        if distribution == "truncated_normal":
            # The factor undoes what cutting at two standard deviations takes from the variance.
            stddev = jnp.sqrt(variance) / jnp.asarray(0.87962566103423978, kind)
            return random.truncated_normal(key, -2, 2, shape, kind) * stddev
        raise ValueError(f"invalid distribution for variance scaling initializer: {distribution}")

    return init


def _scaled(scale: float, mode: str, distribution: str, name: str, words: str) -> Any:
    def make(in_axis: Any = -2, out_axis: Any = -1, batch_axis: Any = (), dtype: Any = None) -> Initializer:
        return variance_scaling(scale, mode, distribution, in_axis, out_axis, batch_axis, dtype)

    make.__name__ = name
    make.__doc__ = f"{words}: :func:`variance_scaling` with scale {scale}, {mode}, {distribution}."
    return make


glorot_uniform = _scaled(1.0, "fan_avg", "uniform", "glorot_uniform", "Glorot (Xavier)")
glorot_normal = _scaled(1.0, "fan_avg", "truncated_normal", "glorot_normal", "Glorot (Xavier)")
lecun_uniform = _scaled(1.0, "fan_in", "uniform", "lecun_uniform", "LeCun")
lecun_normal = _scaled(1.0, "fan_in", "truncated_normal", "lecun_normal", "LeCun")
he_uniform = _scaled(2.0, "fan_in", "uniform", "he_uniform", "He (Kaiming)")
he_normal = _scaled(2.0, "fan_in", "truncated_normal", "he_normal", "He (Kaiming)")
xavier_uniform, xavier_normal = glorot_uniform, glorot_normal
kaiming_uniform, kaiming_normal = he_uniform, he_normal
