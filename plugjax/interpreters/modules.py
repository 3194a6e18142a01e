"""Whole programs as StableHLO, by JAX's names: what lowerings of a program's own call."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxlib.mlir import ir

from plugjax.extend.core import ClosedJaxpr, Jaxpr, ShapedArray
from plugjax.extend.source_info_util import NameStack
from plugjax.extend.transforms import physicalize
from plugjax.interpreters.constants import ir_tree_registry
from plugjax.stablehlo import mlir
from plugjax.stablehlo.context import EqnContext, ModuleContext
from plugjax.stablehlo.host_call import HostCall
from plugjax.stablehlo.lower import lower_module
from plugjax.stablehlo.lowering_state import LoweringParameters, ShapePolyLoweringState

Value = Any


class TokenSet:
    """Tokens by effect. Equations with ordered effects have their tokens among operands here, so sets are empty."""

    def __init__(self, tokens: dict[Any, Any] | None = None) -> None:
        self._tokens = dict(tokens or {})

    def __len__(self) -> int:
        return len(self._tokens)

    def get(self, effect: Any) -> Any:
        """The token of an effect; KeyError if there is none."""
        return self._tokens[effect]

    def items(self) -> tuple[tuple[Any, Any], ...]:
        """Effects with their tokens."""
        return tuple(self._tokens.items())

    def effects(self) -> set[Any]:
        """The effects."""
        return set(self._tokens)


class LoweringResult(NamedTuple):
    """A lowered program.

    Attributes:
        module: the ``ir.Module``.
        keepalive: what must live as long as the module.
        host_callbacks: calls to Python in it.
        shape_poly_state: the sizes that are not known: none.
    """

    module: Any
    keepalive: Any
    host_callbacks: list[Any]
    shape_poly_state: ShapePolyLoweringState = ShapePolyLoweringState((), None)


def module_to_string(module: Any, enable_debug_info: bool | None = None) -> str:
    """A module as text.

    Args:
        module: an ``ir.Module``.
        enable_debug_info: whether with locations.
    """
    return str(module.operation.get_asm(enable_debug_info=bool(enable_debug_info)))


def merge_mlir_modules(
    dst_module: Any, sym_name: str, src_module: Any, dst_symtab: Any = None
) -> str:
    """Move the functions of a module into another one, as private functions; returns the name that ``main`` has there.

    Args:
        dst_module: the module that gets them; its own names stay.
        sym_name: the name for ``main``, with a number if it is taken.
        src_module: the module that has them, of the same context; it is used up.
        dst_symtab: the table of symbols of ``dst_module``; new names are entered there.

    Raises:
        ValueError: the modules are of different contexts, or ``src_module`` has no ``main``.
    """
    if dst_module.context != src_module.context:
        raise ValueError("merge_mlir_modules: the modules are of different contexts.")
    table = ir.SymbolTable(dst_module.operation) if dst_symtab is None else dst_symtab
    functions = [op.operation for op in src_module.body.operations]
    own = [str(op.attributes["sym_name"].value) for op in functions]
    if "main" not in own:
        raise ValueError("merge_mlir_modules: the module to merge has no function main.")
    renamed: dict[str, str] = {}
    taken = set(own)
    for name in own:
        if name == "main" or name in table:
            stem = new = sym_name if name == "main" else name
            number = 0
            while new in table or new in taken:
                new, number = f"{stem}_{number}", number + 1
            renamed[name] = new
            taken.add(new)
    mlir.rename_symbols(src_module, renamed)
    for op in functions:
        op.attributes["sym_visibility"] = mlir.string("private")
        mlir.move_to_end(op, dst_module)
        table.insert(op)
    return renamed["main"]


def module_to_bytecode(module: Any) -> bytes:
    """A module as MLIR bytecode."""
    return mlir.bytecode(module)


def make_ir_context() -> Any:
    """The MLIR context that programs are lowered in."""
    return mlir.session().context


def token_type() -> Any:
    """The MLIR type of a token."""
    return mlir.token_type()


def shape_tensor(ctx: ModuleContext, sizes: Sequence[int]) -> Value:
    """Sizes as a constant of 32-bit integers."""
    return mlir.constant(np.asarray(sizes, np.int32))


def _deprecated(name: str) -> None:
    warnings.warn(
        f"plugjax.interpreters.mlir.{name} is deprecated, as in JAX.",
        DeprecationWarning,
        stacklevel=3,
    )


def flatten_ir_values(xs: Iterable[Any]) -> list[Value]:
    """Values and tuples of values as one list. Deprecated, as in JAX."""
    _deprecated("flatten_ir_values")
    found: list[Value] = ir_tree_registry.flatten(xs)[0]
    return found


def flatten_ir_types(xs: Iterable[Any]) -> list[Any]:
    """Types and tuples of types as one list. Deprecated, as in JAX."""
    _deprecated("flatten_ir_types")
    found: list[Value] = ir_tree_registry.flatten(xs)[0]
    return found


def unflatten_ir_values_like_types(xs: Iterable[Value], ys: Sequence[Any]) -> list[Any]:
    """A list of values, in tuples where there are tuples of types. Deprecated, as in JAX."""
    _deprecated("unflatten_ir_values_like_types")
    _, tree = ir_tree_registry.flatten(ys)
    found: list[Any] = tree.unflatten(xs)
    return found


def lower_jaxpr_to_module(
    module_name: str,
    jaxpr: ClosedJaxpr,
    *,
    platforms: Sequence[str] = ("cpu",),
    lowering_parameters: LoweringParameters | None = None,
    **_: Any,
) -> LoweringResult:
    """Lower a program to a module whose public function is ``main``.

    Args:
        module_name: name of the module.
        jaxpr: the program.
        platforms: the hardware that it is for: one.
        lowering_parameters: rules that come before those of primitives, and what rules are told. JAX's other arguments, which
            are about several devices and donation, have no effect.

    Raises:
        NotImplementedError: several platforms.
        LoweringError: a primitive has no lowering.
    """
    if len(platforms) > 1:
        raise NotImplementedError(
            f"lower_jaxpr_to_module: a module is for one platform, got {tuple(platforms)}. Lower once for each."
        )
    found = lower_module(
        physicalize(jaxpr),
        "xla",
        name=module_name,
        device_kind=platforms[0],
        hints=True,
        parameters=lowering_parameters,
    )
    return LoweringResult(found.module, None, list(found.host_calls))


def lower_jaxpr_to_fun(
    ctx: ModuleContext,
    name: str,
    jaxpr: ClosedJaxpr,
    effects: Sequence[Any] = (),
    *,
    main_function: bool = False,
    **_: Any,
) -> Any:
    """Write a function that computes a program into the module, and give the operation.

    Args:
        ctx: the module.
        name: of the function; a number is added if it is taken.
        jaxpr: the program.
        effects: accepted as in JAX: order is part of the program here.
        main_function: whether the function is public. JAX's other arguments have no effect.
    """
    unused = ctx.unique_name(name)
    return ctx.write_function(physicalize(jaxpr), unused, public=main_function)


def jaxpr_subcomp(
    ctx: ModuleContext,
    jaxpr: Jaxpr,
    name_stack: NameStack,
    tokens: TokenSet,
    consts_for_constvars: Sequence[Value],
    *args: Value,
    **_: Any,
) -> tuple[list[Value], TokenSet]:
    """Write the equations of a program at the insertion point.

    Args:
        ctx: the module.
        jaxpr: the program.
        name_stack: accepted as in JAX: scopes are part of the equations.
        tokens: given back.
        consts_for_constvars: the values of its constants.
        *args: the values of its inputs.

    Returns:
        The values of its outputs, and the tokens.
    """
    opened = Jaxpr([], [*jaxpr.constvars, *jaxpr.invars], jaxpr.outvars, jaxpr.eqns)
    return ctx.inline(ClosedJaxpr(opened), [*consts_for_constvars, *args]), tokens


def core_call_lowering(
    ctx: EqnContext, *args: Value, name: str, call_jaxpr: ClosedJaxpr | Jaxpr, backend: Any = None
) -> list[Value]:
    """The lowering of an equation that calls a program: a call of a function.

    Args:
        ctx: the equation.
        *args: its operands.
        name: of the function.
        call_jaxpr: the program.
        backend: accepted as in JAX.
    """
    program = ClosedJaxpr(call_jaxpr) if isinstance(call_jaxpr, Jaxpr) else call_jaxpr
    return ctx.call(program, args, name)


def emit_python_callback(
    ctx: EqnContext,
    callback: Callable[..., Any],
    token: Any,
    operands: Sequence[Value],
    operand_avals: Sequence[ShapedArray],
    result_avals: Sequence[ShapedArray],
    *,
    has_side_effect: bool,
    returns_token: bool = True,
    partitioned: bool = False,
    sharding: Any = None,
) -> tuple[list[Value], Any, Any]:
    """Write a call of a Python function of NumPy arrays.

    Args:
        ctx: the equation.
        callback: gives a sequence of arrays.
        token: given back: order is part of the program here.
        operands: its operands.
        operand_avals: their types.
        result_avals: the types of its results.
        has_side_effect: whether it runs even if nothing reads its results.
        returns_token: accepted as in JAX.
        partitioned: accepted as in JAX.
        sharding: accepted as in JAX.

    Returns:
        The values of its results, the token, and what must live as long as the module.

    Raises:
        LoweringError: the backend calls no Python.
    """

    def kernel(*arrays: Any) -> tuple[np.ndarray[Any, Any], ...]:
        return tuple(
            np.asarray(y, aval.dtype)
            for y, aval in zip(callback(*arrays), result_avals, strict=True)
        )

    name = getattr(callback, "__name__", "callback")
    call = HostCall(
        kernel, tuple(operand_avals), tuple(result_avals), name, has_side_effect, cacheable=False
    )
    return ctx.host_call(call, operands), token, call


__all__ = [
    "LoweringResult",
    "TokenSet",
    "core_call_lowering",
    "emit_python_callback",
    "flatten_ir_types",
    "flatten_ir_values",
    "jaxpr_subcomp",
    "lower_jaxpr_to_fun",
    "lower_jaxpr_to_module",
    "make_ir_context",
    "module_to_bytecode",
    "module_to_string",
    "shape_tensor",
    "token_type",
    "unflatten_ir_values_like_types",
]
