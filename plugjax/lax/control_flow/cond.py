"""Branches: ``cond`` and ``switch``.

The index chooses one of several programs with equal types. Derivatives differentiate every branch; a branch that stores
fewer residuals than another fills in zeros. Under ``vmap`` an index that is batched turns into a selection between the
results of all branches. A choice by platform is a ``cond`` whose parameter ``branches_platforms`` names the platforms
of each branch; its index is unused (``platform_dependent.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from plugjax.extend import dtypes, pytree
from plugjax.extend.core import (
    ArrayLike,
    ClosedJaxpr,
    JaxprEqn,
    Primitive,
    ShapedArray,
    Tracer,
    Zero,
    as_array,
    aval_of,
    convert_element_type_p,
    eval_closed,
    memoise,
    zeros,
)
from plugjax.extend.rules import (
    RuleSet,
    abstract_eval,
    batching_rule,
    dce_rule,
    jvp_rule,
    linearize_rule,
    transpose_rule,
)
from plugjax.extend.transforms import (
    Axis,
    MutableValueError,
    batch_jaxpr,
    is_reference,
    is_undefined_primal,
    jvp_jaxpr,
    linearize_jaxpr,
    materialize,
    prune_closed,
    stage,
    transpose_jaxpr,
    with_zeros,
)
from plugjax.lax.comparison import eq, ne
from plugjax.lax.control_flow.bodies import (
    is_concrete,
    runs_as_python,
    same_type,
    trace_body,
)
from plugjax.lax.control_flow.choices import alike_branches, called_by
from plugjax.lax.control_flow.mutables import branches_opened, closing_over_mutables
from plugjax.lax.conversion import stop_gradient
from plugjax.lax.effects import any_has, io_effect, ordered_io_effect
from plugjax.lax.selection import clamp, per_instance, select_n

rules = RuleSet(__name__)

cond_p = Primitive("cond", multiple_results=True, structured=True)


# Distinguishes ``operand=None`` from a missing operand.
_NO_OPERAND = object()


def cond(
    pred: ArrayLike,
    true_fun: Callable[..., Any],
    false_fun: Callable[..., Any],
    *operands: Any,
    operand: Any = _NO_OPERAND,
) -> Any:
    """Apply one of two functions, by a condition that may be traced.

    Args:
        pred: scalar; numbers are true if not 0.
        true_fun: applied to ``operands`` if ``pred``.
        false_fun: applied to ``operands`` otherwise; its result has the same structure, shapes and dtypes.
        *operands: pytrees.
        operand: the only operand, by name.

    An older form with an operand per function, ``cond(pred, true_operand, true_fun, false_operand, false_fun)``, is accepted.

    Raises:
        TypeError: ``pred`` is not a scalar, a function is not callable, or results differ in type.

    Example:
        >>> from plugjax import lax
        >>> lax.cond(True, lambda x: x + 1, lambda x: x - 1, 3)
        Array(4, dtype=int32, weak_type=True)
    """
    if not (callable(true_fun) and callable(false_fun)):
        if callable(false_fun) and len(operands) == 2 and callable(operands[1]):
            (true_operand, when_true), (false_operand, when_false) = (true_fun, false_fun), operands
            return cond(
                pred,
                lambda x, _: when_true(x),
                lambda _, x: when_false(x),
                true_operand,
                false_operand,
            )
        raise TypeError(
            "cond: true_fun and false_fun arguments should be callable. Write cond(pred, true_fun, false_fun, *operands)."
        )
    operands = _operands(operands, operand)
    chosen = _predicate(pred)
    if runs_as_python() and is_concrete(chosen):
        return called_by(chosen, true_fun if bool(chosen) else false_fun, operands)
    aval = chosen.aval
    if aval.dtype != dtypes.BOOL:
        chosen = ne(chosen, aval.dtype.type(0))
    index = convert_element_type_p.bind(chosen, new_dtype=dtypes.INT32, weak_type=False)
    names = ("false_fun", "true_fun")
    return bind_branches(index, (false_fun, true_fun), operands, names, "cond")


def switch(
    index: ArrayLike,
    branches: Sequence[Callable[..., Any]],
    *operands: Any,
    operand: Any = _NO_OPERAND,
) -> Any:
    """Apply one of several functions, by an index that may be traced and is clamped into range.

    Args:
        index: integer scalar.
        branches: functions of ``operands``; their results have the same structure, shapes and dtypes.
        *operands: pytrees.
        operand: the only operand, by name.

    Raises:
        TypeError: ``index`` is not an integer scalar, a branch is not callable, or results differ in type.
        ValueError: there are no branches.

    Example:
        >>> from plugjax import lax
        >>> lax.switch(1, [lambda x: x, lambda x: -x], 3)
        Array(-3, dtype=int32, weak_type=True)
    """
    branches = tuple(branches)
    if not all(callable(branch) for branch in branches):
        raise TypeError("lax.switch: a branch is not callable. Pass a sequence of functions.")
    operands = _operands(operands, operand)
    try:
        chosen = as_array(index, "switch")
    except TypeError:
        raise TypeError(f"lax.switch: Index type must be an integer, got {type(index)}.") from None
    if chosen.aval.shape:
        raise TypeError(
            f"lax.switch: Index must be a scalar, got {chosen.aval.str_short()} of shape {chosen.aval.shape}."
        )
    if chosen.aval.dtype.kind not in "iu":
        raise TypeError(
            f"lax.switch: Index type must be an integer, got dtype {chosen.aval.dtype.name}."
        )
    if not branches:
        raise ValueError("lax.switch: Empty branch sequence. Give one branch or more.")
    if len(branches) == 1:
        return branches[0](*operands)
    if runs_as_python() and is_concrete(chosen):
        taken = branches[min(max(int(chosen), 0), len(branches) - 1)]
        return called_by(chosen, taken, operands)
    chosen = convert_element_type_p.bind(chosen, new_dtype=dtypes.INT32, weak_type=False)
    chosen = clamp(np.int32(0), chosen, np.int32(len(branches) - 1))
    names = tuple(f"branch {i}" for i in range(len(branches)))
    return bind_branches(chosen, branches, operands, names, "switch")


def _operands(operands: tuple[Any, ...], operand: Any) -> tuple[Any, ...]:
    if operand is _NO_OPERAND:
        return operands
    if operands:
        raise TypeError(
            f"operands came by keyword, {operand=}, and by position, {operands}. Pass all of them by position."
        )
    return (operand,)


def _predicate(pred: Any) -> Any:
    if pred is None:
        raise TypeError("lax.cond: pred is None. Pass a bool.")
    if isinstance(pred, (list, tuple)):
        raise TypeError(f"lax.cond: Pred must be a scalar, got {type(pred)}.")
    try:
        pred = as_array(pred, "cond")
    except TypeError:
        raise TypeError(
            f"lax.cond: Pred must be a scalar, a bool or a number, got {type(pred)}."
        ) from None
    if pred.aval.shape:
        raise TypeError(
            f"lax.cond: Pred must be a scalar, got {pred.aval.str_short()} of shape {pred.aval.shape}. Reduce it, for example with "
            ".all()."
        )
    if pred.aval.dtype.kind not in "biuf":
        raise TypeError(
            f"lax.cond: Pred must be a scalar, a bool or a number, got dtype {pred.aval.dtype.name}."
        )
    return pred


def bind_branches(
    index: Any,
    functions: tuple[Callable[..., Any], ...],
    operands: tuple[Any, ...],
    names: tuple[str, ...],
    who: str,
    **params: Any,
) -> Any:
    """Trace branches, and bind ``cond_p`` on them.

    Args:
        index: int32, in range.
        functions: the branches.
        operands: pytrees.
        names: of the branches, for messages.
        who: name of the function, for messages.
        **params: further parameters of the equation.
    """
    functions, operands = closing_over_mutables(functions, operands)

    def bind(functions: tuple[Callable[..., Any], ...], operands: tuple[Any, ...]) -> Any:
        return _bind_branches(index, functions, operands, names, who, params)

    try:
        return bind(functions, operands)
    except MutableValueError as met:
        return branches_opened(met, bind, functions, operands, who)


def _bind_branches(
    index: Any,
    functions: tuple[Callable[..., Any], ...],
    operands: tuple[Any, ...],
    names: tuple[str, ...],
    who: str,
    params: dict[str, Any],
) -> Any:
    leaves, in_tree = pytree.flatten(operands)
    args = [as_array(x, who) for x in leaves]
    traced = [trace_body(f, in_tree, [aval_of(x) for x in args], who) for f in functions]
    _, _, tree = traced[0]
    for name, (_, _, other) in zip(names, traced, strict=True):
        if other != tree:
            raise TypeError(
                f"{who} branch outputs must have the same pytree structure, but those of {names[0]} and {name} differ:\n"
                f"{pytree.first_difference(tree, other)}.\n"
                "Return the same structure from every branch."
            )
    programs, constants = _with_common_constants(traced)
    branches = _with_common_types(
        programs, names, who, pytree.unflatten(tree, range(tree.num_leaves))
    )
    given, branches = alike_branches(index, [*constants, *args], branches)
    outs = cond_p.bind(index, *given, branches=branches, **params)
    return pytree.unflatten(tree, outs)


def _with_common_constants(
    traced: Sequence[tuple[ClosedJaxpr, list[Any], Any]],
) -> tuple[list[ClosedJaxpr], list[Any]]:
    """Give every branch the constants of all, a reference once, so that they take the same operands; and those constants."""
    places: dict[tuple[int, int], int] = {}
    constants: list[Any] = []
    for i, (_, found, _) in enumerate(traced):
        for c in found:
            key = _place(i, c)
            if key not in places:
                places[key] = len(constants)
                constants.append(c)
    if not constants:
        return [program for program, _, _ in traced], []
    avals = [aval_of(c) for c in constants]
    programs = []
    for i, (program, found, _) in enumerate(traced):
        own = [places[_place(i, c)] for c in found]
        args_avals = program.in_avals[len(found) :]

        def call(*xs: Any, p: ClosedJaxpr = program, own: Sequence[int] = own) -> list[Any]:
            return eval_closed(p, *(xs[i] for i in own), *xs[len(constants) :])

        programs.append(stage(call, [*avals, *args_avals], program.jaxpr.debug_name))
    return programs, constants


def _place(branch: int, constant: Any) -> tuple[int, int]:
    # Nothing may take a reference twice.
    return (-1 if is_reference(constant) else branch), id(constant)


def _with_common_types(
    programs: list[ClosedJaxpr], names: tuple[str, ...], who: str, tree: Any
) -> tuple[ClosedJaxpr, ...]:
    first = programs[0].out_avals
    paths = pytree.paths(tree)
    for name, program in zip(names, programs, strict=True):
        wrong = [
            f"  * output{path}: {a.str_short()} of {names[0]}, {b.str_short()} of {name}"
            for path, a, b in zip(paths, first, program.out_avals, strict=True)
            if not same_type(a, b)
        ]
        if wrong:
            raise TypeError(
                f"{who} branches must have equal output types but they differ:\n" + "\n".join(wrong)
            )
    weak = [all(p.out_avals[i].weak_type for p in programs) for i in range(len(first))]
    return tuple(_weaken(program, weak) for program in programs)


def _weaken(program: ClosedJaxpr, weak: Sequence[bool]) -> ClosedJaxpr:
    if all(a.weak_type == w for a, w in zip(program.out_avals, weak, strict=True)):
        return program

    def call(*xs: Any) -> list[Any]:
        return [
            y
            if aval_of(y).weak_type == w
            else convert_element_type_p.bind(y, new_dtype=aval_of(y).dtype, weak_type=w)
            for y, w in zip(eval_closed(program, *xs), weak, strict=True)
        ]

    return stage(call, program.in_avals, program.jaxpr.debug_name)


@rules.define(abstract_eval, cond_p)
def _cond_avals(
    index: ShapedArray, *operands: ShapedArray, branches: tuple[ClosedJaxpr, ...], **_: Any
) -> list[ShapedArray]:
    return branches[0].out_avals


@rules.define(jvp_rule, cond_p)
def _cond_jvp(
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    branches: tuple[ClosedJaxpr, ...],
    **params: Any,
) -> tuple[list[Any], list[Any]]:
    index, *operands = primals
    nonzeros = [type(t) is not Zero for t in tangents[1:]]
    forced = _union(jvp_jaxpr(b, nonzeros)[1] for b in branches)
    programs = tuple(jvp_jaxpr(b, nonzeros, forced)[0] for b in branches)
    given = [t for t in tangents[1:] if type(t) is not Zero]
    results = cond_p.bind(index, *operands, *given, branches=programs, **params)
    avals = branches[0].out_avals
    count = len(avals)
    return list(results[:count]), with_zeros(results[count:], forced, avals)


def _union(flags: Any) -> list[bool]:
    return [any(column) for column in zip(*flags, strict=True)]


@rules.define(linearize_rule, cond_p)
def _cond_linearize(
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    branches: tuple[ClosedJaxpr, ...],
    **params: Any,
) -> tuple[list[Any], list[Any]]:
    index, *operands = primals
    nonzeros = [type(t) is not Zero for t in tangents[1:]]
    forced = _union(linearize_jaxpr(b, nonzeros).nonzero_out for b in branches)
    splits = [linearize_jaxpr(b, nonzeros, forced) for b in branches]
    count = len(branches[0].out_avals)
    stored = [s.primal.out_avals[count:] for s in splits]
    forward = tuple(_forward(s.primal, stored, i, count) for i, s in enumerate(splits))
    results = cond_p.bind(index, *operands, branches=forward, **params)
    residuals = results[count:]
    given = [t for t in tangents[1:] if type(t) is not Zero]
    backward = tuple(
        _linear_branch(s, stored, i, branches[0].in_avals, [aval_of(t) for t in given])
        for i, s in enumerate(splits)
    )
    found = cond_p.bind(index, *residuals, *operands, *given, branches=backward, **params)
    return results[:count], with_zeros(found, forced, branches[0].out_avals)


def _forward(
    primal: ClosedJaxpr, stored: Sequence[Sequence[ShapedArray]], own: int, count: int
) -> ClosedJaxpr:
    """A branch that returns its residuals, and zeros for those of other branches."""

    def call(*xs: Any) -> list[Any]:
        results = eval_closed(primal, *xs)
        filled: list[Any] = results[:count]
        for i, avals in enumerate(stored):
            filled.extend(results[count:] if i == own else [zeros(a) for a in avals])
        return filled

    key = ("cond forward", own, tuple(tuple(avals) for avals in stored))
    made: ClosedJaxpr = memoise(
        primal, key, lambda: stage(call, primal.in_avals, primal.jaxpr.debug_name)
    )
    return made


def _linear_branch(
    split: Any,
    stored: Sequence[Sequence[ShapedArray]],
    own: int,
    operand_avals: Sequence[ShapedArray],
    tangent_avals: Sequence[ShapedArray],
) -> ClosedJaxpr:
    """The derivative of a branch as a function of the residuals of all branches, the operands and the tangents."""
    flat = [a for avals in stored for a in avals]
    start = sum(len(avals) for avals in stored[:own])
    stop = start + len(stored[own])
    arity = len(operand_avals)

    def call(*xs: Any) -> list[Any]:
        operands = xs[len(flat) : len(flat) + arity]
        residuals = split.residuals(operands, xs[start:stop])
        return eval_closed(split.linear, *residuals, *xs[len(flat) + arity :])

    key = ("cond linear", own, tuple(tuple(avals) for avals in stored), arity)
    made: ClosedJaxpr = memoise(
        split.linear,
        key,
        lambda: stage(call, [*flat, *operand_avals, *tangent_avals], "linear branch"),
    )
    return made


@rules.define(transpose_rule, cond_p)
def _cond_transpose(
    cotangents: Sequence[Any],
    index: Any,
    *operands: Any,
    branches: tuple[ClosedJaxpr, ...],
    **params: Any,
) -> list[Any]:
    linear = [is_undefined_primal(x) for x in operands]
    nonzero = [type(bar) is not Zero for bar in cotangents]
    programs = tuple(transpose_jaxpr(b, linear, nonzero, True)[0] for b in branches)
    values = [x for x in operands if not is_undefined_primal(x)]
    given = [bar for bar in cotangents if type(bar) is not Zero]
    found = iter(cond_p.bind(index, *values, *given, branches=programs, **params))
    return [None, *(next(found) if is_linear else None for is_linear in linear)]


@rules.define(batching_rule, cond_p)
def _cond_batching(
    axis: Axis,
    args: Sequence[Any],
    dims: Sequence[int | None],
    *,
    branches: tuple[ClosedJaxpr, ...],
    **params: Any,
) -> tuple[list[Any], list[int | None]]:
    if any_has(branches, io_effect, ordered_io_effect):
        raise NotImplementedError(
            "lax.cond: no vmap of IO in a branch: instances may take different branches, and all of them would be "
            "run."
        )
    (index, *operands), (index_dim, *operand_dims) = args, dims
    batched = [d is not None for d in operand_dims]
    moved = [
        x if d is None else materialize(x, d, axis)
        for x, d in zip(operands, operand_dims, strict=True)
    ]
    if index_dim is None:
        forced = _union(batch_jaxpr(b, axis, batched)[1] for b in branches)
        programs = tuple(batch_jaxpr(b, axis, batched, forced)[0] for b in branches)
        outs = cond_p.bind(index, *moved, branches=programs, **params)
        return outs, [0 if b else None for b in forced]
    index = materialize(index, index_dim, axis)
    for i, x in enumerate(moved):
        # Large operands that all instances share are not repeated for each instance.
        if not batched[i] and aval_of(x).ndim == 0 and _may_be_differentiated(x):
            moved[i], batched[i] = materialize(x, None, axis), True
    results = []
    for number, branch in enumerate(branches):
        taken = eq(index, np.int32(number))
        own = [
            _where_taken(taken, x) if b and _may_be_differentiated(x) else x
            for x, b in zip(moved, batched, strict=True)
        ]
        results.append(eval_closed(batch_jaxpr(branch, axis, batched, True)[0], *own))
    return [
        select_n(_stretched(index, aval_of(cases[0]).shape, len(branches)), *cases)
        for cases in zip(*results, strict=True)
    ], [0] * len(results[0])


def _may_be_differentiated(x: Any) -> bool:
    return isinstance(x, Tracer) and x.aval.to_tangent_aval().dtype != dtypes.float0


def _where_taken(taken: Any, x: Any) -> Any:
    """``x``, constant for instances that take another branch.

    There ``x`` may be infinite, and its derivative would be nan.
    """
    return select_n(per_instance(taken, aval_of(x).shape), stop_gradient(x), x)


def _stretched(index: Any, shape: tuple[int, ...], count: int) -> Any:
    return per_instance(ne(index, np.int32(0)) if count == 2 else index, shape)


@rules.define(dce_rule, cond_p)
def _cond_dce(used: Sequence[bool], eqn: JaxprEqn) -> tuple[Sequence[bool], JaxprEqn | None]:
    branches = eqn.params["branches"]
    needed = _union(prune_closed(b, tuple(used))[1] for b in branches)
    programs = tuple(prune_closed(b, tuple(used), tuple(needed))[0] for b in branches)
    invars = [eqn.invars[0], *(v for v, n in zip(eqn.invars[1:], needed, strict=True) if n)]
    outvars = [v for v, u in zip(eqn.outvars, used, strict=True) if u]
    params = {**eqn.params, "branches": programs}
    return [True, *needed], eqn.replace(invars=invars, outvars=outvars, params=params)
