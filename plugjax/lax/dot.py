"""Dot products: contractions of two arrays over some axes, with common batch axes."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np

from plugjax.extend import dtypes
from plugjax.extend.core import (
    Array,
    ArrayLike,
    Primitive,
    ShapedArray,
    Zero,
    add_any,
    aval_of,
    config,
)
from plugjax.extend.dtypes import DType, DTypeLike
from plugjax.extend.errors import DtypeError, ShapeError
from plugjax.extend.meshes import ShardingLike
from plugjax.extend.rules import RuleSet, abstract_eval, batching_rule, jvp_rule, transpose_rule
from plugjax.extend.transforms import Axis, is_undefined_primal
from plugjax.lax.axes import past, static_ints
from plugjax.lax.dot_algorithm import (
    Algorithm,
    DotAlgorithm,
    DotAlgorithmPreset,
    is_algorithm,
    swapped_algorithm,
)
from plugjax.lax.families import convert
from plugjax.lax.placement import freely, laid_out
from plugjax.lax.promotion import join
from plugjax.lax.shape import transpose

rules = RuleSet(__name__)

dot_general_p = Primitive("dot_general")


class Precision(enum.Enum):
    """Precision of products of float32 values, on hardware that offers a choice."""

    DEFAULT = 0
    HIGH = 1
    HIGHEST = 2

    @classmethod
    def _missing_(cls, value: object) -> Precision | None:
        """Names, and ``None``, which is the default."""
        return cls.DEFAULT if value is None else _NAMES.get(value)

    def __repr__(self) -> str:
        return f"Precision.{self.name}"

    def __str__(self) -> str:
        return self.name


_NAMES: dict[Any, Precision] = {
    "default": Precision.DEFAULT,
    "fastest": Precision.DEFAULT,
    "bfloat16": Precision.DEFAULT,
    "high": Precision.HIGH,
    "bfloat16_3x": Precision.HIGH,
    "tensorfloat32": Precision.HIGH,
    "highest": Precision.HIGHEST,
    "float32": Precision.HIGHEST,
}

PrecisionLike: TypeAlias = (
    str | Precision | tuple[str, str] | tuple[Precision, Precision] | Algorithm | None
)
PrecisionPair: TypeAlias = tuple[Precision, Precision] | None
CanonicalPrecision: TypeAlias = PrecisionPair | Algorithm
Axes: TypeAlias = tuple[int, ...]
DotDimensionNumbers: TypeAlias = tuple[
    tuple[Sequence[int], Sequence[int]], tuple[Sequence[int], Sequence[int]]
]
CanonicalNumbers: TypeAlias = tuple[tuple[Axes, Axes], tuple[Axes, Axes]]


def canonicalize_precision(precision: PrecisionLike) -> CanonicalPrecision:
    """One precision for each operand, or an algorithm; ``None`` leaves it to the configuration, then the backend.

    Raises:
        ValueError: an unknown name, or a pair that is none.
    """
    if precision is None:
        precision = config.read("default_matmul_precision")
        if precision is None:
            return None
    if isinstance(precision, (DotAlgorithm, DotAlgorithmPreset)):
        return precision
    if isinstance(precision, str) and precision in DotAlgorithmPreset.__members__:
        return DotAlgorithmPreset[precision]
    pair = precision if isinstance(precision, tuple) else (precision, precision)
    found = [
        p
        if isinstance(p, Precision)
        else _NAMES.get(p)
        if p is None or isinstance(p, str)
        else None
        for p in pair
    ]
    if len(found) != 2 or found[0] is None or found[1] is None:
        raise ValueError(
            f"Precision {precision!r} is unknown. Give None, a lax.Precision, one of {', '.join(_NAMES)}, a pair of "
            "these, a lax.DotAlgorithm, or a lax.DotAlgorithmPreset by value or name."
        )
    return found[0], found[1]


def precision_pair(precision: PrecisionLike) -> PrecisionPair:
    """One precision for each operand, for an operation without algorithms; an algorithm is ignored."""
    found = canonicalize_precision(precision)
    return None if found is None or isinstance(found, (DotAlgorithm, DotAlgorithmPreset)) else found


def _swapped(precision: CanonicalPrecision) -> CanonicalPrecision:
    """The precision for operands in the other order."""
    if isinstance(precision, (DotAlgorithm, DotAlgorithmPreset)):
        return swapped_algorithm(precision)
    return None if precision is None else (precision[1], precision[0])


@lru_cache(maxsize=1024)
def _canonical_numbers(dimension_numbers: Any) -> CanonicalNumbers:
    (lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch) = dimension_numbers

    def axes(values: Any) -> Axes:
        return static_ints("dot_general", "dimension_numbers", values)

    return (
        (axes(lhs_contracting), axes(rhs_contracting)),
        (axes(lhs_batch), axes(rhs_batch)),
    )


def dot_general(
    lhs: ArrayLike,
    rhs: ArrayLike,
    dimension_numbers: DotDimensionNumbers,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Products of elements, summed over contracting axes, separately for each index of batch axes.

    Shapes:
        lhs, rhs: -> ``[batch..., free axes of lhs..., free axes of rhs...]``.

    Args:
        lhs: one operand.
        rhs: the other.
        dimension_numbers: ``((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch))``.
        precision: see :class:`Precision`; a name, or a pair for ``lhs`` and ``rhs``; or a :class:`DotAlgorithm`, a
            :class:`DotAlgorithmPreset`, or the name of one.
        preferred_element_type: dtype of sums and of the result; with an algorithm, of the result.
        out_sharding: how the result is spread: a sharding, or a partition spec of the mesh in force.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.dot_general(jnp.ones((2, 1, 3)), jnp.ones((2, 3, 1)), (((2,), (1,)), ((0,), (0,)))).ravel()
        Array([3., 3.], dtype=float32)
    """
    if out_sharding is not None:
        return laid_out(
            "dot_general",
            freely(
                dot_general,
                lhs=lhs,
                rhs=rhs,
                dimension_numbers=dimension_numbers,
                precision=precision,
                preferred_element_type=preferred_element_type,
            ),
            out_sharding,
        )
    try:
        numbers = _canonical_numbers(dimension_numbers)
    except TypeError:  # Lists are not hashable.
        numbers = _canonical_numbers.__wrapped__(dimension_numbers)
    return dot_general_p.bind(
        lhs,
        rhs,
        dimension_numbers=numbers,
        precision=canonicalize_precision(precision),
        preferred_element_type=None
        if preferred_element_type is None
        else dtypes.canonicalize(preferred_element_type),
    )


def dot(
    lhs: ArrayLike,
    rhs: ArrayLike,
    *,
    dimension_numbers: DotDimensionNumbers | None = None,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Product of vectors and matrices; with ``dimension_numbers``, as :func:`dot_general`.

    Raises:
        ValueError: without ``dimension_numbers``, operands that are not vectors or matrices of fitting sizes.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.dot(jnp.array([1.0, 2.0]), jnp.array([3.0, 4.0]))
        Array(11., dtype=float32)
    """
    if out_sharding is not None:
        return laid_out(
            "dot",
            freely(
                dot,
                lhs=lhs,
                rhs=rhs,
                dimension_numbers=dimension_numbers,
                precision=precision,
                preferred_element_type=preferred_element_type,
            ),
            out_sharding,
        )
    if dimension_numbers is None:
        left, right = aval_of(lhs), aval_of(rhs)
        if not (1 <= left.ndim <= 2 and 1 <= right.ndim <= 2 and left.shape[-1] == right.shape[0]):
            raise ValueError(
                f"lax.dot multiplies matrices and vectors whose inner sizes agree, got lhs {left.str_short()} and "
                f"rhs {right.str_short()}. For other products give dimension_numbers."
            )
        dimension_numbers = (((left.ndim - 1,), (0,)), ((), ()))
    return dot_general(lhs, rhs, dimension_numbers, precision, preferred_element_type)


def batch_matmul(lhs: ArrayLike, rhs: ArrayLike, precision: PrecisionLike = None) -> Array:
    """Matrix products over leading batch axes: ``[..., m, k], [..., k, n] -> [..., m, n]``.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.batch_matmul(jnp.ones((2, 1, 3)), jnp.ones((2, 3, 1))).ravel()
        Array([3., 3.], dtype=float32)
    """
    left, right = aval_of(lhs), aval_of(rhs)
    if left.ndim < 2 or right.ndim < 2:
        raise ValueError(
            f"batch_matmul needs operands of rank 2 or more, got ranks {left.ndim} and {right.ndim}."
        )
    if left.ndim != right.ndim:
        raise ValueError(
            f"batch_matmul needs operands of one rank, got {left.str_short()} and {right.str_short()}."
        )
    batch = tuple(range(left.ndim - 2))
    numbers = (((left.ndim - 1,), (left.ndim - 2,)), (batch, batch))
    return dot_general(lhs, rhs, numbers, precision)


def free_axes(rank: int, contracting: Axes, batch: Axes) -> Axes:
    """The axes that are neither contracted nor batch axes, in order."""
    return tuple(d for d in range(rank) if d not in contracting and d not in batch)


@rules.define(abstract_eval, dot_general_p)
def dot_general_aval(
    lhs: ShapedArray,
    rhs: ShapedArray,
    *,
    dimension_numbers: CanonicalNumbers,
    precision: CanonicalPrecision,
    preferred_element_type: DType | None,
) -> ShapedArray:
    """The type of a dot product, checked."""
    contracting, batch = dimension_numbers
    for what, pair in (("contracting", contracting), ("batch", batch)):
        if len(pair[0]) != len(pair[1]):
            raise ShapeError(
                f"lax.dot_general needs equal numbers of {what} dimensions on both sides, got {pair[0]} and "
                f"{pair[1]}."
            )
    for side, aval, i in (("lhs", lhs, 0), ("rhs", rhs, 1)):
        named = (*contracting[i], *batch[i])
        if any(not 0 <= d < aval.ndim for d in named) or len(set(named)) != len(named):
            raise ShapeError(
                f"lax.dot_general: contracting dimensions {contracting[i]} and batch dimensions "
                f"{batch[i]} must be "
                f"distinct axes of {side} {aval.str_short()}, counted from 0."
            )
    for what, pair in (("contracting", contracting), ("batch", batch)):
        for i, j in zip(*pair, strict=True):
            if lhs.shape[i] != rhs.shape[j]:
                raise ShapeError(
                    f"dot_general requires {what} dimensions to have the same size: lhs {lhs.str_short()} has "
                    f"{lhs.shape[i]} on axis {i}, rhs {rhs.str_short()} has {rhs.shape[j]} on axis {j}. Swap the operands, or "
                    "transpose one of them."
                )
    shape = (
        *(lhs.shape[d] for d in batch[0]),
        *(lhs.shape[d] for d in free_axes(lhs.ndim, contracting[0], batch[0])),
        *(rhs.shape[d] for d in free_axes(rhs.ndim, contracting[1], batch[1])),
    )
    dtype = _result_dtype(lhs, rhs, preferred_element_type, is_algorithm(precision))
    return ShapedArray(shape, dtype, lhs.weak_type and rhs.weak_type)


def _result_dtype(
    lhs: ShapedArray, rhs: ShapedArray, preferred: DType | None, has_algorithm: bool
) -> DType:
    if dtypes.is_extended(lhs.dtype) or dtypes.is_extended(rhs.dtype):
        raise DtypeError(f"lax.dot_general does not accept {lhs.dtype.name} and {rhs.dtype.name}.")
    dtype = lhs.dtype
    if rhs.dtype != dtype:
        dtype = max(lhs.dtype, rhs.dtype, key=_precision_of)
    if preferred is None:
        return dtype
    bits = [d.itemsize // (2 if d.kind == "c" else 1) for d in (preferred, dtype)]
    # Sums of floats may be rounded to a narrower dtype.
    if bits[0] < bits[1] and not dtypes.is_float(dtype) and not has_algorithm:
        raise DtypeError(
            f"lax.dot_general: preferred_element_type {preferred.name} is narrower than the result, {dtype.name}. "
            "Name a wider dtype."
        )
    return preferred


@lru_cache(maxsize=64)
def _precision_of(dtype: DType) -> tuple[bool, int, int, int, bool]:
    """XLA's order of dtypes: of two different operand dtypes, the greater is that of the product."""
    part = np.dtype(dtype.type(0).real.dtype) if dtype.kind == "c" else dtype
    if dtypes.is_float(part):
        limits = ml_dtypes.finfo(part)
        return dtype.kind == "c", int(limits.maxexp), int(limits.nmant), int(limits.bits), True
    if dtype == dtypes.BOOL:
        return False, -1, -1, 1, True
    whole = ml_dtypes.iinfo(dtype)
    return False, -1, -1, int(whole.bits), int(whole.min) < 0


@rules.define(jvp_rule, dot_general_p)
def _dot_general_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], **params: Any
) -> tuple[Any, Any]:
    (x, y), (x_dot, y_dot) = primals, tangents
    z = dot_general_p.bind(x, y, **params)
    z_dot: Any = Zero(aval_of(z).to_tangent_aval())
    if z_dot.aval.dtype == dtypes.float0:
        return z, z_dot
    if type(x_dot) is not Zero:
        z_dot = dot_general_p.bind(x_dot, y, **params)
    if type(y_dot) is not Zero:
        z_dot = add_any(z_dot, dot_general_p.bind(x, y_dot, **params))
    return z, z_dot


@rules.define(transpose_rule, dot_general_p)
def _dot_general_transpose(
    z_bar: Any,
    x: Any,
    y: Any,
    *,
    dimension_numbers: CanonicalNumbers,
    precision: CanonicalPrecision,
    preferred_element_type: DType | None,
) -> tuple[Any, Any]:
    contracting, batch = dimension_numbers
    if is_undefined_primal(x):
        return _other_operand(z_bar, x.aval, y, contracting, batch, precision, True), None
    swapped = (contracting[1], contracting[0]), (batch[1], batch[0])
    turned = _swapped(precision)
    return None, _other_operand(z_bar, y.aval, x, *swapped, turned, False)


def _other_operand(
    z_bar: Any,
    wanted: ShapedArray,
    other: Any,
    contracting: tuple[Axes, Axes],
    batch: tuple[Axes, Axes],
    precision: CanonicalPrecision,
    wanted_first: bool,
) -> Any:
    """Cotangent of the operand ``wanted``; pairs of axes are of ``wanted`` and of ``other``."""
    other_aval = aval_of(other)
    own_free = free_axes(wanted.ndim, contracting[0], batch[0])
    other_free = free_axes(other_aval.ndim, contracting[1], batch[1])
    together = len(batch[0])
    # The positions of the free axes of ``other`` in the result.
    first = together + (len(own_free) if wanted_first else 0)
    in_result = tuple(range(first, first + len(other_free)))
    if aval_of(z_bar).dtype != other_aval.dtype:
        dtype = join(((aval_of(z_bar).dtype, False), (other_aval.dtype, False)))
        z_bar, other = convert(z_bar, dtype), convert(other, dtype)
    product = dot_general_p.bind(
        z_bar,
        other,
        dimension_numbers=((in_result, other_free), (tuple(range(together)), batch[1])),
        precision=precision,
        preferred_element_type=None,
    )
    # The remaining axes of ``other`` are in its own order.
    pairs = sorted(zip(contracting[1], contracting[0], strict=True))
    order = (*batch[0], *own_free, *(own for _, own in pairs))
    inverse = sorted(range(len(order)), key=order.__getitem__)
    return convert(transpose(product, inverse), wanted.dtype, wanted.weak_type)


@rules.define(batching_rule, dot_general_p)
def _dot_general_batching(
    axis: Axis,
    args: Sequence[Any],
    dims: Sequence[int | None],
    *,
    dimension_numbers: CanonicalNumbers,
    **params: Any,
) -> tuple[Any, int]:
    (x, y), (x_dim, y_dim) = args, dims
    (x_contracting, y_contracting), (x_batch, y_batch) = dimension_numbers

    def moved(axes: Axes, bdim: int | None) -> Axes:
        return axes if bdim is None else past(axes, bdim)

    contracting = moved(x_contracting, x_dim), moved(y_contracting, y_dim)
    batch = moved(x_batch, x_dim), moved(y_batch, y_dim)
    if x_dim is not None and y_dim is not None:
        numbers = contracting, ((x_dim, *batch[0]), (y_dim, *batch[1]))
        return dot_general_p.bind(x, y, dimension_numbers=numbers, **params), 0
    z = dot_general_p.bind(x, y, dimension_numbers=(contracting, batch), **params)
    # The batch axis is one more free axis of the operand that has it.
    x_free = free_axes(aval_of(x).ndim, contracting[0], batch[0])
    if x_dim is not None:
        return z, len(x_batch) + x_free.index(x_dim)
    assert y_dim is not None
    y_free = free_axes(aval_of(y).ndim, contracting[1], batch[1])
    return z, len(y_batch) + len(x_free) + y_free.index(y_dim)
