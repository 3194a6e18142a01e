"""Compound primitives: operations that stand for a few others.

A compound operation is one equation, so jaxprs say what was meant, and a transformation of somebody else's may have a rule for
it. Everybody else sees the operations that it stands for: values, derivatives and batches are theirs, and a program is compiled
with them in its place. So no backend knows a compound primitive.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from plugjax.core import registry
from plugjax.core.array import aval_of
from plugjax.core.jaxpr import ClosedJaxpr, JaxprEqn
from plugjax.core.primitive import Primitive
from plugjax.core.rules import RuleSet, abstract_eval, impl, lowering, unfold_rule
from plugjax.core.transforms.batching import Axis, batch_flat, batching_rule
from plugjax.core.transforms.jvp import jvp_flat, jvp_rule
from plugjax.core.transforms.linearize import linearize_on_tape, linearize_rule
from plugjax.core.transforms.python_calls import ERASED
from plugjax.core.transforms.simplify import erase_rule
from plugjax.core.transforms.staging import stage

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
    erased: bool = True,
) -> None:
    """Rules of a compound primitive, but for its abstract evaluation.

    Args:
        rules: where to put them.
        primitive: made by :func:`new_compound`.
        program: ``(*operands, **params) -> sequence of results``: what it stands for, in operations that work on arrays and tracers.
        batching: ``False`` if it has a batching rule of its own.
        erased: ``False`` if backends have rules for it.
    """

    def unfolded(*operands: Any, **params: Any) -> Sequence[Any]:
        # Abstract evaluation says what is wrong with operands in the words of the operation.
        registry.table(abstract_eval)[primitive](*map(aval_of, operands), **params)
        return program(*operands, **params)

    rules.define(unfold_rule, primitive)(unfolded)

    @rules.define(jvp_rule, primitive)
    def _jvp(
        primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[list[Any], list[Any]]:
        return jvp_flat(partial(unfolded, **params), primals, tangents)

    @rules.define(linearize_rule, primitive)
    def _linearize(
        primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[list[Any], list[Any]]:
        return linearize_on_tape(partial(unfolded, **params), primals, tangents)

    if batching:

        @rules.define(batching_rule, primitive)
        def _batching(
            axis: Axis, args: Sequence[Any], dims: Sequence[int | None], **params: Any
        ) -> tuple[list[Any], list[int | None]]:
            return batch_flat(partial(unfolded, **params), axis, args, dims)

    if erased:

        @rules.define(erase_rule, primitive)
        def _erase(eqn: JaxprEqn) -> ClosedJaxpr:
            avals = [v.aval for v in eqn.invars]
            return stage(partial(program, **eqn.params), avals, primitive.name)

        for kind in (impl, lowering):
            rules.absent(kind, primitive, because=ERASED)
