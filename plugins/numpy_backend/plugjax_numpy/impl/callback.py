"""Kernel of callbacks: the user's function, and a check of its results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from plugjax.extend.core import ShapedArray
from plugjax.extend.rules import RuleSet, impl
from plugjax.lax.callback import FlatCallback, io_callback_p, pure_callback_p
from plugjax.lax.debug_callback import debug_callback_p, debug_print_p, print_callback
from plugjax.lax.inspection import inspect_sharding_p
from plugjax_numpy.kernels import Value

rules = RuleSet(__name__)


@rules.define(impl, pure_callback_p, io_callback_p)
def _call(
    *arrays: Value, callback: FlatCallback, result_avals: tuple[ShapedArray, ...], **_: Any
) -> Sequence[Value]:
    # Copy: the function may write to its own arrays later. A scalar stands for a rank-0 array.
    return [np.array(y)[()] for y in callback.results(arrays, result_avals)]


@rules.define(impl, debug_callback_p)
def _debug_callback(*arrays: Value, callback: FlatCallback, **_: Any) -> Sequence[Value]:
    callback.run(arrays)
    return []


@rules.define(impl, debug_print_p)
def _debug_print(*arrays: Value, **params: Any) -> Sequence[Value]:
    print_callback(**params).run(arrays)
    return []


@rules.define(impl, inspect_sharding_p)
def _told_before(x: Value, **_: Any) -> Sequence[Value]:
    return []
