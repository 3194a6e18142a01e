"""Convolutions: one kernel applied to every window of an array, in any number of spatial axes.

With batch index ``n``, features ``c`` and ``o``, window ``y`` and position ``k`` in the kernel, along each spatial
axis,

    out[n, o, y] = sum over c, k of  lhs'[n, c, y * stride + k * rhs_dilation] * rhs[o, c, k],

where ``lhs'`` is the input dilated and padded. It is linear in each operand, and both transposes are convolutions
again. The one for the input uses the reversed kernel, with strides and input dilation exchanged; the one for the kernel
sums over the batch, with strides and kernel dilation exchanged. Groups of features (each output sees one group of
inputs) and groups of the batch (each group of outputs sees one part of the batch) turn into one another under
transposition.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plugjax.extend import dtypes
from plugjax.extend.core import (
    Array,
    ArrayLike,
    Primitive,
    ShapedArray,
    Zero,
    add_any,
    aval_of,
    moveaxis,
)
from plugjax.extend.dtypes import DType, DTypeLike
from plugjax.extend.errors import DtypeError, ShapeError
from plugjax.extend.meshes import ShardingLike, untyped
from plugjax.extend.rules import RuleSet, abstract_eval, batching_rule, jvp_rule, transpose_rule
from plugjax.extend.transforms import Axis, is_undefined_primal
from plugjax.lax.axes import static_ints
from plugjax.lax.conv_shape import (
    ConvDimensionNumbers,
    ConvGeneralDilatedDimensionNumbers,
    conv_dimension_numbers,
    dilated,
    padding_pairs,
    padtype_to_pads,
    window_count,
)
from plugjax.lax.dot import PrecisionLike, PrecisionPair, precision_pair
from plugjax.lax.families import COMPLEX, FLOAT, INTEGER, SIGNED, check_same_dtypes, convert
from plugjax.lax.placement import laid_out
from plugjax.lax.shape import reshape, rev

rules = RuleSet(__name__)

conv_general_dilated_p = Primitive("conv_general_dilated")


def conv_general_dilated(
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers = None,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Convolution of ``lhs`` with the kernel ``rhs`` (a correlation: the kernel is not reversed).

    Shapes:
        lhs: ``[batch, features, spatial...]``, in the order that ``dimension_numbers`` says.
        rhs: ``[output features, features / feature_group_count, spatial...]``.
        result: ``[batch / batch_group_count, output features, windows...]``.

    Args:
        lhs: the input, of rank n + 2.
        rhs: the kernel, of rank n + 2 and the same dtype.
        window_strides: n distances between windows.
        padding: ``"SAME"``, ``"SAME_LOWER"``, ``"VALID"``, or n pairs (before, after); negative ones cut off.
        lhs_dilation: n dilations of the input; ``None`` is none.
        rhs_dilation: n dilations of the kernel.
        dimension_numbers: three strings such as ``("NHWC", "HWIO", "NHWC")``; ``None`` is ``NC..., OI..., NC...``.
        feature_group_count: number of groups of features.
        batch_group_count: number of groups of the batch.
        precision: see :class:`Precision`; an algorithm of dot products is ignored.
        preferred_element_type: dtype of sums and of the result.
        out_sharding: how the result is spread: a sharding, or a partition spec of the mesh in force.

    Raises:
        ValueError: sizes, strides, dilations or groups do not fit.
        TypeError: ranks, dtypes or dimension numbers do not fit.

    Example:
        >>> import plugjax.numpy as jnp
        >>> x, k = jnp.arange(5.0).reshape(1, 1, 5), jnp.array([[[1.0, 1.0, 1.0]]])
        >>> print(conv_general_dilated(x, k, (1,), "SAME"))
        [[[1. 3. 6. 9. 7.]]]
    """
    left, right = aval_of(lhs), aval_of(rhs)
    numbers = conv_dimension_numbers(left.shape, right.shape, dimension_numbers)
    spatial = left.ndim - 2
    strides = static_ints("conv_general_dilated", "window_strides", window_strides)
    spread = _dilations("lhs_dilation", lhs_dilation, spatial)
    kernel_spread = _dilations("rhs_dilation", rhs_dilation, spatial)
    if not hasattr(padding, "__iter__"):
        raise ValueError(
            f"conv_general_dilated: padding is 'SAME', 'VALID' or pairs of numbers, got {padding!r}."
        )
    if isinstance(padding, str):
        if any(d != 1 for d in spread):
            raise ValueError(
                f"conv_general_dilated: with lhs_dilation {spread} padding must be pairs of numbers, got {padding!r}."
            )
        _check_count("window_strides", strides, spatial)
        sizes = [dilated(left.shape[d], r) for d, r in zip(numbers[0][2:], spread, strict=True)]
        extents = [
            dilated(right.shape[d], r) for d, r in zip(numbers[1][2:], kernel_spread, strict=True)
        ]
        padding = padtype_to_pads(sizes, extents, strides, padding)
    pads = tuple(padding_pairs(padding))
    if out_sharding is not None:
        lhs, rhs = untyped(lhs), untyped(rhs)
    found = conv_general_dilated_p.bind(
        lhs,
        rhs,
        window_strides=strides,
        padding=pads,
        lhs_dilation=spread,
        rhs_dilation=kernel_spread,
        dimension_numbers=numbers,
        feature_group_count=feature_group_count,
        batch_group_count=batch_group_count,
        precision=precision_pair(precision),
        preferred_element_type=None
        if preferred_element_type is None
        else dtypes.canonicalize(preferred_element_type),
    )
    return found if out_sharding is None else laid_out("conv_general_dilated", found, out_sharding)


def _dilations(what: str, values: Any, spatial: int) -> tuple[int, ...]:
    # In JAX an empty dict means no dilation.
    if values is None or values == {}:
        return (1,) * spatial
    found = static_ints("conv_general_dilated", what, values)
    _check_count(what, found, spatial)
    return found


def _check_count(what: str, values: Sequence[Any], spatial: int) -> None:
    if len(values) != spatial:
        raise ValueError(
            f"conv_general_dilated {what} must have one entry for each of the {spatial} spatial axes, got {values}."
        )


@rules.define(abstract_eval, conv_general_dilated_p)
def _conv_aval(
    lhs: ShapedArray,
    rhs: ShapedArray,
    *,
    window_strides: tuple[int, ...],
    padding: tuple[tuple[int, int], ...],
    lhs_dilation: tuple[int, ...],
    rhs_dilation: tuple[int, ...],
    dimension_numbers: ConvDimensionNumbers,
    feature_group_count: int,
    batch_group_count: int,
    precision: PrecisionPair,
    preferred_element_type: DType | None,
) -> ShapedArray:
    spatial = lhs.ndim - 2
    _check_groups(lhs, rhs, dimension_numbers, feature_group_count, batch_group_count)
    _check_count("window_strides", window_strides, spatial)
    if len(padding) != spatial:
        raise ShapeError(
            f"conv_general_dilated padding must have a pair for each of the {spatial} spatial axes, got {padding}."
        )
    for what, values in (
        ("window_strides", window_strides),
        ("lhs_dilation", lhs_dilation),
        ("rhs_dilation", rhs_dilation),
    ):
        if any(v <= 0 for v in values):
            raise ValueError(f"conv_general_dilated {what} must be positive, got {values}.")
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    shape = [0] * lhs.ndim
    shape[out_spec[0]] = lhs.shape[lhs_spec[0]] // batch_group_count
    shape[out_spec[1]] = rhs.shape[rhs_spec[0]]
    for i in range(spatial):
        low, high = padding[i]
        size = dilated(lhs.shape[lhs_spec[i + 2]], lhs_dilation[i]) + low + high
        if size < 0:
            raise ValueError(
                f"conv_general_dilated: negative padding {padding[i]} is larger than axis {lhs_spec[i + 2]} of lhs "
                f"{lhs.str_short()}."
            )
        extent = dilated(rhs.shape[rhs_spec[i + 2]], rhs_dilation[i])
        shape[out_spec[i + 2]] = window_count(size, extent, window_strides[i])
    check_same_dtypes("conv_general_dilated", (lhs, rhs))
    if preferred_element_type is not None:
        _check_preferred(lhs.dtype, preferred_element_type)
    dtype = preferred_element_type or lhs.dtype
    return ShapedArray(tuple(shape), dtype, lhs.weak_type and rhs.weak_type)


def _check_preferred(dtype: DType, preferred: DType) -> None:
    """Raise unless sums of the operands fit ``preferred``: as wide, of their kind, or floats of integers."""
    if preferred.itemsize < dtype.itemsize:
        raise DtypeError(
            f"conv_general_dilated: preferred_element_type {preferred.name} is narrower than the operands, "
            f"{dtype.name}. Name a wider dtype."
        )
    if dtypes.is_integer(dtype) and dtypes.is_float(preferred):
        return
    for kind in (INTEGER, FLOAT, COMPLEX, SIGNED):
        if dtype in kind and preferred not in kind:
            raise DtypeError(
                f"conv_general_dilated: preferred_element_type {preferred.name} is not {kind.words}, as the operands "
                f"are, {dtype.name}."
            )


def _check_groups(
    lhs: ShapedArray,
    rhs: ShapedArray,
    numbers: ConvDimensionNumbers,
    feature_group_count: int,
    batch_group_count: int,
) -> None:
    batch, features = (lhs.shape[d] for d in numbers.lhs_spec[:2])
    outputs, inputs = (rhs.shape[d] for d in numbers.rhs_spec[:2])
    given = f"lhs {lhs.str_short()}, rhs {rhs.str_short()} with {numbers}"
    for what, groups, axis, size in (
        ("feature_group_count", feature_group_count, "lhs feature", features),
        ("batch_group_count", batch_group_count, "lhs batch", batch),
    ):
        if groups <= 0:
            raise ValueError(f"conv_general_dilated needs {what} >= 1, got {groups}.")
        for dimension, count in ((axis, size), ("rhs output feature", outputs)):
            if count % groups:
                raise ValueError(
                    f"conv_general_dilated: {what} {groups} does not divide the {dimension} dimension, of size "
                    f"{count}: {given}."
                )
    if features // feature_group_count != inputs:
        raise ValueError(
            f"conv_general_dilated lhs feature dimension size: a group has {features} // {feature_group_count} features, but rhs takes "
            f"{inputs}: {given}."
        )
    if feature_group_count > 1 and batch_group_count > 1:
        raise ValueError(
            "conv_general_dilated groups the batch or the features, not both: batch_group_count is "
            f"{batch_group_count}, feature_group_count {feature_group_count}."
        )


@rules.define(jvp_rule, conv_general_dilated_p)
def _conv_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
    (x, k), (x_dot, k_dot) = primals, tangents
    y = conv_general_dilated_p.bind(x, k, **params)
    y_dot: Any = Zero(aval_of(y).to_tangent_aval())
    if y_dot.aval.dtype == dtypes.float0:
        return y, y_dot
    if type(x_dot) is not Zero:
        y_dot = conv_general_dilated_p.bind(x_dot, k, **params)
    if type(k_dot) is not Zero:
        y_dot = add_any(y_dot, conv_general_dilated_p.bind(x, k_dot, **params))
    return y, y_dot


@rules.define(transpose_rule, conv_general_dilated_p)
def _conv_transpose(y_bar: Any, x: Any, k: Any, **params: Any) -> tuple[Any, Any]:
    if is_undefined_primal(x):
        return convert(_of_input(y_bar, x.aval, k, **params), x.aval.dtype, x.aval.weak_type), None
    return None, convert(_of_kernel(y_bar, x, k.aval, **params), k.aval.dtype, k.aval.weak_type)


def _of_input(
    y_bar: Any,
    x: ShapedArray,
    k: Any,
    *,
    window_strides: tuple[int, ...],
    padding: tuple[tuple[int, int], ...],
    lhs_dilation: tuple[int, ...],
    rhs_dilation: tuple[int, ...],
    dimension_numbers: ConvDimensionNumbers,
    feature_group_count: int,
    batch_group_count: int,
    precision: PrecisionPair,
    preferred_element_type: DType | None,
) -> Any:
    """Cotangent of the input: the reversed kernel applied to the cotangent, dilated by the strides."""
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    k_shape, y_shape = aval_of(k).shape, aval_of(y_bar).shape
    groups = feature_group_count * batch_group_count  # One of them is 1.
    pads = []
    for i, (low, _) in enumerate(padding):
        extent = dilated(k_shape[rhs_spec[i + 2]], rhs_dilation[i])
        wanted = dilated(x.shape[lhs_spec[i + 2]], lhs_dilation[i])
        given = dilated(y_shape[out_spec[i + 2]], window_strides[i])
        before = extent - low - 1
        pads.append((before, wanted + extent - 1 - given - before))
    if groups > 1:
        # The groups of the outputs become groups of the inputs.
        k = _split(k, rhs_spec[0], groups)
        k = _merge(k, rhs_spec[0], rhs_spec[1] + (rhs_spec[1] > rhs_spec[0]))
    k = rev(k, rhs_spec[2:])
    x_bar = conv_general_dilated_p.bind(
        y_bar,
        convert(k, aval_of(y_bar).dtype),
        window_strides=lhs_dilation,
        padding=tuple(pads),
        lhs_dilation=window_strides,
        rhs_dilation=rhs_dilation,
        dimension_numbers=ConvDimensionNumbers(
            out_spec, (rhs_spec[1], rhs_spec[0], *rhs_spec[2:]), lhs_spec
        ),
        feature_group_count=groups,
        batch_group_count=1,
        precision=precision if precision is None else precision[::-1],
        preferred_element_type=_preferred(preferred_element_type, y_bar),
    )
    if batch_group_count > 1:
        # Features are (groups, features): the groups are parts of the batch.
        x_bar = _split(x_bar, lhs_spec[1], batch_group_count)
        x_bar = _merge(x_bar, lhs_spec[1], lhs_spec[0] + (lhs_spec[0] > lhs_spec[1]))
    return x_bar


def _of_kernel(
    y_bar: Any,
    x: Any,
    k: ShapedArray,
    *,
    window_strides: tuple[int, ...],
    padding: tuple[tuple[int, int], ...],
    lhs_dilation: tuple[int, ...],
    rhs_dilation: tuple[int, ...],
    dimension_numbers: ConvDimensionNumbers,
    feature_group_count: int,
    batch_group_count: int,
    precision: PrecisionPair,
    preferred_element_type: DType | None,
) -> Any:
    """Cotangent of the kernel: the input convolved with the cotangent, summed over the batch."""
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    x_shape, y_shape = aval_of(x).shape, aval_of(y_bar).shape
    pads = []
    for i, (low, _) in enumerate(padding):
        extent = dilated(k.shape[rhs_spec[i + 2]], rhs_dilation[i])
        size = dilated(x_shape[lhs_spec[i + 2]], lhs_dilation[i])
        given = dilated(y_shape[out_spec[i + 2]], window_strides[i])
        # The result has the kernel's extent; a remainder that the strides skip is cut off.
        pads.append((low, extent + given - 1 - size - low))
    return conv_general_dilated_p.bind(
        convert(x, aval_of(y_bar).dtype),
        y_bar,
        window_strides=rhs_dilation,
        padding=tuple(pads),
        lhs_dilation=lhs_dilation,
        rhs_dilation=window_strides,
        dimension_numbers=ConvDimensionNumbers(
            (lhs_spec[1], lhs_spec[0], *lhs_spec[2:]),
            (out_spec[1], out_spec[0], *out_spec[2:]),
            (rhs_spec[1], rhs_spec[0], *rhs_spec[2:]),
        ),
        feature_group_count=batch_group_count,
        batch_group_count=feature_group_count,
        precision=precision,
        preferred_element_type=_preferred(preferred_element_type, y_bar),
    )


def _preferred(preferred: DType | None, y_bar: Any) -> DType | None:
    """The cotangent has the preferred dtype already."""
    return None if preferred is None else aval_of(y_bar).dtype


def _split(x: Any, axis: int, groups: int) -> Any:
    """``axis`` as two axes, of which the first has size ``groups``."""
    shape = aval_of(x).shape
    return reshape(x, (*shape[:axis], groups, shape[axis] // groups, *shape[axis + 1 :]))


def _merge(x: Any, source: int, destination: int) -> Any:
    """Axis ``source`` becomes the slower part of axis ``destination``; positions count with ``source`` in place."""
    target = destination - (source < destination)
    x = moveaxis(x, source, target)
    shape = aval_of(x).shape
    return reshape(x, (*shape[:target], shape[target] * shape[target + 1], *shape[target + 2 :]))


@rules.define(batching_rule, conv_general_dilated_p)
def _conv_batching(
    axis: Axis,
    args: Sequence[Any],
    dims: Sequence[int | None],
    *,
    dimension_numbers: ConvDimensionNumbers,
    feature_group_count: int,
    batch_group_count: int,
    **params: Any,
) -> tuple[Any, int]:
    (x, k), (x_dim, k_dim) = args, dims
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    params["dimension_numbers"] = dimension_numbers
    groups = {"feature_group_count": feature_group_count, "batch_group_count": batch_group_count}
    if x_dim is not None and k_dim is not None:
        # Instances become groups: groups of the batch if it has groups already, else groups of
        # features.
        kind = "batch_group_count" if batch_group_count > 1 else "feature_group_count"
        into = lhs_spec[0] if batch_group_count > 1 else lhs_spec[1]
        groups[kind] *= axis.size
        x = _merge(x, x_dim, into + (into >= x_dim))
        k = _merge(k, k_dim, rhs_spec[0] + (rhs_spec[0] >= k_dim))
        y = conv_general_dilated_p.bind(x, k, **groups, **params)
        return _split(y, out_spec[1], axis.size), out_spec[1]
    if x_dim is not None:
        x, into = _within_groups(x, x_dim, lhs_spec[0], batch_group_count)
        y = conv_general_dilated_p.bind(x, k, **groups, **params)
        return _split(y, out_spec[0], axis.size), out_spec[0]
    assert k_dim is not None
    count = feature_group_count * batch_group_count
    k, _ = _within_groups(k, k_dim, rhs_spec[0], count)
    y = conv_general_dilated_p.bind(x, k, **groups, **params)
    feature = out_spec[1]
    if count == 1:
        return _split(y, feature, axis.size), feature
    # Features are (groups, instances, features of a group): move the instances out.
    y = _split(y, feature, count)
    y = _split(y, feature + 1, axis.size)
    y = moveaxis(y, feature + 1, 0)
    shape = aval_of(y).shape
    at = feature + 1
    return reshape(y, (*shape[:at], shape[at] * shape[at + 1], *shape[at + 2 :])), 0


def _within_groups(x: Any, bdim: int, axis: int, groups: int) -> tuple[Any, int]:
    """The batch axis inside ``axis``, below its groups: sizes ``(groups, instances, rest)``."""
    if groups == 1:
        return _merge(x, bdim, axis + (axis >= bdim)), axis
    x = moveaxis(x, bdim, 0)
    x = _split(x, axis + 1, groups)
    x = moveaxis(x, 0, axis + 1)  # (..., groups, instances, rest, ...)
    shape = aval_of(x).shape
    size = shape[axis] * shape[axis + 1] * shape[axis + 2]
    return reshape(x, (*shape[:axis], size, *shape[axis + 3 :])), axis
