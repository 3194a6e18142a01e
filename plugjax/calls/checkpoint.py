"""Rematerialization: what the derivative needs is computed again instead of kept.

Reverse mode keeps residuals of the forward pass. A checkpointed call keeps its inputs, and of the values in between those
that a policy allows; the linear part of the derivative begins by computing the rest again. With the split

    f linearized:   x -> (y, r),   (r, x_dot) -> y_dot,
    r computed as   (x, s) -> r    from the inputs and the values s that may be saved,

the tape holds the one operation (x, s, x_dot) -> y_dot, whose transpose computes r again before it goes backwards. So that
no compiler finds out that r was computed before and keeps it after all, the inputs of such an operation pass a barrier.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ParamSpec, TypeVar

import numpy as np

from plugjax.calls.call import define_call
from plugjax.calls.python_calls import (
    name_of,
    positions,
)
from plugjax.calls.remat_policy import Policy, split_residuals
from plugjax.core import pytree
from plugjax.core.array import as_array, aval_of
from plugjax.core.jaxpr import ClosedJaxpr, eval_closed, memoise
from plugjax.core.primitive import Primitive
from plugjax.core.rules import RuleSet
from plugjax.core.vocabulary import Zero, optimization_barrier_p
from plugjax.transforms.callables import check_callable
from plugjax.transforms.discharge import is_reference
from plugjax.transforms.expansion import expand_rule
from plugjax.transforms.flat_calls import flat_call, named_after, with_fixed
from plugjax.transforms.function_caches import cached_trace
from plugjax.transforms.linearize import LinearizedJaxpr, linearize_jaxpr, linearize_rule
from plugjax.transforms.staging import stage
from plugjax.transforms.tracebacks import api_boundary

_P = ParamSpec("_P")
_R = TypeVar("_R")

rules = RuleSet(__name__)

checkpoint_p = Primitive("checkpoint", multiple_results=True, structured=True)


def _not_callable(given: Any) -> Policy:
    """What stands for a policy that is no function: only what is differentiated asks its policy, and is refused.

    It has a hash, which parameters of equations need, and ``given`` may have none.
    """

    def policy(*_: Any, **__: Any) -> bool:
        raise TypeError(
            f"checkpoint: policy is not callable, got {given!r}. Give a function of a primitive, avals and parameters, such as "
            "those in plugjax.checkpoint_policies, or None."
        )

    return policy


def checkpoint(
    fun: Callable[_P, _R],
    *,
    prevent_cse: bool = True,
    policy: Policy | None = None,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Iterable[str] = (),
) -> Callable[_P, _R]:
    """``fun``, such that reverse mode computes its intermediate values again instead of keeping them.

    Args:
        fun: the function; it is traced.
        prevent_cse: whether compilers are kept from merging the second computation with the first. Within ``scan``
            they cannot, so there ``False`` saves the barrier.
        policy: says which values may be kept all the same; see ``plugjax.checkpoint_policies``. ``None`` keeps none.
        static_argnums: positions of arguments that are constants of the trace.
        static_argnames: the same by name.

    Returns:
        A function with the arguments and results of ``fun``.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> plugjax.grad(plugjax.checkpoint(lambda x: jnp.sin(jnp.sin(x))))(0.0)
        Array(1., dtype=float32, weak_type=True)
    """
    check_callable("checkpoint", fun)
    entries = static_argnums if isinstance(static_argnums, tuple) else (static_argnums,)
    if not all(type(n) is int for n in entries):
        raise TypeError(
            f"checkpoint: static_argnums is an integer or a tuple of integers, got {static_argnums!r}."
        )
    each = prevent_cse if isinstance(prevent_cse, tuple) else (prevent_cse,)
    if not all(isinstance(p, (bool, np.bool_)) for p in each):
        raise TypeError(f"checkpoint: prevent_cse is True or False, got {prevent_cse!r}.")
    if policy is not None and not callable(policy):
        policy = _not_callable(policy)
    name = name_of(fun)

    @api_boundary
    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        names = (static_argnames,) if isinstance(static_argnames, str) else tuple(static_argnames)
        nums = (static_argnums,) if isinstance(static_argnums, int) else tuple(static_argnums)
        if any(not -len(args) <= n < len(args) for n in nums):
            raise ValueError(
                f"checkpoint: static_argnums={nums} needs positions of positional arguments, of which there are {len(args)}."
            )
        places = {n % len(args) for n in nums}
        if names:
            places |= {p for p in positions(fun, (), names) if p < len(args)}
        fixed = {i: args[i] for i in places}
        fixed_names = {k: v for k, v in kwargs.items() if k in names}
        dynamic = tuple(x for i, x in enumerate(args) if i not in fixed)
        dynamic_kwargs = {k: v for k, v in kwargs.items() if k not in fixed_names}
        leaves, in_tree = pytree.flatten((dynamic, dynamic_kwargs))
        operands = [as_array(x, "checkpoint") for x in leaves]

        def call(positional: tuple[Any, ...], named: dict[str, Any]) -> Any:
            return fun(*with_fixed(fixed, positional, len(args)), **named, **fixed_names)

        avals = [aval_of(x) for x in operands]
        fixed_values = [(k, type(v), v) for k, v in (*fixed.items(), *fixed_names.items())]
        program, consts, out_tree = cached_trace(
            fun,
            ("checkpoint", in_tree, *fixed_values, *avals),
            lambda out: stage(flat_call(call, in_tree, out, "checkpoint"), avals, name),
        )
        outs = checkpoint_p.bind(
            *consts,
            *operands,
            jaxpr=program,
            prevent_cse=prevent_cse,
            differentiated=False,
            policy=policy,
        )
        return pytree.unflatten(out_tree, outs)

    return named_after(fun, checkpointed, fun.__doc__)


define_call(rules, checkpoint_p, lambda prefix, params: params)


@rules.define(expand_rule, checkpoint_p)
def _expand(*, jaxpr: ClosedJaxpr, differentiated: bool, prevent_cse: Any, **_: Any) -> ClosedJaxpr:
    if not (differentiated and prevent_cse):
        return jaxpr

    def behind_barrier(*args: Any) -> list[Any]:
        # A reference is read and written in order in any case.
        passed = iter(optimization_barrier_p.bind(*(x for x in args if not is_reference(x))))
        return eval_closed(jaxpr, *(x if is_reference(x) else next(passed) for x in args))

    found: ClosedJaxpr = memoise(
        jaxpr,
        "behind barrier",
        lambda: stage(behind_barrier, jaxpr.in_avals, jaxpr.jaxpr.debug_name),
    )
    return found


@rules.define(linearize_rule, checkpoint_p)
def _linearize(
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    jaxpr: ClosedJaxpr,
    policy: Policy | None,
    **params: Any,
) -> tuple[list[Any], list[Any]]:
    split = linearize_jaxpr(jaxpr, [type(t) is not Zero for t in tangents])
    forward, linear = _rematerialized(split, len(jaxpr.out_avals), policy)
    results = checkpoint_p.bind(*primals, jaxpr=forward, policy=policy, **params)
    count = len(jaxpr.out_avals)
    given = [t for t in tangents if type(t) is not Zero]
    found = checkpoint_p.bind(
        *primals,
        *results[count:],
        *given,
        jaxpr=linear,
        policy=policy,
        **{**params, "differentiated": True},
    )
    return results[:count], split.tangents(found)


def _rematerialized(
    split: LinearizedJaxpr, count: int, policy: Policy | None
) -> tuple[ClosedJaxpr, ClosedJaxpr]:
    """The programs ``x -> (y, saved)`` and ``(x, saved, x_dot) -> y_dot``; memoised."""

    def make() -> tuple[ClosedJaxpr, ClosedJaxpr]:
        forward, again, saved = split_residuals(split.primal, count, policy)
        inputs = len(split.primal.in_avals)

        def linear(*args: Any) -> list[Any]:
            primals, rest = args[:inputs], args[inputs:]
            extra = eval_closed(again, *primals, *rest[:saved])
            return eval_closed(split.linear, *split.residuals(primals, extra), *rest[saved:])

        residuals = len(split.sources)
        avals = [*again.in_avals, *split.linear.in_avals[residuals:]]
        return forward, stage(linear, avals, f"rematerialized({split.primal.jaxpr.debug_name})")

    found: tuple[ClosedJaxpr, ClosedJaxpr] = memoise(split.primal, ("rematerialized", policy), make)
    return found
