"""Rows of the primitives that call Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from plugjax.extend.core import ShapeDtypeStruct
from plugjax.lax.callback import io_callback, io_callback_p, pure_callback, pure_callback_p
from plugjax.lax.debug_callback import (
    bind_debug_callback,
    bind_debug_print,
    debug_callback_p,
    debug_print_p,
    split_arguments,
)
from plugjax.lax.inspection import inspect_sharding, inspect_sharding_p
from plugjax.testing.row import Op, in_float64, integers, real

_SHAPES = (ShapeDtypeStruct((), np.int32), ShapeDtypeStruct((4,), np.int32))
_ELSEWHERE = "JAX's callbacks are no functions of jax.lax"


def _host(x: Any, y: Any) -> tuple[Any, Any]:
    return np.sum(np.asarray(x)).astype(np.int32), np.asarray(x) - np.asarray(y)


def _with_debug_callback(lax: Any, x: Any) -> Any:
    in_tree, arrays, static = split_arguments((x, "a name"), {})
    bind_debug_callback(lambda *_: None, in_tree, arrays, static, ordered=False, partitioned=False)
    return lax.sin(x)


def _printed(lax: Any, x: Any) -> Any:
    in_tree, arrays, static = split_arguments((x,), {})
    bind_debug_print(
        arrays,
        fmt="{}",
        ordered=True,
        partitioned=False,
        in_tree=in_tree,
        static_args=static,
        np_printoptions=(),
        has_placeholders=True,
        logging_record=None,
    )
    return lax.sin(x)


def _inspected(lax: Any, x: Any) -> Any:
    inspect_sharding(x, lambda _: None)
    return lax.sin(x)


CALLBACKS: Sequence[Op] = (
    Op("pure_callback", pure_callback_p,
       lambda _, x, y: pure_callback(_host, _SHAPES, x, y, vmap_method="sequential"), _host,
       integers(-9, 9, (4,), (4,)), without_jax=_ELSEWHERE),
    Op("io_callback", io_callback_p, lambda _, x, y: io_callback(_host, _SHAPES, x, y), _host,
       integers(-9, 9, (4,), (4,)), without_jax=_ELSEWHERE),
    Op("debug_callback", debug_callback_p, _with_debug_callback, in_float64(np.sin), real(-1, 1, (3,)), 2,
       rtol=1e-6, without_jax=_ELSEWHERE),
    Op("debug_print", debug_print_p, _printed, in_float64(np.sin), real(-1, 1, (2,)), 2, rtol=1e-6,
       without_jax=_ELSEWHERE),
    Op("inspect_sharding", inspect_sharding_p, _inspected, in_float64(np.sin), real(-1, 1, (3,)), 2, rtol=1e-6,
       without_jax=_ELSEWHERE),
)  # fmt: skip
