"""Calls of foreign functions from programs.

The equation holds the name of the target, the declared avals of the results, the order of the axes of each operand and result, and the
attributes. Nothing looks into a target, so there is no derivative, and ``vmap`` follows a method as that of ``pure_callback`` does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from plugjax.extend.core import (
    AbstractToken,
    Effect,
    Effects,
    Primitive,
    ShapedArray,
    as_array,
    aval_of,
    no_effects,
    physical_aval,
)
from plugjax.extend.rules import (
    RuleSet,
    abstract_eval,
    batching_rule,
    effects_rule,
    jvp_rule,
    physical_rule,
    transpose_rule,
)
from plugjax.extend.transforms import Axis
from plugjax.ffi.attributes import Attributes, hashable
from plugjax.ffi.orders import (
    FfiLayoutOptions,
    MinorToMajor,
    stored_shape,
    with_batch_axis,
    xla_order,
    xla_orders,
)
from plugjax.lax.callback_batching import batched_call, check_vmap_method

rules = RuleSet(__name__)

# As a call it is compiled also where the host sees the memory: the foreign function is the backend's.
ffi_call_p = Primitive("ffi_call", multiple_results=True, structured=True)


class FfiEffect(Effect):
    """The effect of a foreign function that does more than to compute its results."""

    def __repr__(self) -> str:
        return "FFI"


def ffi_call(
    target_name: str,
    result_shape_dtypes: Any,
    *,
    has_side_effect: bool = False,
    vmap_method: str | None = None,
    input_layouts: Sequence[FfiLayoutOptions] | None = None,
    output_layouts: Any = None,
    input_output_aliases: Mapping[int, int] | None = None,
    custom_call_api_version: int = 4,
    legacy_backend_config: str | None = None,
) -> Callable[..., Any]:
    """A function that calls a target of :func:`register_ffi_target`, or one that jaxlib brings (``"lapack_spotrf_ffi"``).

    Args:
        target_name: the name of the target.
        result_shape_dtypes: an object with ``shape`` and ``dtype``, or a sequence of them; ``abstract_token`` for a token.
        has_side_effect: whether the function is called even if its results are unused.
        vmap_method: what ``vmap`` does: see ``pure_callback``.
        input_layouts: for each operand ``None`` (row by row), a ``Layout``, or its axes with the greatest stride first.
        output_layouts: the same for the results; not a sequence if ``result_shape_dtypes`` is none.
        input_output_aliases: from numbers of operands to numbers of the results that are written to their memory.
        custom_call_api_version: 4 for XLA's typed interface; less for older ones.
        legacy_backend_config: what a target of an older interface is given as its text.

    Returns:
        A function of arrays. Its keyword arguments are the attributes: numbers (of NumPy's types, where the size matters), strings, NumPy
        arrays, and dicts of them. Its result is an array, or a list of arrays (a tuple if ``result_shape_dtypes`` is one).

    Raises:
        ValueError: an unknown ``vmap_method``, a result without ``shape`` and ``dtype``, a number of layouts that is not that of the
            operands or results, aliases that do not exist or do not fit, or differentiation.
        TypeError: an attribute cannot be hashed.
        NotImplementedError: ``vmap`` without a ``vmap_method``.
        JaxRuntimeError: the backend has no such function; raised when the call is compiled or runs.

    Differs from JAX:
        A backend other than XLA calls the Python function that is registered for the platform ``"numpy"``.

    Example:
        >>> import numpy as np, plugjax
        >>> plugjax.ffi.register_ffi_target("doc_roll", np.roll, platform="numpy")
        >>> roll = plugjax.ffi.ffi_call("doc_roll", plugjax.ShapeDtypeStruct((3,), "float32"))
        >>> with plugjax.default_device("numpy"):
        ...     roll(np.float32([1, 2, 3]), shift=np.int32(1))
        Array([3., 1., 2.], dtype=float32)
    """
    check_vmap_method("ffi_call", vmap_method)
    several = isinstance(result_shape_dtypes, Sequence)
    result_avals = _result_avals(result_shape_dtypes if several else [result_shape_dtypes])
    wanted = output_layouts if several else (output_layouts,)
    if custom_call_api_version >= 4 and legacy_backend_config is not None:
        raise ValueError(
            "ffi_call: the use of the legacy_backend_config parameter requires custom_call_api_version < 4, got "
            f"{custom_call_api_version}. Give attributes as keyword arguments of the call."
        )

    def call(*args: Any, **attributes: Any) -> Any:
        operands = [x if _is_token(x) else as_array(x, "ffi_call") for x in args]
        avals = [_aval(x) for x in operands]
        input_orders = _orders("input", avals, input_layouts)
        output_orders = _orders("output", result_avals, wanted)
        results = ffi_call_p.bind(
            *operands,
            result_avals=result_avals,
            vmap_method=vmap_method,
            target_name=target_name,
            has_side_effect=bool(has_side_effect),
            input_layouts=input_orders,
            output_layouts=output_orders,
            input_output_aliases=checked_aliases(
                "ffi_call", input_output_aliases, avals, result_avals, input_orders, output_orders
            ),
            custom_call_api_version=custom_call_api_version,
            legacy_backend_config=legacy_backend_config,
            attributes=hashable(attributes),
        )
        if not several:
            return results[0]
        return tuple(results) if isinstance(result_shape_dtypes, tuple) else list(results)

    return call


def _is_token(x: Any) -> bool:
    return isinstance(getattr(x, "aval", None), AbstractToken)


def _aval(x: Any) -> Any:
    return x.aval if _is_token(x) else aval_of(x)


def _result_avals(results: Sequence[Any]) -> tuple[Any, ...]:
    avals = []
    for position, result in enumerate(results):
        if not isinstance(result, AbstractToken):
            if not (hasattr(result, "shape") and hasattr(result, "dtype")):
                raise ValueError(
                    "ffi_call: All elements of result_shape_dtypes must have 'shape' and 'dtype' attributes, got "
                    f"{result!r} at position {position}."
                )
            weak = bool(getattr(result, "weak_type", False))
            result = ShapedArray(tuple(result.shape), result.dtype, weak)
        avals.append(result)
    return tuple(avals)


def _orders(
    what: str, avals: Sequence[Any], layouts: Sequence[FfiLayoutOptions] | None
) -> tuple[MinorToMajor, ...]:
    if layouts is None:
        return tuple(xla_order(aval) for aval in avals)
    if len(layouts) != len(avals):
        raise ValueError(
            f"ffi_call: The number of {what}s ({len(avals)}) must equal the number of {what} layouts ({len(layouts)})."
        )
    return tuple(xla_orders(avals, layouts))


def checked_aliases(
    who: str,
    aliases: Mapping[int, int] | None,
    avals: Sequence[Any],
    result_avals: Sequence[Any],
    input_orders: Sequence[MinorToMajor] | None = None,
    output_orders: Sequence[MinorToMajor] | None = None,
) -> tuple[tuple[int, int], ...]:
    """Pairs of an operand and the result that is written to its memory.

    Raises:
        ValueError: there is no such operand or result, or the two differ in aval or order.
    """
    found = []
    for operand, result in sorted((aliases or {}).items()):
        operand, result = int(operand), int(result)
        said = f"{who}: input_output_aliases contains the mapping '{operand}:{result}'"
        for what, index, count in (
            ("input", operand, len(avals)),
            ("output", result, len(result_avals)),
        ):
            if index >= count:
                raise ValueError(
                    f"{said} with {what} index {index} outside the range [0, {count})."
                )
        if _kind(avals[operand]) != _kind(result_avals[result]):
            raise ValueError(
                f"{said} referring to an input with abstract value {avals[operand]} and an output with a different abstract "
                f"value {result_avals[result]}."
            )
        if input_orders and output_orders and input_orders[operand] != output_orders[result]:
            raise ValueError(
                f"{said} referring to an input with layout {input_orders[operand]} and an output with a different layout "
                f"{output_orders[result]}."
            )
        found.append((operand, result))
    return tuple(found)


def _kind(aval: Any) -> Any:
    return aval if isinstance(aval, AbstractToken) else (aval.shape, np.dtype(aval.dtype))


@rules.define(abstract_eval, ffi_call_p)
def _avals(*avals: Any, result_avals: tuple[Any, ...], **_: Any) -> list[Any]:
    return list(result_avals)


@rules.define(effects_rule, ffi_call_p)
def _effects(*, has_side_effect: bool, **_: Any) -> Effects:
    return frozenset({FfiEffect()}) if has_side_effect else no_effects


@rules.define(jvp_rule, ffi_call_p)
def _jvp(*_: Any, target_name: str, **__: Any) -> NoReturn:
    _refuse_derivative(target_name)


@rules.define(transpose_rule, ffi_call_p)
def _transpose(*_: Any, target_name: str, **__: Any) -> NoReturn:
    _refuse_derivative(target_name)


def _refuse_derivative(target_name: str) -> NoReturn:
    raise ValueError(
        f"The FFI call to `{target_name}` cannot be differentiated. Give its derivative by plugjax.custom_jvp or plugjax.custom_vjp."
    )


@rules.define(batching_rule, ffi_call_p)
def _batching(
    axis: Axis,
    args: Sequence[Any],
    dims: Sequence[int | None],
    *,
    result_avals: tuple[ShapedArray, ...],
    vmap_method: str | None,
    input_layouts: tuple[MinorToMajor, ...],
    output_layouts: tuple[MinorToMajor, ...],
    **params: Any,
) -> tuple[list[Any], list[int]]:
    def call(
        operands: Sequence[Any], avals: tuple[ShapedArray, ...], in_front: Sequence[bool]
    ) -> list[Any]:
        outputs = output_layouts
        if avals is not result_avals:
            outputs = tuple(map(with_batch_axis, output_layouts))
        inputs = tuple(
            with_batch_axis(order) if batched else order
            for order, batched in zip(input_layouts, in_front, strict=True)
        )
        return ffi_call_p.bind(
            *operands,
            result_avals=avals,
            vmap_method=vmap_method,
            input_layouts=inputs,
            output_layouts=outputs,
            **params,
        )

    return batched_call("ffi_call", vmap_method, axis, args, dims, result_avals, call)


@rules.define(physical_rule, ffi_call_p)
def _physical(
    in_avals: Sequence[ShapedArray],
    out_avals: Sequence[ShapedArray],
    *stored: Any,
    result_avals: tuple[Any, ...],
    **params: Any,
) -> list[Any]:
    avals = tuple(a if isinstance(a, AbstractToken) else physical_aval(a) for a in result_avals)
    return ffi_call_p.bind(*stored, result_avals=avals, **params)


__all__ = ["Attributes", "FfiEffect", "checked_aliases", "ffi_call", "ffi_call_p", "stored_shape"]
