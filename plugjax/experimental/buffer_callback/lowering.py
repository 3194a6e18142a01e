"""Lowering of callbacks on buffers: a call to Python, in the backend's own memory where it has such calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from plugjax.experimental.buffer_callback.call import buffer_callback_p, in_place, on_host
from plugjax.extend.rules import RuleSet, lowering
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.host_call import InPlace, called_from
from plugjax.stablehlo.mlir import Value

rules = RuleSet(__name__)


@rules.define(lowering, buffer_callback_p)
def _buffer_callback(
    ctx: EqnContext,
    *operands: Value,
    input_output_aliases: Sequence[tuple[int, int]],
    command_buffer_compatible: bool,
    **params: Any,
) -> list[Value]:
    kernel = partial(on_host, input_output_aliases=input_output_aliases, **params)

    def call(*arrays: Any) -> tuple[Any, ...]:
        return tuple(np.asarray(y) for y in kernel(*arrays))

    found = called_from(ctx.eqn, call, cacheable=False)
    place = InPlace(in_place(**params), tuple(input_output_aliases), command_buffer_compatible)
    return ctx.host_call(replace(found, in_place=place), operands)
