"""Coercion and promotion of arguments for lax.

Operands get one dtype (the join of theirs, where Python scalars are weak) and one rank. A Python scalar beside an array
becomes a NumPy scalar, or a rank-0 array where the other operand lives, so that staging writes it as a literal.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import ml_dtypes
import numpy as np

from plugjax.extend import dtypes
from plugjax.extend.core import (
    Array,
    ArrayLike,
    Shape,
    ShapedArray,
    Tracer,
    as_array,
    aval_of,
    broadcast_in_dim_p,
    config,
    default_placement,
    scalar_value,
    select_n_p,
)
from plugjax.extend.dtypes import BOOL, INT32_MAX, INT32_MIN, DType
from plugjax.extend.errors import KeyDtypeError, NotArrayError, OutArgumentError, SizeError
from plugjax.lax.families import convert as lax_convert, scalar as scalar_beside, scalar_aval
from plugjax.lax.promotion import content, promote
from plugjax.lax.requested_dtypes import canonical_dtype as canonical_dtype

__all__ = [
    "ArrayLike",
    "Operand",
    "as_mask",
    "as_operand",
    "as_operands",
    "broadcast_ranks",
    "broadcast_shape",
    "broadcast_to_shape",
    "broadcast_together",
    "canonical_dtype",
    "check_arraylike",
    "check_numbers",
    "check_width",
    "convert",
    "converted",
    "join_dtypes",
    "limits",
    "note_rank_promotion",
    "pick",
    "promote_args",
    "promote_inexact",
    "promote_many",
    "promote_many_inexact",
    "promote_numeric",
    "promote_shapes",
    "reject_out",
    "rounded",
    "same_dtype",
    "scalar",
    "to_inexact",
]  # fmt: skip

# Operand of a primitive: an Array, or a tracer or NumPy scalar, which have what is asked of it.
Operand: TypeAlias = Array

_PYTHON = (bool, int, float, complex)

# Beside a strong dtype of these kinds a Python scalar of the type adopts the dtype, under every
# configuration.
_ABSORBED = {int: "iufc", float: "fc", complex: "c"}


def check_arraylike(who: str, *args: Any) -> None:
    """Raise unless all arguments are arrays or scalars.

    Raises:
        TypeError: a list, ``None`` or another object that is not array-like.
    """
    for position, x in enumerate(args):
        if not _is_arraylike(x):
            raise _not_arraylike(who, position, x)


def _is_arraylike(x: Any) -> bool:
    return (
        type(x) is Array
        or isinstance(x, (Tracer, np.ndarray, np.generic, *_PYTHON))
        or hasattr(x, "__jax_array__")
    )


def _not_arraylike(who: str, position: int, x: Any) -> NotArrayError:
    return NotArrayError(
        f"{who} requires ndarray or scalar arguments: that at position {position} is of type {type(x)}. "
        "Convert it with plugjax.numpy.asarray."
    )


def as_operand(who: str, x: ArrayLike, position: int = 0) -> Operand:
    """``x`` as an Array or tracer; lists and ``None`` are rejected."""
    if type(x) is Array:
        return x
    if not _is_arraylike(x):
        raise _not_arraylike(who, position, x)
    return as_array(content(x), who)


def check_numbers(who: str, *operands: Operand) -> None:
    """Raise unless all operands hold numbers or bools.

    Raises:
        KeyDtypeError: one holds random keys.
    """
    for x in operands:
        if dtypes.is_extended(x.aval.dtype):
            raise KeyDtypeError(f"{who} takes numbers, got dtype {x.aval.dtype.name}.")


def as_mask(who: str, where: ArrayLike) -> Operand:
    """A ``where=`` argument as an operand.

    Raises:
        ValueError: it holds other values than bools.
    """
    mask = as_operand(who, where)
    if mask.aval.dtype != BOOL:
        raise ValueError(
            f"{who}: where is a mask of bools, got {mask.aval.str_short()}. Compare its values, as in x != 0."
        )
    return mask


def as_operands(who: str, *args: ArrayLike) -> list[Operand]:
    """Each argument as an Array or tracer."""
    return [as_operand(who, x, i) for i, x in enumerate(args)]


def convert(x: Operand, dtype: DType, weak_type: bool = False) -> Operand:
    """``x`` with another dtype and weak type; unchanged if it has them."""
    aval = x.aval
    if aval.dtype == dtype and aval.weak_type == weak_type:
        return x
    found: Operand = lax_convert(x, dtype, weak_type)
    return found


def converted(x: Operand, dtype: DType) -> Operand:
    """``x`` with another dtype; unchanged, weak or not, if it has it."""
    aval = x.aval
    if aval.dtype == dtype:
        return x
    return convert(x, dtype)


def join_dtypes(*args: ArrayLike) -> tuple[DType, bool]:
    """Dtype and weak type that all the arguments convert to."""
    avals = [aval_of(content(x)) for x in args]
    return promote((a.dtype, a.weak_type) for a in avals)


def _scalar(value: Any, dtype: DType, weak_type: bool, beside: Any) -> Any:
    """A Python scalar as an operand of a dtype, on its partner's device.

    Raises:
        OverflowError: an integer beyond the default width, for every dtype.
    """
    kind = (dtype, type(value), weak_type)
    found = _scalar_kinds.get(kind)
    if found is None:
        found = _scalar_kinds[kind] = _scalar_kind(*kind)
    make, aval, is_bounded = found
    try:
        number = make(value)
    except OverflowError:
        check_width(value)
        # Wraps around, as the conversion of an array would.
        number = np.asarray(value, dtypes.scalar_dtype(value)).astype(dtype)[()]
    if is_bounded and not INT32_MIN <= value <= INT32_MAX:
        check_width(value)
    if type(beside) is Array:
        return Array(aval, beside._placement.whole, number)
    if weak_type:
        return Array(aval, default_placement(), number)
    return number


class _ScalarKind(NamedTuple):
    """Python scalars of one type as operands of one dtype."""

    make: Callable[[Any], Any]
    aval: ShapedArray
    # The dtype takes integers that the default width does not.
    is_bounded: bool


_scalar_kinds: dict[tuple[DType, type, bool], _ScalarKind] = {}


def _scalar_kind(dtype: DType, kind: type, weak_type: bool) -> _ScalarKind:
    is_bounded = kind is int and dtypes.takes_wide_integers(dtype)
    return _ScalarKind(dtype.type, scalar_aval(dtype, weak_type), is_bounded)


def check_width(value: Any) -> None:
    """Raise if a Python integer is beyond the default width.

    Raises:
        OverflowError: the integer is beyond the default width.
    """
    if type(value) is int:
        scalar_value(value)


def _fits(value: int) -> bool:
    try:
        scalar_value(value)
    except OverflowError:
        return False
    return True


def rounded(*args: ArrayLike) -> list[ArrayLike]:
    """Arguments of a function of real numbers: Python integers beyond the default width are floats."""
    return [float(x) if type(x) is int and not _fits(x) else x for x in args]


def scalar(value: Any, like: ArrayLike) -> Operand:
    """A number as an operand beside ``like``: of its dtype, where it is, and weak if it is a weak number itself.

    Beside a weak array with axes it is strong, other than in the formulas of lax: functions of NumPy's API then give what JAX's give.
    """
    aval = aval_of(like)
    return scalar_beside(value, like, aval.weak_type and not aval.shape)


def promote_args(who: str, x: Any, y: Any) -> tuple[Operand, Operand]:
    """Two operands with one dtype, and ranks that lax accepts.

    Raises:
        TypeError: an argument is not array-like, or the shapes do not broadcast.
        TypePromotionError: the dtypes have no join, or strict promotion forbids it.
    """
    if type(x) is Array or isinstance(x, Tracer):
        a = x.aval
        if type(y) is Array or isinstance(y, Tracer):
            b = y.aval
            if a is b:
                return x, y  # type: ignore[return-value]  # tracers are arrays
            if (
                a.dtype == b.dtype
                and a.weak_type is b.weak_type
                and (a.ndim == b.ndim or not a.ndim or not b.ndim)
            ):
                return x, y  # type: ignore[return-value]  # tracers are arrays
        else:
            kinds = _ABSORBED.get(type(y))
            if kinds is not None and not a.weak_type and a.dtype.kind in kinds:
                return x, _scalar(y, a.dtype, False, x)  # type: ignore[return-value]  # tracers are arrays
    elif type(y) is Array or isinstance(y, Tracer):
        b = y.aval
        kinds = _ABSORBED.get(type(x))
        if kinds is not None and not b.weak_type and b.dtype.kind in kinds:
            return _scalar(x, b.dtype, False, y), y  # type: ignore[return-value]  # tracers are arrays
    first, second = _promoted(who, (x, y), None)
    return first, second


def promote_many(who: str, *args: ArrayLike) -> list[Operand]:
    """Any number of operands with one dtype, and ranks that lax accepts."""
    return _promoted(who, args, None)


def promote_many_inexact(who: str, *args: ArrayLike) -> list[Operand]:
    """As :func:`promote_many`, with integers and bools made floating."""
    return _promoted(who, args, dtypes.to_inexact)


def promote_inexact(who: str, x: ArrayLike, y: ArrayLike) -> tuple[Operand, Operand]:
    """As :func:`promote_args`, with integers and bools made floating."""
    if type(x) is Array and type(y) is Array:
        if x.aval is y.aval and x.aval.dtype.kind in "fc":
            return x, y
    elif (
        type(x) is Array and type(y) is float and x.aval.dtype.kind in "fc" and not x.aval.weak_type
    ):
        return x, _scalar(y, x.aval.dtype, False, x)
    first, second = _promoted(who, (x, y), dtypes.to_inexact)
    return first, second


def _to_numeric(dtype: DType) -> DType:
    return dtypes.INT32 if dtype == BOOL else dtype


def promote_numeric(who: str, x: ArrayLike, y: ArrayLike) -> tuple[Operand, Operand]:
    """As :func:`promote_args`, with bools made int32."""
    first, second = _promoted(who, (x, y), _to_numeric)
    return first, second


def to_inexact(who: str, x: ArrayLike) -> Operand:
    """One operand made floating or complex: integers and bools are converted."""
    if type(x) is Array and x.aval.dtype.kind in "fc":
        return x
    x = as_operand(who, x)
    aval = x.aval
    if dtypes.is_extended(aval.dtype):
        raise KeyDtypeError(f"{who} takes numbers, got dtype {aval.dtype.name}.")
    dtype = dtypes.to_inexact(aval.dtype)
    if dtype == aval.dtype:
        return x
    return convert(x, dtype, aval.weak_type)


def _promoted(
    who: str, args: Sequence[ArrayLike], widen: Callable[[DType], DType] | None
) -> list[Operand]:
    check_arraylike(who, *args)
    values: list[Any] = [x if type(x) in _PYTHON else as_array(content(x), who) for x in args]
    dtype, weak_type = promote(
        (aval.dtype, aval.weak_type) for aval in [aval_of(x) for x in values]
    )
    if widen is not None:
        dtype = dtypes.canonicalize(widen(dtype))
    beside = next((x for x in values if type(x) not in _PYTHON), None)
    operands = []
    for x in values:
        if type(x) not in _PYTHON:
            operands.append(convert(x, dtype, weak_type))
        elif beside is None:
            operands.append(convert(as_array(x, who), dtype, weak_type))
        else:
            operands.append(_scalar(x, dtype, weak_type, beside))
    return broadcast_ranks(who, operands)


def broadcast_ranks(who: str, operands: list[Operand]) -> list[Operand]:
    """Operands with leading axes of size 1, so that all but scalars have one rank.

    Weak scalars get it too, as in JAX: constants beside a weak operand are weak if its rank is 0 (:func:`scalar`).
    """
    ranks = {x.ndim for x in operands if x.ndim}
    if len(ranks) < 2:
        return operands
    note_rank_promotion(who, [x.shape for x in operands])
    broadcast_shape(who, *[x.shape for x in operands])
    rank = max(ranks)
    return [promote_shapes(x, rank) if x.ndim or aval_of(x).weak_type else x for x in operands]


def note_rank_promotion(who: str, shapes: Sequence[Shape]) -> None:
    """Refuse rank promotion of operands of these shapes, or warn, if the configuration requires it.

    Raises:
        ValueError: ``jax_numpy_rank_promotion`` is ``"raise"``.
    """
    mode = config.read("numpy_rank_promotion")
    if mode == "allow":
        return
    listed = " ".join(str(shape) for shape in shapes)
    if mode == "raise":
        raise ValueError(
            f"{who}: shapes {listed} differ in rank, which jax_numpy_rank_promotion='raise' forbids. "
            "Reshape or broadcast one of them."
        )
    warnings.warn(
        f"{who}: rank promotion of shapes {listed}. Reshape one, or set jax_numpy_rank_promotion='allow'.",
        stacklevel=5,
    )


def same_dtype(who: str, *args: ArrayLike, inexact: bool = False) -> list[Operand]:
    """Operands with one dtype, floating or complex if ``inexact``, and their shapes as they are."""
    operands = as_operands(who, *args)
    dtype, weak_type = join_dtypes(*operands)
    if inexact:
        dtype = dtypes.canonicalize(dtypes.to_inexact(dtype))
    return [convert(x, dtype, weak_type) for x in operands]


def promote_shapes(x: Operand, rank: int) -> Operand:
    """``x`` with leading axes of size 1, ``rank`` axes in all."""
    missing = rank - x.ndim
    if missing <= 0:
        return x
    return broadcast_in_dim_p.bind(
        x, shape=(*(1,) * missing, *x.shape), broadcast_dimensions=tuple(range(missing, rank))
    )


def broadcast_to_shape(who: str, x: Operand, shape: Shape) -> Operand:
    """``x`` broadcast to ``shape`` by NumPy's rules.

    Raises:
        ValueError: it does not broadcast.
    """
    own = x.shape
    if own == shape:
        return x
    lead = len(shape) - len(own)
    if lead < 0 or any(a not in (1, b) for a, b in zip(own, shape[lead:], strict=True)):
        raise SizeError(
            f"{who}: Incompatible shapes for broadcasting: {own} does not broadcast to {shape}."
        )
    return broadcast_in_dim_p.bind(
        x, shape=shape, broadcast_dimensions=tuple(range(lead, len(shape)))
    )


def broadcast_shape(who: str, *shapes: Shape) -> Shape:
    """The shape that arrays of the given shapes broadcast to.

    Raises:
        ValueError: they do not broadcast.
    """
    result: list[int] = []
    for sizes in itertools.zip_longest(*[reversed(s) for s in shapes], fillvalue=1):
        stretched = {size for size in sizes if size != 1}
        if len(stretched) > 1:
            raise SizeError(f"{who}: shapes {list(shapes)} do not broadcast to a common one.")
        result.append(stretched.pop() if stretched else 1)
    return tuple(reversed(result))


def broadcast_together(*operands: Operand) -> list[Operand]:
    """Operands broadcast to one shape; NumPy scalars beside arrays become arrays."""
    shape = broadcast_shape("broadcast", *[x.shape for x in operands])
    return [x if x.shape == shape else broadcast_to_shape("broadcast", x, shape) for x in operands]


def pick(which: Operand, on_true: Any, on_false: Any) -> Operand:
    """Choose between two operands of one dtype; all three broadcast together."""
    if which.shape:
        which, on_true, on_false = broadcast_together(which, on_true, on_false)
    else:
        on_true, on_false = broadcast_together(on_true, on_false)
    return select_n_p.bind(which, on_false, on_true)


def limits(dtype: DType) -> Any:
    """Limits of a floating dtype, including the small ones."""
    return ml_dtypes.finfo(dtype)


def reject_out(who: str, out: Any) -> None:
    """Raise unless ``out`` is ``None``: arrays are immutable.

    Raises:
        NotImplementedError: ``out`` was given.
    """
    if out is not None:
        raise OutArgumentError(
            f"The 'out' argument to jnp.{who} cannot be written, since arrays are immutable. Use the result instead."
        )
