"""Rows of calls with custom rules, and of primitives for compilers and policies: identities, composites, tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import plugjax
from plugjax import lax
from plugjax.extend.calls import (
    checkpoint_p,
    custom_jvp_call_p,
    custom_lin_p,
    custom_vjp_call_p,
    custom_vmap,
    custom_vmap_call_p,
    linear_call,
    linear_call_p,
    remat_opt_p,
)
from plugjax.extend.core import default_placement, optimization_barrier_p
from plugjax.lax.barrier import name_p
from plugjax.lax.composite import composite_p
from plugjax.testing.row import Op, in_float64, real

_ELSEWHERE = "JAX has it outside of jax.lax; tests/core/test_custom_derivatives.py compares"


def _with_jvp(lax: Any, x: Any, y: Any) -> Any:
    f = plugjax.custom_jvp(lambda x, y: lax.sin(x) * y)

    @f.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        (x, y), (x_dot, y_dot) = primals, tangents
        return f(x, y), lax.cos(x) * y * x_dot + lax.sin(x) * y_dot

    return f(x, y)


def _with_vjp(lax: Any) -> Callable[..., Any]:
    f = plugjax.custom_vjp(lambda x, y: lax.sin(x) * y)
    f.defvjp(
        lambda x, y: (f(x, y), (x, y)),
        lambda res, g: (g * lax.cos(res[0]) * res[1], g * lax.sin(res[0])),
    )
    return f


def _pulled_back(lax: Any, x: Any, y: Any, g: Any) -> Any:
    return plugjax.vjp(_with_vjp(lax), x, y)[1](g)


def _pulled_back_by_computed_residuals(lax: Any, x: Any, g: Any) -> Any:
    f = plugjax.custom_vjp(lambda x: lax.sin(x))
    f.defvjp(lambda x: (lax.sin(x), lax.cos(x)), lambda slope, g: (g * slope,), optimize_remat=True)
    return plugjax.vjp(f, x)[1](g)


def _with_vmap(lax: Any, x: Any, y: Any) -> Any:
    f = custom_vmap(lambda x, y: lax.sin(x) * y)

    @f.def_vmap
    def _(axis_size: int, in_batched: Any, x: Any, y: Any) -> Any:
        return plugjax.vmap(lambda x, y: lax.sin(x) * y, [0 if b else None for b in in_batched])(
            x, y
        ), True

    return f(x, y)


def _composed(lax: Any, x: Any) -> Any:
    return lax.composite(lambda x, limit: lax.sin(x), "plugjax.testing.sine")(x, limit=2.0)


def _ordered(lax: Any, x: Any) -> Any:
    lax.after_all(lax.create_token(), lax.create_token())
    return x


def _sunk(lax: Any, x: Any) -> Any:
    lax.dce_sink(x)
    return x


_SINE = in_float64(lambda x, y: np.sin(x) * y)
_TWO = ((3,), (3,))

CALLS: Sequence[Op] = (
    Op("custom_jvp_call", custom_jvp_call_p, _with_jvp, _SINE, real(-1, 1, *_TWO), 2, rtol=1e-5,
       without_jax=_ELSEWHERE),
    Op("custom_vjp_call", custom_vjp_call_p, lambda lax, x, y: _with_vjp(lax)(x, y), _SINE,
       real(-1, 1, *_TWO), rtol=1e-5, without_jax=_ELSEWHERE),
    Op("custom_lin", custom_lin_p, _pulled_back,
       in_float64(lambda x, y, g: [g * np.cos(x) * y, g * np.sin(x)]),
       real(-1, 1, *_TWO, (3,)), rtol=1e-5, without_jax=_ELSEWHERE),
    Op("remat_opt", remat_opt_p, _pulled_back_by_computed_residuals,
       in_float64(lambda x, g: [g * np.cos(x)]), real(-1, 1, *_TWO), 2, rtol=1e-5,
       without_jax=_ELSEWHERE),
    Op("custom_vmap_call", custom_vmap_call_p, _with_vmap, _SINE, real(-1, 1, *_TWO), 2, rtol=1e-5,
       without_jax=_ELSEWHERE),
    Op("linear_call", linear_call_p,
       lambda _, x: linear_call(lambda r, y: y * r, lambda r, z: z * r, 3.0, x), lambda x: 3 * x,
       real(-1, 1, (3,)), 2, without_jax=_ELSEWHERE),
    Op("checkpoint", checkpoint_p,
       lambda lax, x, y: plugjax.checkpoint(lambda a, b: lax.sin(lax.sin(a)) * b)(x, y),
       in_float64(lambda x, y: np.sin(np.sin(x)) * y), real(-1, 1, *_TWO), 2, rtol=1e-5,
       without_jax="JAX has it outside of jax.lax; tests/core/test_checkpoint.py compares"),
    Op("optimization_barrier", optimization_barrier_p,
       lambda lax, x, y: lax.optimization_barrier((x, y)), lambda x, y: [x, y],
       real(-1, 1, (3,), (2, 2)), 2),
    Op("composite", composite_p, _composed, in_float64(np.sin), real(-1, 1, (3,)), 0, rtol=1e-5),
    Op("sharding_constraint", lax.sharding_constraint_p,
       lambda lax, x: lax.with_sharding_constraint(x, default_placement().sharding),
       lambda x: x, real(-1, 1), 2, without_jax="JAX's devices are others"),
    Op("device_put", lax.device_put_p,
       lambda _, x: lax.device_put_p.bind(x, devices=(default_placement().device,)), lambda x: x,
       real(-1, 1), 2, without_jax="JAX's devices are others"),
    Op("create_token", lax.create_token_p, lambda lax, x: (lax.create_token(), x)[1], lambda x: x,
       real(-1, 1), 2),
    Op("after_all", lax.after_all_p, _ordered, lambda x: x, real(-1, 1), 2),
    Op("dce_sink", lax.dce_sink_p, _sunk, lambda x: x, real(-1, 1), 2),
    Op("name", name_p, lambda _, x: name_p.bind(x, name="x"), lambda x: x, real(-1, 1), 2,
       without_jax="JAX has it outside of jax.lax"),
)  # fmt: skip
