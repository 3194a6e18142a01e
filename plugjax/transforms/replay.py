"""Replaying: run a program again one equation at a time, and call an observer after each.

The observer gets every equation with its operands and results, also those of programs that equations hold, and the calls,
branches and iterations around it. A primitive that runs programs of its own (a loop, a branch) says how by a rule of the kind
``replay``; one that stands for a program has said so already (``expand``); any other is bound as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from plugjax.core import registry
from plugjax.core.jaxpr import ClosedJaxpr, JaxprEqn, Literal
from plugjax.core.primitive import state
from plugjax.core.rules import RuleKind
from plugjax.transforms.expansion import call_words, expand_rule, expanded

Observer = Callable[[JaxprEqn, list[Any], list[Any], tuple[str, ...]], None]


class ReplayRule(Protocol):
    """How a primitive runs the programs that it holds, one step at a time."""

    def __call__(
        self, run: Callable[..., list[Any]], args: Sequence[Any], /, *rest: Any, **params: Any
    ) -> Sequence[Any]:
        """The results. ``run(words, jaxpr, *args)`` replays a program; the words say which step it is."""


replay_rule: RuleKind[ReplayRule] = RuleKind(
    "replay",
    "(run, args, **params) -> list of results; run(words, jaxpr, *args) replays a program, words say which step it is",
)


def replay(
    jaxpr: ClosedJaxpr, args: Sequence[Any], observe: Observer, within: tuple[str, ...] = ()
) -> list[Any]:
    """Run a program equation by equation under the current trace.

    Args:
        jaxpr: the program.
        args: its inputs.
        observe: called after each equation as ``(eqn, operands, results, within)``.
        within: the calls, branches and iterations around the program, outermost first.

    Returns:
        The program's outputs.
    """
    rules, expansions = registry.table(replay_rule), registry.table(expand_rule)
    inner = jaxpr.jaxpr
    env: dict[Any, Any] = dict(zip(inner.constvars, jaxpr.consts, strict=True))
    env.update(zip(inner.invars, args, strict=True))

    def run(words: str, program: ClosedJaxpr, *values: Any) -> list[Any]:
        return replay(program, values, observe, (*within, words))

    for eqn in inner.eqns:
        operands = [v.val if type(v) is Literal else env[v] for v in eqn.invars]
        primitive = eqn.primitive
        rule, expand = rules.get(primitive), expansions.get(primitive)
        results: Any
        if rule is not None:
            results = list(rule(run, operands, **eqn.params))
        elif expand is not None:
            results = run(call_words(eqn), expanded(expand(**eqn.params), eqn), *operands)
        else:
            results = state.trace.process(primitive, operands, eqn.params)
            if not primitive.multiple_results:
                results = [results]
        observe(eqn, operands, results, within)
        env.update(zip(eqn.outvars, results, strict=True))
    return [v.val if type(v) is Literal else env[v] for v in inner.outvars]
