"""The primitives behind ``debug.callback`` and ``debug.print``.

They have no results and change nothing: derivatives call them once, with the primals; ``vmap`` calls them once per
instance; transposition drops them.
"""

from __future__ import annotations

import copy
import logging
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from plugjax.extend import pytree
from plugjax.extend.core import (
    Array,
    Effect,
    Effects,
    Primitive,
    ShapedArray,
    Tracer,
    as_array,
    config,
    state,
)
from plugjax.extend.execution import EvalTrace
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
from plugjax.lax.callback import FlatCallback, Opaque, with_avals
from plugjax.lax.effects import debug_effect, ordered_debug_effect
from plugjax.lax.slicing import index_in_dim

rules = RuleSet(__name__)

debug_callback_p = Primitive("debug_callback", multiple_results=True)
debug_print_p = Primitive("debug_print", multiple_results=True)

_LOGGER = logging.getLogger("plugjax.debug")


def split_arguments(
    args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, list[Any], tuple[tuple[int, Opaque], ...]]:
    """Structure of arguments, their array leaves, and the other leaves with their positions."""
    leaves, in_tree = pytree.flatten((args, kwargs))
    arrays: list[Any] = []
    static: list[tuple[int, Opaque]] = []
    for position, leaf in enumerate(leaves):
        try:
            arrays.append(leaf if isinstance(leaf, (Array, Tracer)) else as_array(leaf))
        except (TypeError, OverflowError):
            static.append((position, Opaque(leaf)))
    return in_tree, arrays, tuple(static)


def bind_debug_callback(
    callback: Callable[..., Any],
    in_tree: Any,
    arrays: Sequence[Any],
    static: tuple[tuple[int, Opaque], ...],
    *,
    ordered: bool,
    partitioned: bool,
) -> None:
    """Call a function of pytrees, now or when the program runs."""
    flat = FlatCallback(Opaque(callback), in_tree, static, x64=config.enable_x64)
    if _runs_now(arrays):
        flat.call(arrays)
        return
    effect = ordered_debug_effect if ordered else debug_effect
    debug_callback_p.bind(*arrays, callback=flat, effect=effect, partitioned=partitioned)


def bind_debug_print(arrays: Sequence[Any], **params: Any) -> None:
    """Print, now or when the program runs; ``params`` are those of ``debug_print_p``."""
    if _runs_now(arrays):
        print_callback(**params).call(arrays)
        return
    debug_print_p.bind(*arrays, **params)


def _runs_now(arrays: Sequence[Any]) -> bool:
    # Outside of transformations no equation is needed, and none would keep the values alive.
    return type(state.trace) is EvalTrace and not any(isinstance(x, Tracer) for x in arrays)


@dataclass(frozen=True, slots=True)
class Printer:
    """The callback of ``debug.print``: formats values, and writes a line to ``sys.stdout`` or to the log."""

    fmt: str
    np_printoptions: tuple[tuple[str, Opaque], ...]
    has_placeholders: bool
    logging_record: Any

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        """Print the values."""
        if self.has_placeholders:
            with np.printoptions(**{name: each.value for name, each in self.np_printoptions}):
                line = self.fmt.format(*args, **kwargs)
        else:
            line = " ".join((self.fmt, *map(str, args)))
        if self.logging_record is None:
            sys.stdout.write(line + "\n")
        else:
            record = copy.copy(self.logging_record)
            record.msg = line
            _LOGGER.handle(record)


def log_record(level: int, file: str, line: int) -> logging.LogRecord:
    """A record without a message, for ``debug.log``; the message is set when the program runs."""
    return _LOGGER.makeRecord(_LOGGER.name, level, file, line, "", (), None)


def print_callback(
    *,
    fmt: str,
    in_tree: Any,
    static_args: tuple[tuple[int, Opaque], ...],
    np_printoptions: tuple[tuple[str, Opaque], ...],
    has_placeholders: bool,
    logging_record: Any,
    ordered: bool,
    partitioned: bool,
) -> FlatCallback:
    """The callback that stands for an equation of ``debug_print_p``."""
    printer = Printer(fmt, np_printoptions, has_placeholders, logging_record)
    return FlatCallback(Opaque(printer), in_tree, static_args, x64=config.enable_x64)


@rules.define(abstract_eval, debug_callback_p, debug_print_p)
def _debug_avals(*avals: ShapedArray, **_: Any) -> list[ShapedArray]:
    return []


@rules.define(effects_rule, debug_callback_p)
def _callback_effects(*, effect: Effect, **_: Any) -> Effects:
    return frozenset({effect})


@rules.define(effects_rule, debug_print_p)
def _print_effects(*, ordered: bool, **_: Any) -> Effects:
    return frozenset({ordered_debug_effect if ordered else debug_effect})


def _define_side_effect(primitive: Primitive) -> None:
    """Common rules of both primitives."""

    @rules.define(jvp_rule, primitive)
    def _jvp(
        primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[list[Any], list[Any]]:
        primitive.bind(*primals, **params)
        return [], []

    @rules.define(transpose_rule, primitive)
    def _transpose(cotangents: Sequence[Any], *operands: Any, **_: Any) -> list[Any]:
        return [None] * len(operands)

    @rules.define(batching_rule, primitive)
    def _batching(
        axis: Axis, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[list[Any], list[int]]:
        for i in range(axis.size):
            instance = [
                x if d is None else index_in_dim(x, i, d, keepdims=False)
                for x, d in zip(args, dims, strict=True)
            ]
            primitive.bind(*instance, **params)
        return [], []


_define_side_effect(debug_callback_p)
_define_side_effect(debug_print_p)


@rules.define(physical_rule, debug_callback_p)
def _callback_physical(
    in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], *stored: Any, **params: Any
) -> list[Any]:
    return debug_callback_p.bind(*stored, **with_avals(params, in_avals))


@rules.define(physical_rule, debug_print_p)
def _print_physical(
    in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], *stored: Any, **params: Any
) -> list[Any]:
    effect = ordered_debug_effect if params["ordered"] else debug_effect
    shown = {
        "callback": print_callback(**params),
        "effect": effect,
        "partitioned": params["partitioned"],
    }
    return debug_callback_p.bind(*stored, **with_avals(shown, in_avals))
