"""StableHLO of foreign calls: for authors of lowering rules, and the rule of ``ffi_call`` itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from plugjax.extend.core import AbstractToken
from plugjax.extend.errors import LoweringError
from plugjax.extend.rules import RuleSet, lowering
from plugjax.ffi.attributes import Attributes, plain
from plugjax.ffi.call import ffi_call_p
from plugjax.ffi.host import host_function, no_function
from plugjax.ffi.orders import FfiLayoutOptions, MinorToMajor, stored_shape, xla_order
from plugjax.ffi.targets import host_functions, nothing
from plugjax.stablehlo import mlir
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.custom_call import attribute_of, custom_call
from plugjax.stablehlo.host_call import called_from
from plugjax.stablehlo.mlir import Operation, Value

rules = RuleSet(__name__)


def build_ffi_lowering_function(
    call_target_name: str,
    *,
    operand_layouts: Sequence[FfiLayoutOptions] | None = None,
    result_layouts: Sequence[FfiLayoutOptions] | None = None,
    backend_config: Mapping[str, Any] | str | None = None,
    skip_ffi_layout_processing: bool = False,
    **lowering_args: Any,
) -> Callable[..., Operation]:
    """A function of a lowering context and MLIR values that writes a foreign call, and gives the operation.

    Args:
        call_target_name: the name of the target.
        operand_layouts: for each operand ``None`` (row by row), a ``Layout``, or its axes with the least stride first, as XLA has them.
        result_layouts: the same for the results.
        backend_config: MLIR attributes by name, beside the keyword arguments of the function; a text for older interfaces.
        skip_ffi_layout_processing: whether layouts are left out.
        **lowering_args: ``has_side_effect``, ``api_version``, ``operand_output_aliases``, ``called_computations``, ``result_types``,
            ``result_shapes``, ``extra_attributes``.

    Raises:
        ValueError: a configuration or attributes that the version of the interface does not have; raised by the function.

    Example:
        >>> import plugjax
        >>> plugjax.ffi.build_ffi_lowering_function("my_target").__name__
        'lower_my_target'
    """

    def lower(ctx: EqnContext, *operands: Value, **params: Any) -> Operation:
        options = {"api_version": 4, **lowering_args}
        if options["api_version"] >= 4:
            if backend_config is not None and not isinstance(backend_config, dict):
                raise ValueError(
                    f"{call_target_name}: with api_version 4 backend_config must be a dictionary, got {backend_config!r}."
                )
            attributes = {name: attribute_of(value) for name, value in params.items()}
            options["backend_config"] = {**(backend_config or {}), **attributes}
        else:
            if params:
                raise ValueError(
                    f"{call_target_name}: The use of ffi_call attributes requires a custom call API version of at least 4, got "
                    f"api_version={options['api_version']}."
                )
            options["backend_config"] = backend_config
        if not skip_ffi_layout_processing:
            for name, avals, layouts in (
                ("operand_layouts", ctx.avals_in, operand_layouts),
                ("result_layouts", ctx.avals_out, result_layouts),
            ):
                given = [None] * len(avals) if layouts is None else layouts
                options[name] = [
                    xla_order(a, layout) for a, layout in zip(avals, given, strict=True)
                ]
        types = options.pop("result_types", None)
        if types is None:
            types = [_type(aval) for aval in ctx.avals_out]
            if any(mlir.has_symbols(stored_shape(a)) for a in ctx.avals_out):
                options.setdefault("result_sizes", [stored_shape(a) for a in ctx.avals_out])
        return custom_call(call_target_name, types, operands, **options)

    lower.__name__ = f"lower_{call_target_name}"
    return lower


def _type(aval: Any) -> mlir.Type:
    return mlir.token_type() if isinstance(aval, AbstractToken) else mlir.type_of(aval)


def ffi_lowering(
    call_target_name: str,
    *,
    operand_layouts: Sequence[FfiLayoutOptions] | None = None,
    result_layouts: Sequence[FfiLayoutOptions] | None = None,
    backend_config: Mapping[str, Any] | str | None = None,
    skip_ffi_layout_processing: bool = False,
    **lowering_args: Any,
) -> Callable[..., Sequence[Value]]:
    """A lowering rule that writes a foreign call; arguments as in :func:`build_ffi_lowering_function`.

    Example:
        >>> import plugjax
        >>> from plugjax.extend.core import Primitive
        >>> from plugjax.interpreters import mlir
        >>> rows_p = Primitive("rows")
        >>> rows_p.def_abstract_eval(lambda x: x)  # doctest: +ELLIPSIS
        <function ...
        >>> rule = mlir.register_lowering(rows_p, plugjax.ffi.ffi_lowering("my_rows"))
        >>> "@my_rows" in plugjax.jit(rows_p.bind).lower(1.0).as_text("stablehlo")
        True
    """
    build = build_ffi_lowering_function(
        call_target_name,
        operand_layouts=operand_layouts,
        result_layouts=result_layouts,
        backend_config=backend_config,
        skip_ffi_layout_processing=skip_ffi_layout_processing,
        **lowering_args,
    )

    def rule(ctx: EqnContext, *operands: Value, **params: Any) -> Sequence[Value]:
        return list(build(ctx, *operands, **params).results)

    return rule


@rules.define(lowering, ffi_call_p, platform="xla")
def _ffi_call(
    ctx: EqnContext,
    *operands: Value,
    target_name: str,
    has_side_effect: bool,
    input_layouts: Sequence[MinorToMajor],
    output_layouts: Sequence[MinorToMajor],
    input_output_aliases: Sequence[tuple[int, int]],
    custom_call_api_version: int,
    legacy_backend_config: str | None,
    attributes: Attributes,
    **_: Any,
) -> Sequence[Value]:
    rule = ffi_lowering(
        target_name,
        has_side_effect=has_side_effect,
        operand_layouts=input_layouts,
        result_layouts=output_layouts,
        operand_output_aliases=dict(input_output_aliases),
        api_version=custom_call_api_version,
        backend_config=legacy_backend_config,
    )
    return rule(ctx, *operands, **plain(attributes))


@rules.define(lowering, ffi_call_p)
def _ffi_call_on_host(
    ctx: EqnContext, *operands: Value, target_name: str, **params: Any
) -> Sequence[Value]:
    if target_name not in host_functions:
        raise LoweringError(no_function(target_name, ctx.platform))
    if host_functions[target_name] is nothing:
        return []
    kernel = host_function(target_name=target_name, **params)
    return ctx.host_call(called_from(ctx.eqn, kernel, cacheable=False), operands)
