"""Products of matrices whose blocks share scales (the MX and NVFP4 formats).

Along the contracted axis, ``block_size`` neighbours share one scale: ``x ~ q * scale`` with ``q`` in few bits. The
scale maps the largest element of a block to the largest number of the dtype. Derivatives are those of the product of
unrounded matrices, and are themselves computed with scaled blocks, except in NVFP4.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from plugjax import lax
from plugjax.extend.calls import custom_vjp
from plugjax.extend.core import Array
from plugjax.extend.dtypes import FLOAT32, DTypeLike
from plugjax.lax.dot import DotDimensionNumbers
from plugjax.numpy.creation import ones
from plugjax.numpy.promotion import ArrayLike, as_operand, canonical_dtype, limits
from plugjax.numpy.selection import clip, where
from plugjax.numpy.tiling import repeat

__all__ = ["get_scaled_dot_general_config", "scaled_dot_general", "scaled_matmul"]


@dataclass(frozen=True, eq=False)
class BlockScaleConfig:
    """Format of an operand in scaled blocks.

    Attributes:
        mode: ``"mxfp8"`` or ``"nvfp4"``.
        block_size: how many elements share a scale.
        data_type: dtype of the elements.
        scale_type: dtype of the scales.
        global_scale: one more scale for the whole array, float32, of NVFP4.
        infer_only: kept for compatibility.
    """

    mode: str
    block_size: int
    data_type: Any
    scale_type: Any
    global_scale: Array | None
    infer_only: bool


def get_scaled_dot_general_config(mode: str, global_scale: Array | None = None) -> BlockScaleConfig:
    """The configuration of a format for :func:`scaled_dot_general`.

    Args:
        mode: ``"mxfp8"`` or ``"nvfp4"``.
        global_scale: of NVFP4; 1 by default.

    Raises:
        ValueError: another mode.

    Example:
        >>> from plugjax import nn
        >>> import plugjax.numpy as jnp
        >>> nn.get_scaled_dot_general_config("mxfp8").block_size
        32
    """
    if mode == "nvfp4":
        whole = ones((1,), FLOAT32) if global_scale is None else global_scale
        return BlockScaleConfig(
            mode, 16, ml_dtypes.float4_e2m1fn, ml_dtypes.float8_e4m3fn, whole, False
        )
    if mode == "mxfp8":
        return BlockScaleConfig(
            mode, 32, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e8m0fnu, None, False
        )
    raise ValueError(f"Unsupported mode: {mode}")


def scaled_matmul(
    lhs: ArrayLike,
    rhs: ArrayLike,
    lhs_scales: ArrayLike,
    rhs_scales: ArrayLike,
    preferred_element_type: DTypeLike = np.float32,
) -> Array:
    """Products of matrices with scaled blocks.

    Shapes:
        lhs: ``[b, m, k]``; rhs: ``[b, n, k]``; lhs_scales: ``[b, m, k / block]``; rhs_scales: ``[b, n, k / block]``
        -> ``[b, m, n]``.

    Differs from JAX:
        Runs on every device: the operands are multiplied in float32.

    Raises:
        ValueError: shapes that do not fit.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax import nn
        >>> q, s = jnp.ones((1, 2, 32), jnp.float8_e4m3fn), jnp.full((1, 2, 1), 2, jnp.float8_e8m0fnu)
        >>> nn.scaled_matmul(q, q, s, s)[0, 0]
        Array([128., 128.], dtype=float32)
    """
    a, b, a_scales, b_scales = (
        as_operand("scaled_matmul", x) for x in (lhs, rhs, lhs_scales, rhs_scales)
    )
    if any(x.ndim != 3 for x in (a, b, a_scales, b_scales)):
        raise ValueError("scaled_matmul: operands and scales need three axes each.")
    if (a.shape[0], a.shape[2]) != (b.shape[0], b.shape[2]):
        raise ValueError(
            "scaled_matmul: the operands need equal sizes of the batch (B) and the contracted axis (K), got "
            f"{a.shape} and {b.shape}."
        )
    if (a_scales.shape[0], a_scales.shape[2]) != (b_scales.shape[0], b_scales.shape[2]):
        raise ValueError(
            "scaled_matmul: the scales need equal sizes of the batch (B) and the contracted axis (K), got "
            f"{a_scales.shape} and {b_scales.shape}."
        )
    if a_scales.shape[:2] != a.shape[:2] or b_scales.shape[:2] != b.shape[:2]:
        raise ValueError(
            "scaled_matmul: scales have the sizes of their operand, but for the contracted axis; got a: "
            f"{a.shape}, b: {b.shape}, a_scales: {a_scales.shape}, b_scales: {b_scales.shape}."
        )
    if not a_scales.shape[2] or a.shape[2] % a_scales.shape[2]:
        raise ValueError(f"blocks do not fill the axis: {a.shape} with scales {a_scales.shape}")
    wanted = canonical_dtype("scaled_matmul", preferred_element_type)
    found = _product(_multiplied(a, a_scales), _multiplied(b, b_scales))
    return found.astype(wanted)


def _multiplied(q: Any, scales: Any) -> Any:
    block = q.shape[-1] // scales.shape[-1]
    return q.astype(FLOAT32) * repeat(scales.astype(FLOAT32), block, axis=-1)


def _product(a: Any, b: Any) -> Any:
    """``[b, m, k]`` and ``[b, n, k]`` to ``[b, m, n]``."""
    return lax.dot_general(a, b, (((2,), (2,)), ((0,), (0,))), precision=lax.Precision.HIGHEST)


def _power_above(x: Any) -> Any:
    """Powers of 2 that are not smaller, in ``float8_e8m0fnu``: the exponent bits, rounded up."""
    bits = lax.bitcast_convert_type(x.astype(FLOAT32), np.uint32)
    exponent, fraction = bits >> np.uint32(23), bits & np.uint32(0x7FFFFF)
    # Subnormal numbers up to 2^-127 have exponent 0; the largest exponent stays.
    exact = (fraction == 0) | (exponent == 0xFE) | ((exponent == 0) & (fraction <= 0x400000))
    exponent = where(exact, exponent, exponent + np.uint32(1))
    return lax.bitcast_convert_type(exponent.astype(np.uint8), np.dtype(ml_dtypes.float8_e8m0fnu))


def _quantized(x: Any, config: BlockScaleConfig) -> tuple[Any, Any]:
    size, block = x.shape[-1], config.block_size
    if not size or size % block:
        raise ValueError(
            f"scaled_dot_general: the contracted axes have {size} elements, which is no multiple of the block size {block}."
        )
    x = lax.reshape(x, (*x.shape[:-1], size // block, block))
    largest = float(limits(np.dtype(config.data_type)).max)
    if config.global_scale is not None:
        x = x / config.global_scale
    scales = abs(x).max(-1) / largest
    if config.mode == "mxfp8":
        scales = _power_above(scales)
    else:
        scales = clip(scales, 0, float(limits(np.dtype(config.scale_type)).max))
        scales = scales.astype(config.scale_type)
    divisor = scales.astype(FLOAT32)[..., None]
    # A block of zeros has scale 0 in NVFP4.
    q = clip(x / where(divisor == 0, 1, divisor), -largest, largest).astype(config.data_type)
    return lax.reshape(q, (*q.shape[:-2], size)), scales


def _scaled_product(
    a: Any, b: Any, a_config: BlockScaleConfig, b_config: BlockScaleConfig, dtype: Any
) -> Any:
    (qa, sa), (qb, sb) = _quantized(a, a_config), _quantized(b, b_config)
    found = scaled_matmul(qa, qb, sa, sb, FLOAT32)
    for config in (a_config, b_config):
        if config.global_scale is not None:
            found = found * config.global_scale
    return found.astype(dtype)


def scaled_dot_general(
    lhs: ArrayLike,
    rhs: ArrayLike,
    dimension_numbers: DotDimensionNumbers,
    preferred_element_type: DTypeLike = np.float32,
    configs: Sequence[BlockScaleConfig] | None = None,
    implementation: str | None = None,
) -> Array:
    """``lax.dot_general`` of operands that are rounded to scaled blocks.

    Args:
        lhs: an array.
        rhs: another.
        dimension_numbers: as of ``lax.dot_general``.
        preferred_element_type: dtype of the result: float32, bfloat16 or float16.
        configs: of ``lhs``, ``rhs`` and the cotangent; without, nothing is rounded.
        implementation: ignored.

    Raises:
        TypeError: another dtype of the result.
        ValueError: contracted axes that blocks do not fill.

    Example:
        >>> from plugjax import nn
        >>> import plugjax.numpy as jnp
        >>> nn.scaled_dot_general(jnp.ones((1, 2, 32)), jnp.ones((1, 3, 32)), (((2,), (2,)), ((0,), (0,))))
        Array([[[32., 32., 32.],
                [32., 32., 32.]]], dtype=float32)
    """
    x, y = as_operand("scaled_dot_general", lhs), as_operand("scaled_dot_general", rhs)
    wanted = canonical_dtype("scaled_dot_general", preferred_element_type)
    if configs is None:
        return lax.dot_general(x, y, dimension_numbers, preferred_element_type=wanted)
    if wanted.name not in ("float32", "bfloat16", "float16"):
        raise TypeError(
            f"scaled_dot_general: preferred_element_type is float32, bfloat16 or float16, got {wanted.name}."
        )
    (x_contract, y_contract), (x_batch, y_batch) = dimension_numbers
    x_kept, x = _three_axes(x, x_contract, x_batch)
    y_kept, y = _three_axes(y, y_contract, y_batch)
    batch = tuple(as_operand("scaled_dot_general", lhs).shape[i] for i in x_batch)
    found = _differentiable(configs, wanted)(x, y)
    return lax.reshape(found, (*batch, *x_kept, *y_kept))


def _three_axes(
    x: Any, contract: Sequence[int], batch: Sequence[int]
) -> tuple[tuple[int, ...], Any]:
    """Sizes of the axes that are kept, and the array as ``[batch, kept, contracted]``."""
    kept = [i for i in range(x.ndim) if i not in contract and i not in batch]
    groups = [[x.shape[i] for i in axes] for axes in (batch, kept, contract)]
    x = lax.transpose(x, (*batch, *kept, *contract))
    return tuple(groups[1]), lax.reshape(x, tuple(math.prod(g) for g in groups))


def _differentiable(configs: Sequence[BlockScaleConfig], dtype: Any) -> Any:
    a_config, b_config, bar_config = configs

    @custom_vjp
    def product(a: Any, b: Any) -> Any:
        return _scaled_product(a, b, a_config, b_config, dtype)

    def forward(a: Any, b: Any) -> tuple[Any, Any]:
        return product(a, b), (a, b)

    def backward(residuals: Any, bar: Any) -> tuple[Any, Any]:
        a, b = residuals
        a_t, b_t, bar_t = (v.swapaxes(1, 2) for v in (a, b, bar))
        if bar_config.mode != "nvfp4":
            a_bar = _scaled_product(bar, b_t, bar_config, b_config, dtype)
            b_bar = _scaled_product(bar_t, a_t, bar_config, a_config, dtype)
        else:
            a_bar = _in_range(a, _product(*_floats(bar, b_t)), a_config)
            b_bar = _in_range(b, _product(*_floats(bar_t, a_t)), b_config)
        return a_bar.astype(a.dtype), b_bar.astype(b.dtype)

    product.defvjp(forward, backward)
    return product


def _floats(a: Any, b: Any) -> tuple[Any, Any]:
    return a.astype(FLOAT32), b.astype(FLOAT32)


def _in_range(x: Any, x_bar: Any, config: BlockScaleConfig) -> Any:
    """A cotangent, 0 where the element was clipped."""
    largest = float(limits(np.dtype(config.data_type)).max) * float(
        limits(np.dtype(config.scale_type)).max
    )
    return where(abs(x) <= config.global_scale * largest, x_bar, 0)  # type: ignore[operator]  # NVFP4 has one
