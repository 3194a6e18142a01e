"""Rules derived from other rules, for primitives with few rules.

A primitive with a host kernel alone can be evaluated abstractly; one with abstract evaluation can be batched. The
batching rule is a loop over the instances (``scan``), so it is right on every backend, though not fast.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from plugjax.extend.core import Primitive, ShapedArray, aval_of, moveaxis
from plugjax.extend.registry import Registry
from plugjax.extend.rules import RuleKind, abstract_eval, batching_rule, impl
from plugjax.extend.transforms import Axis
from plugjax.lax.control_flow.scan import scan


def derive(
    registry: Registry, kind: RuleKind[Any], primitive: Primitive, platform: str | None
) -> Callable[..., Any] | None:
    """A rule for an empty cell, or ``None``."""
    if kind is batching_rule and not primitive.structured:
        return batching_by_loop(primitive)
    if kind is abstract_eval:
        kernel = registry.table(impl).get(primitive)
        if kernel is not None:
            return abstract_eval_by_sample(primitive, kernel)
    return None


def batching_by_loop(primitive: Primitive) -> Callable[..., Any]:
    """One instance after the other."""

    def rule(
        axis: Axis, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[Any, Any]:
        mapped = [moveaxis(x, d, 0) for x, d in zip(args, dims, strict=True) if d is not None]

        def step(carry: tuple[()], slices: list[Any]) -> tuple[tuple[()], Any]:
            given = iter(slices)
            full = [x if d is None else next(given) for x, d in zip(args, dims, strict=True)]
            return carry, primitive.bind(*full, **params)

        _, outs = scan(step, (), mapped, length=axis.size)
        return outs, ([0] * len(outs) if primitive.multiple_results else 0)

    return rule


def abstract_eval_by_sample(primitive: Primitive, kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Run the kernel on ones of the operands' avals, and take the avals of the result."""

    def rule(*avals: ShapedArray, **params: Any) -> Any:
        with np.errstate(all="ignore"):
            result = kernel(*[np.ones(a.shape, a.dtype) for a in avals], **params)
        if primitive.multiple_results:
            return [aval_of(np.asarray(y)) for y in result]
        return aval_of(np.asarray(result))

    return rule
