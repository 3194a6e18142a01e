"""Loops over the leading axis of arrays: ``scan``.

``carry, y = f(carry, x)`` for each slice x of xs; the y are stacked. Constants do not change from step to step. The derivatives
are in ``scan_derivatives`` and ``scan_transpose``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numpy.exceptions import AxisError

from plugjax.extend import pytree
from plugjax.extend.core import (
    ClosedJaxpr,
    JaxprEqn,
    Primitive,
    ShapedArray,
    Tracer,
    as_array,
    aval_of,
    moveaxis,
)
from plugjax.extend.errors import ConcretizationTypeError
from plugjax.extend.meshes import spec_of
from plugjax.extend.rules import RuleSet, abstract_eval, batching_rule, dce_rule
from plugjax.extend.transforms import (
    Axis,
    HighType,
    MutableValueError,
    batch_jaxpr,
    materialize,
    prune_closed,
    stacked_aval,
    step_aval,
)
from plugjax.lax.axes import is_symbolic
from plugjax.lax.control_flow.bodies import (
    check_carry,
    fixpoint,
    promote_weak_carry,
    runs_as_python,
    trace_body,
)
from plugjax.lax.control_flow.mutables import scan_opened
from plugjax.lax.control_flow.python_loops import python_scan

rules = RuleSet(__name__)

scan_p = Primitive("scan", multiple_results=True, structured=True)

_DYNAMIC_LENGTH = (
    "lax.scan: the number of steps must be known before the loop runs, but length is traced. Use lax.while_loop or "
    "lax.fori_loop instead."
)


def scan(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    _split_transpose: bool = False,
) -> tuple[Any, Any]:
    """Carry a value along the leading axis of ``xs``, and stack the results of the steps.

    Args:
        f: ``(carry, x) -> (carry, y)``; carries keep structure, shapes and dtypes.
        init: pytree: the first carry.
        xs: pytree of arrays ``[length, ...]``, or ``None``.
        length: number of steps; needed if ``xs`` has no leaves.
        reverse: whether to go from the last slice to the first; each ``y`` keeps the index of its ``x``.
        unroll: steps per iteration of the compiled loop; ``True`` or 0 for all.
        _split_transpose: accepted as in JAX; ignored.

    Returns:
        ``(last carry, ys)`` with ``ys`` a pytree of arrays ``[length, ...]``.

    Raises:
        TypeError: ``f`` is not callable, does not return a pair, or changes the type of the carry.
        ValueError: leading axes differ in size, or ``length`` is missing or disagrees.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax import lax
        >>> lax.scan(lambda c, x: (c + x, c), 0.0, jnp.arange(3.0))
        (Array(3., dtype=float32), Array([0., 0., 1.], dtype=float32, weak_type=True))
    """
    if not callable(f):
        raise TypeError("lax.scan: f is not callable.")
    xs_leaves, xs_tree = pytree.flatten(xs)
    xs_values = [as_array(x, "scan") for x in xs_leaves]
    steps = leading_size(xs_values, length, xs)
    if runs_as_python():
        return python_scan(f, init, xs_values, xs_tree, steps, reverse)

    def over(f: Callable[[Any, Any], tuple[Any, Any]], init: Any) -> tuple[Any, Any]:
        return _scan(f, init, xs_values, xs_tree, steps, bool(reverse), _unroll(unroll, steps))

    try:
        return over(f, init)
    except MutableValueError as met:
        found: tuple[Any, Any] = scan_opened(met, over, f, init)
        return found


def _scan(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs_values: list[Any],
    xs_tree: Any,
    steps: int,
    reverse: bool,
    unroll: int,
) -> tuple[Any, Any]:
    init_leaves, carry_tree = pytree.flatten(init)
    carry = [as_array(x, "scan") for x in init_leaves]
    x_avals = [step_aval(aval_of(x), steps) for x in xs_values]
    in_tree = pytree.structure((init, pytree.unflatten(xs_tree, xs_values)))
    while True:
        carry_avals = [aval_of(x) for x in carry]
        program, consts, out_tree = trace_body(f, in_tree, [*carry_avals, *x_avals], "scan")
        found_tree, y_tree = _split_outputs(out_tree)
        if found_tree != carry_tree:
            break
        carry, changed = promote_weak_carry(carry, program.out_avals[: len(carry)])
        if not changed:
            break
    check_carry(
        "scan body",
        carry_tree,
        found_tree,
        carry_avals,
        program.out_avals[: found_tree.num_leaves],
        pytree.paths(init),
    )
    outs = scan_p.bind(
        *consts,
        *carry,
        *xs_values,
        jaxpr=program,
        length=steps,
        reverse=reverse,
        unroll=unroll,
        num_consts=len(consts),
        num_carry=len(carry),
    )
    count = len(carry)
    return pytree.unflatten(carry_tree, outs[:count]), pytree.unflatten(y_tree, outs[count:])


def _unroll(unroll: int | bool, length: int) -> int:
    if isinstance(unroll, bool):
        return max(length, 1) if unroll else 1
    if unroll < 0:
        raise ValueError(f"lax.scan needs a bool or an int >= 0 as unroll, got {unroll}.")
    return int(unroll) or max(length, 1)


def leading_size(xs: Sequence[Any], length: int | None, tree: Any) -> int:
    """The number of steps: the common leading size of ``xs``, the leaves of ``tree``, and ``length``."""
    arrays = [(x, path) for x, path in zip(xs, pytree.paths(tree), strict=True) if not _is_high(x)]
    for x, path in arrays:
        if not x.aval.shape:
            raise AxisError(
                f"scan got value with no leading axis to scan over: xs{path} is {x.aval.str_short()}."
            )
        spec = spec_of(x.aval)
        if spec[0] is not None:
            raise ValueError(
                f"0th dimension of all xs should be replicated. Got {spec} for xs{path}. Reshard it, or scan over another axis."
            )
    sizes = {x.aval.shape[0] for x, _ in arrays}
    if length is not None:
        if isinstance(length, Tracer) and length._concrete() is None:
            raise ConcretizationTypeError(length, _DYNAMIC_LENGTH)
        length = length if is_symbolic(length) else int(length)
        if sizes - {length}:
            raise ValueError(
                f"scan got `length` argument of {length}, but the leading axes of xs have sizes {sorted(sizes)}."
            )
        return length
    if len(sizes) > 1:
        described = ", ".join(f"xs{path}: {x.aval.str_short()}" for x, path in arrays)
        raise ValueError(f"scan got values with different leading axis sizes: {described}.")
    if not sizes:
        raise ValueError(
            "scan got no values to scan over: xs has no arrays, so length must say how many steps to make."
        )
    return sizes.pop()


def _is_high(x: Any) -> bool:
    return isinstance(aval_of(x), HighType)


def _split_outputs(out_tree: Any) -> tuple[Any, Any]:
    children = out_tree.children()
    if len(children) != 2:
        raise TypeError(
            f"lax.scan: scan body output must be a pair (carry, y), got structure {out_tree}."
        )
    return children[0], children[1]


@rules.define(abstract_eval, scan_p)
def _scan_avals(
    *avals: ShapedArray, jaxpr: ClosedJaxpr, length: int, num_carry: int, **_: Any
) -> list[ShapedArray]:
    outs = jaxpr.out_avals
    return [
        *outs[:num_carry],
        *(stacked_aval(y, length) for y in outs[num_carry:]),
    ]


def parts(values: Sequence[Any], num_consts: int, num_carry: int) -> tuple[Any, Any, Any]:
    """Split a sequence into the parts of the constants, the carry and the xs."""
    split = num_consts + num_carry
    return values[:num_consts], values[num_consts:split], values[split:]


def in_groups(values: Sequence[Any], sizes: Sequence[int]) -> list[Sequence[Any]]:
    """Values as consecutive groups of given sizes."""
    groups, start = [], 0
    for size in sizes:
        groups.append(values[start : start + size])
        start += size
    return groups


@rules.define(batching_rule, scan_p)
def _scan_batching(
    axis: Axis,
    args: Sequence[Any],
    dims: Sequence[int | None],
    *,
    jaxpr: ClosedJaxpr,
    num_consts: int,
    num_carry: int,
    **params: Any,
) -> tuple[list[Any], list[int | None]]:
    consts_b, init_b, xs_b = parts([d is not None for d in dims], num_consts, num_carry)
    ys = len(jaxpr.out_avals) - num_carry

    def batched(carry: Sequence[bool]) -> tuple[ClosedJaxpr, list[bool]]:
        return batch_jaxpr(jaxpr, axis, [*consts_b, *carry, *xs_b], [*carry, *(False,) * ys])

    carry_b = fixpoint(init_b, lambda b: batched(b)[1][:num_carry])
    program, out_b = batched(carry_b)
    consts, init, xs = parts(args, num_consts, num_carry)
    consts_d, init_d, xs_d = parts(dims, num_consts, num_carry)
    moved = [
        *(x if d is None else moveaxis(x, d, 0) for x, d in zip(consts, consts_d, strict=True)),
        *(
            materialize(x, d, axis) if b else x
            for x, d, b in zip(init, init_d, carry_b, strict=True)
        ),
        # Axis 0 of xs is the loop's; each slice has its batch axis in front.
        *(x if d is None else moveaxis(x, d, 1) for x, d in zip(xs, xs_d, strict=True)),
    ]
    outs = scan_p.bind(*moved, jaxpr=program, num_consts=num_consts, num_carry=num_carry, **params)
    return outs, [
        *(0 if b else None for b in out_b[:num_carry]),
        *(1 if b else None for b in out_b[num_carry:]),
    ]


@rules.define(dce_rule, scan_p)
def _scan_dce(used: Sequence[bool], eqn: JaxprEqn) -> tuple[Sequence[bool], JaxprEqn | None]:
    jaxpr: ClosedJaxpr = eqn.params["jaxpr"]
    num_consts, num_carry = eqn.params["num_consts"], eqn.params["num_carry"]
    ys_used, end = used[num_carry:], num_consts + num_carry
    carry_used = fixpoint(
        used[:num_carry],
        lambda kept: prune_closed(jaxpr, (*kept, *ys_used))[1][num_consts:end],
    )
    # A carry that is only passed on must stay an input of the body.
    passed = (*[False] * num_consts, *carry_used, *[False] * (len(jaxpr.in_avals) - end))
    program, keep = prune_closed(jaxpr, (*carry_used, *ys_used), passed)
    invars = [v for v, k in zip(eqn.invars, keep, strict=True) if k]
    outvars = [v for v, u in zip(eqn.outvars, [*carry_used, *ys_used], strict=True) if u]
    params = {
        **eqn.params,
        "jaxpr": program,
        "num_consts": sum(keep[:num_consts]),
        "num_carry": sum(carry_used),
    }
    return keep, eqn.replace(invars=invars, outvars=outvars, params=params)
