"""Interval arithmetic: run a function once, and get bounds of its results for all arguments in given ranges.

Every value is a pair (lower, upper) of arrays, which stands for all arrays between them, element by element. The rule
of a primitive f gives, for intervals X_1 ... X_n, an interval Y with f(x_1, ..., x_n) in Y for all x_i in X_i at which
f is defined. Invariants: lower <= upper, neither is nan, and a tracer's bounds have the tracer's aval.

Enclosures are sound, not always tight: operations ignore that two operands depend on one another, so x - x is not 0. A
product of a value with itself is recognised.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import plugjax
from plugjax.extend import (
    ClosedJaxpr,
    Primitive,
    RuleKind,
    Trace,
    Tracer,
    as_array,
    aval_of,
    jaxpr_as_fun,
    memoise,
    registry,
    stage,
    state,
)

interval_rule: RuleKind[Callable[..., Any]] = RuleKind(
    "interval",
    "(*intervals, **params) -> Interval, or a list of them; each is a pair (lower, upper) of arrays",
)


class Interval(NamedTuple):
    """All arrays between two, element by element; a pytree of both."""

    lower: Any
    upper: Any


class IntervalTracer(Tracer):
    """A value between two bounds."""

    __slots__ = ("bounds",)

    def __init__(self, trace: Trace, bounds: Interval) -> None:
        self._trace = trace
        self.aval = aval_of(bounds.lower)
        self.bounds = bounds

    def __repr__(self) -> str:
        return f"IntervalTracer({self.bounds.lower!r}, {self.bounds.upper!r})"


class IntervalTrace(Trace):
    """Computes bounds; hands operations on values without width to the parent."""

    __slots__ = ("parent", "rules")

    def __init__(self, parent: Trace) -> None:
        super().__init__("interval")
        self.parent = parent
        self.rules = registry.table(interval_rule)

    def process(self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Apply the primitive's interval rule, in the parent."""
        operands = [self.bounds(x) for x in args]
        wide = any(type(x) is Interval for x in operands)
        previous = state.trace
        state.trace = self.parent
        try:
            if not wide:
                return self.parent.process(primitive, args, params)
            out = self.rules[primitive](
                *(x if type(x) is Interval else Interval(x, x) for x in operands), **params
            )
        finally:
            state.trace = previous
        return [self.wrap(y) for y in out] if primitive.multiple_results else self.wrap(out)

    def bounds(self, x: Any) -> Any:
        """The interval of a tracer of this trace; another value itself."""
        return x.bounds if type(x) is IntervalTracer and x._trace is self else x

    def wrap(self, x: Any) -> Any:
        """A tracer; or the value itself if it has no width."""
        if type(x) is not Interval:
            return x
        # A fresh pair: rules recognise equal operands by its identity.
        return x.lower if x.lower is x.upper else IntervalTracer(self, Interval(*x))


def enclose_flat(function: Callable[..., Sequence[Any]], values: Sequence[Any]) -> list[Any]:
    """Run a function of flat sequences on intervals and values; returns intervals and values."""
    trace = IntervalTrace(state.trace)
    args = [trace.wrap(x) for x in values]
    previous = state.trace
    state.trace = trace
    try:
        return [trace.bounds(y) for y in function(*args)]
    finally:
        state.trace = previous
        trace.finish()


def flatten_intervals(values: Sequence[Any], wide: Sequence[bool]) -> list[Any]:
    """Bounds of the marked values, and the others unchanged, in order."""
    flat: list[Any] = []
    for x, w in zip(values, wide, strict=True):
        pair = x if type(x) is Interval else Interval(x, x)
        flat.extend(pair if w else (pair.lower,))
    return flat


def group_intervals(flat: Sequence[Any], wide: Sequence[bool]) -> list[Any]:
    """The inverse of :func:`flatten_intervals`."""
    given = iter(flat)
    return [Interval(next(given), next(given)) if w else next(given) for w in wide]


def enclose_jaxpr(
    jaxpr: ClosedJaxpr, wide: Sequence[bool], forced: Sequence[bool] | None = None
) -> tuple[ClosedJaxpr, list[bool]]:
    """A program on bounds; memoised.

    Args:
        jaxpr: the program.
        wide: which inputs are intervals; each of these becomes two inputs.
        forced: which outputs must be intervals even if they have no width.

    Returns:
        The program, and which outputs are intervals; each of these is two outputs.
    """
    must = tuple(forced) if forced is not None else (False,) * len(jaxpr.out_avals)

    def make() -> tuple[ClosedJaxpr, list[bool]]:
        wide_out: list[bool] = []

        def bounds(*args: Any) -> list[Any]:
            outs = enclose_flat(jaxpr_as_fun(jaxpr), group_intervals(args, wide))
            wide_out[:] = [f or type(y) is Interval for f, y in zip(must, outs, strict=True)]
            return flatten_intervals(outs, wide_out)

        avals = flatten_intervals([Interval(a, a) for a in jaxpr.in_avals], wide)
        return stage(bounds, avals, f"interval({jaxpr.jaxpr.debug_name})"), wide_out

    found: tuple[ClosedJaxpr, list[bool]] = memoise(jaxpr, ("interval", tuple(wide), must), make)
    return found


def interval(fun: Callable[..., Any]) -> Callable[..., Any]:
    """Enclose the values of a function.

    Args:
        fun: function of pytrees of arrays.

    Returns:
        A function of the same arguments, in which leaves may be :class:`Interval`; it returns an :class:`Interval` in
        place of each array. It can be jitted, mapped and differentiated, and ``fun`` may be any of these itself.

    Raises:
        TypeError: bounds of an argument differ in shape or dtype, or are complex.
        MissingRuleError: no installed plugin has an interval rule for a primitive.

    Example:
        >>> import plugjax.numpy as jnp
        >>> bounds = interval(lambda x: jnp.maximum(x, 1.0) - 3.0)(Interval(0.0, 2.0))
        >>> bool(-2.001 < bounds.lower <= -2.0 and -1.0 <= bounds.upper < -0.999)
        True
    """

    def enclosed(*args: Any, **kwargs: Any) -> Any:
        leaves, in_tree = plugjax.tree.flatten((args, kwargs), is_leaf=_is_interval)
        out_tree: Any = None

        def flat(*xs: Any) -> list[Any]:
            nonlocal out_tree
            flat_args, flat_kwargs = plugjax.tree.unflatten(in_tree, xs)
            outs, out_tree = plugjax.tree.flatten(fun(*flat_args, **flat_kwargs))
            return outs

        outs = enclose_flat(flat, [_checked(x) if _is_interval(x) else x for x in leaves])
        pairs = [y if type(y) is Interval else Interval(as_array(y), as_array(y)) for y in outs]
        return plugjax.tree.unflatten(out_tree, pairs)

    return enclosed


def _is_interval(x: Any) -> bool:
    return type(x) is Interval


def _checked(x: Interval) -> Interval:
    lower, upper = as_array(x.lower), as_array(x.upper)
    a, b = aval_of(lower), aval_of(upper)
    if (a.shape, a.dtype) != (b.shape, b.dtype):
        raise TypeError(
            f"interval: the lower bound is {a.str_short()}, the upper bound {b.str_short()}. They must have one shape "
            f"and dtype."
        )
    if a.dtype.kind == "c":
        raise TypeError(f"interval: complex numbers have no order, got bounds {a.str_short()}.")
    return Interval(lower, upper)
