"""Making errors values: the transformation behind ``checkify``.

Each primitive is applied by its rule of the kind ``error_check``, which applies the primitive itself and adds the checks that it
needs to the error of the trace. Values stay as they are: there are no tracers. A program inside an equation becomes one that
takes the error before its own inputs and gives the error before its own results, so loops and branches carry it.
Invariant: rules run with the parent as current trace, so checks are not themselves checked.

A primitive without a rule that stands for a program (``expand``) is checked in that program. Any other one fails a check for nan
if its results have nan and its operands have none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from plugjax import lax
from plugjax.experimental.checkify.error import (
    Describe,
    Error,
    Kind,
    Site,
    failure,
    from_leaves,
    init_error,
    merged,
    with_kinds,
)
from plugjax.experimental.checkify.exceptions import ErrorCategory, NaNError
from plugjax.extend import dtypes, pytree, registry
from plugjax.extend.core import (
    ClosedJaxpr,
    Primitive,
    Trace,
    aval_of,
    eval_closed,
    jaxpr_as_fun,
    memoise,
    state,
)
from plugjax.extend.rules import RuleKind, expand_rule
from plugjax.extend.transforms import Kept, stage

error_check: RuleKind[Callable[..., Any]] = RuleKind(
    "error_check",
    "(checks, *operands, **params) -> result, or a list of results; checks.add(...) adds a check",
)


@dataclass(frozen=True)
class CheckedProgram:
    """A program with its errors as values.

    Attributes:
        program: takes the leaves of an error among its inputs, gives those of an error before its results.
        kinds: of the error that it gives.
        sites: of the checks in it.
        silent: whether it has no checks at all, so that the original program will do.
    """

    program: ClosedJaxpr
    kinds: tuple[Kind, ...]
    sites: dict[int, Site]
    silent: bool


class CheckTrace(Trace):
    """Applies primitives and collects their checks.

    Attributes:
        enabled: categories of the checks that are collected.
        error: what was collected.
        silent: whether no check was met.
    """

    __slots__ = ("enabled", "error", "expansions", "parent", "rules", "silent")

    def __init__(self, parent: Trace, enabled: frozenset[ErrorCategory], error: Error) -> None:
        super().__init__("checkify")
        self.parent = parent
        self.enabled = enabled
        self.error = error
        self.silent = True
        self.rules = registry.table(error_check)
        self.expansions = registry.table(expand_rule)

    def process(self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Apply the primitive's rule, in the parent."""
        rule = self.rules.get(primitive)
        previous = state.trace
        state.trace = self.parent
        try:
            if rule is not None:
                return rule(self, *args, **params)
            if primitive in self.expansions:
                return self._expanded(primitive, args, params)
            outs = primitive.bind(*args, **params)
            self.check_nan(primitive, outs, args)
            return outs
        finally:
            state.trace = previous

    def _expanded(self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
        found = self.expansions[primitive](**params)
        callee = found.callee if isinstance(found, Kept) else found
        if not isinstance(callee, ClosedJaxpr):
            callee = stage(callee, [aval_of(x) for x in args], primitive.name)
        checked = self.derive(callee)
        if checked.silent:
            return primitive.bind(*args, **params)
        outs = self.receive(eval_closed(checked.program, *self.leaves, *args), checked)
        return outs if primitive.multiple_results else outs[0]

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """Kinds of the checks collected so far."""
        return tuple(self.error._records)

    @property
    def leaves(self) -> list[Any]:
        """The arrays of the error so far."""
        return pytree.leaves(self.error)

    def add(
        self,
        failed: Any,
        category: ErrorCategory,
        describe: Describe,
        payload: Sequence[Any] = (),
    ) -> None:
        """Add a check.

        Args:
            failed: bool scalar: whether it fails.
            category: its category; nothing is added unless that is enabled.
            describe: from the payload to the exception.
            payload: arrays for the message.
        """
        if category in self.enabled:
            self.merge(failure(failed, category, describe, payload))

    def merge(self, error: Error) -> None:
        """Add the enabled categories of an error."""
        self.silent = False
        records = {k: r for k, r in error._records.items() if k.category in self.enabled}
        self.error = merged(self.error, Error(records, error._sites))

    def check_nan(self, primitive: Primitive, outs: Any, operands: Sequence[Any] = ()) -> None:
        """Add a check for nan in results.

        Args:
            primitive: what gave the results.
            outs: its result, or a list of them.
            operands: where nan excuses nan in the results.
        """
        if NaNError not in self.enabled:
            return
        found = any_nan(outs if primitive.multiple_results else [outs])
        if found is None:
            return
        given = any_nan(operands)
        if given is not None:
            found = lax.bitwise_and(found, lax.bitwise_not(given))
        self.add(found, NaNError, lambda _: NaNError(primitive.name))

    def derive(self, program: ClosedJaxpr, at: int = 0) -> CheckedProgram:
        """A program with its errors as values.

        Args:
            program: the program.
            at: the position among its inputs where the leaves of the error come.
        """
        return checked_program(program, self.enabled, self.kinds, at)

    def settle(self, *programs: ClosedJaxpr, at: int = 0) -> list[CheckedProgram] | None:
        """Programs that take and give errors of the same kinds, which are from then on those of this trace.

        Args:
            *programs: the programs.
            at: as for :meth:`derive`.

        Returns:
            The derived programs, ``None`` if none of them has checks.
        """
        first = [self.derive(program, at) for program in programs]
        if all(checked.silent for checked in first):
            return None
        self.error = with_kinds(self.error, [kind for each in first for kind in each.kinds])
        return [self.derive(program, at) for program in programs]

    def receive(self, outs: Sequence[Any], *checked: CheckedProgram) -> list[Any]:
        """Take the error that a derived program gave, or one of several, and give its other results."""
        self.silent = False
        kinds, sites = checked[0].kinds, dict(self.error._sites)
        for each in checked:
            sites.update(each.sites)
        count = sum(len(kind.record_avals) for kind in kinds)
        self.error = from_leaves(kinds, outs[:count], sites)
        return list(outs[count:])


def any_nan(values: Sequence[Any]) -> Any:
    """Whether some of the values have nan, ``None`` if their dtypes have none."""
    found = None
    for x in values:
        aval = aval_of(x)
        if dtypes.is_extended(aval.dtype) or not dtypes.is_inexact(aval.dtype):
            continue
        flag = any_of(lax.ne(x, x))
        found = flag if found is None else lax.bitwise_or(found, flag)
    return found


def any_of(flags: Any) -> Any:
    """Whether an array of bools has one that is true."""
    axes = tuple(range(aval_of(flags).ndim))
    return lax.reduce_or(flags, axes) if axes else flags


def discharge(
    function: Callable[..., Any],
    args: Sequence[Any],
    enabled: frozenset[ErrorCategory],
    error: Error = init_error,
) -> tuple[CheckTrace, Any]:
    """Run a function; returns the trace, which has the error, and the function's result."""
    trace = CheckTrace(state.trace, enabled, error)
    previous = state.trace
    state.trace = trace
    try:
        outs = function(*args)
    finally:
        state.trace = previous
    return trace, outs


def checked_program(
    program: ClosedJaxpr,
    enabled: frozenset[ErrorCategory],
    kinds: tuple[Kind, ...] = (),
    at: int = 0,
) -> CheckedProgram:
    """A program with its errors as values; memoised.

    Args:
        program: the program.
        enabled: categories of the checks that count; others are dropped.
        kinds: of the error that the result takes.
        at: the position among its inputs where the leaves of that error come.
    """
    error_avals = [aval for kind in kinds for aval in kind.record_avals]
    stop = at + len(error_avals)

    def make() -> CheckedProgram:
        # Without the trace: what it holds is over when the program is staged.
        found: list[tuple[Any, ...]] = []

        def run(*xs: Any) -> list[Any]:
            before = from_leaves(kinds, xs[at:stop], {})
            trace, outs = discharge(jaxpr_as_fun(program), [*xs[:at], *xs[stop:]], enabled, before)
            found.append((trace.kinds, dict(trace.error._sites), trace.silent))
            return [*trace.leaves, *outs]

        avals = program.in_avals
        derived = stage(
            run, [*avals[:at], *error_avals, *avals[at:]], f"checkify({program.jaxpr.debug_name})"
        )
        return CheckedProgram(derived, *found[0])

    checked: CheckedProgram = memoise(program, ("checkify", enabled, kinds, at), make)
    return checked


def without_checks(program: ClosedJaxpr) -> ClosedJaxpr:
    """The program with its checks dropped."""
    return checked_program(program, frozenset()).program
