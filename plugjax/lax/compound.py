"""Compound primitives: operations that stand for a few others.

A compound operation is one equation, so jaxprs stay readable, and any transformation may have a rule for it. Without a
rule, values, derivatives and batching are those of the operations that it stands for, and compilation puts these in its
place. So backends need no rules for compound primitives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from plugjax.extend import registry
from plugjax.extend.core import Primitive, aval_of
from plugjax.extend.rules import (
    RuleSet,
    abstract_eval,
    batching_rule,
    expand_rule,
    jvp_rule,
    linearize_rule,
)
from plugjax.extend.transforms import Axis, Kept, batch_flat, jvp_flat, linearize_on_tape

Program = Callable[..., Sequence[Any]]


def new_compound(name: str) -> Primitive:
    """A primitive for :func:`compound`; ``bind`` gives a list."""
    return Primitive(name, multiple_results=True, structured=True)


def compound(
    rules: RuleSet,
    primitive: Primitive,
    program: Program,
    *,
    batching: bool = True,
    expanded: bool = True,
    differentiable: bool = True,
) -> None:
    """Rules of a compound primitive, but for its abstract evaluation.

    Args:
        rules: the rule set that gets them.
        primitive: made by :func:`new_compound`.
        program: ``(*operands, **params) -> sequence of results``: what it stands for, in operations that work on arrays and tracers.
        batching: ``False`` if it has a batching rule of its own.
        expanded: ``False`` if backends have rules for it.
        differentiable: ``False`` if it has a rule of its own for derivatives.
    """

    def checked(*operands: Any, **params: Any) -> Sequence[Any]:
        # Abstract evaluation says what is wrong with operands in the words of the operation.
        registry.table(abstract_eval)[primitive](*map(aval_of, operands), **params)
        return program(*operands, **params)

    @rules.define(expand_rule, primitive)
    def _expand(**params: Any) -> Program | Kept:
        stands_for = partial(checked, **params)
        return stands_for if expanded else Kept(stands_for, inline=False)

    if differentiable:
        _define_derivatives(rules, primitive, checked)

    if batching:

        @rules.define(batching_rule, primitive)
        def _batching(
            axis: Axis, args: Sequence[Any], dims: Sequence[int | None], **params: Any
        ) -> tuple[list[Any], list[int | None]]:
            return batch_flat(partial(checked, **params), axis, args, dims)


def _define_derivatives(rules: RuleSet, primitive: Primitive, program: Program) -> None:
    @rules.define(jvp_rule, primitive)
    def _jvp(
        primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[list[Any], list[Any]]:
        return jvp_flat(partial(program, **params), primals, tangents)

    @rules.define(linearize_rule, primitive)
    def _linearize(
        primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[list[Any], list[Any]]:
        return linearize_on_tape(partial(program, **params), primals, tangents)
