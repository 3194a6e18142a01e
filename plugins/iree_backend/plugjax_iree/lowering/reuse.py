"""Which results take over the memory of donated arguments, as far as types tell."""

from __future__ import annotations

from collections.abc import Sequence

from plugjax.extend.core import ClosedJaxpr, Literal

Reuse = dict[int, int | None]
"""For donated arguments, the result that is written into their memory."""


def results_of_one_type(jaxpr: ClosedJaxpr, donated: Sequence[int]) -> Reuse:
    """For each donated argument, the first result of its type that no other one has."""
    program = jaxpr.jaxpr
    found: Reuse = {}
    for index in donated:
        argument = program.invars[index]
        aval = argument.aval.strip_weak_type()
        for k, out in enumerate(program.outvars):
            if isinstance(out, Literal) or k in found.values():
                continue
            if out.aval.strip_weak_type() == aval:
                found[index] = k
                break
    return found
