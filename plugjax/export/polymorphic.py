"""Calls of artifacts whose sizes are expressions: the artifact for the sizes of the arguments."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TypeVar

from plugjax.export.artifact import Artifact
from plugjax.export.symbolic.dimension import is_symbolic_dim
from plugjax.export.symbolic.equations import Solution, solve
from plugjax.export.symbolic.programs import aval_with_sizes, with_sizes
from plugjax.extend.core import ShapedArray

A = TypeVar("A", bound=Artifact)


def is_polymorphic(exported: Artifact) -> bool:
    """Whether a size of an argument or result is an expression."""
    return any(
        is_symbolic_dim(d) for a in (*exported.in_avals, *exported.out_avals) for d in a.shape
    )


def specialised(exported: A, avals: Sequence[ShapedArray]) -> A:
    """The artifact for arguments of these shapes; itself, if its sizes are numbers.

    Args:
        exported: the artifact.
        avals: avals of the arguments, of the ranks that it was exported for.

    Raises:
        ValueError: no values of the variables give these shapes, or they do not say all of them.
    """
    if not is_polymorphic(exported):
        return exported
    solution = _solution(exported)
    sizes = solve(solution, "Exported.call", exported.fun_name, avals)
    key = tuple(sorted(sizes.items()))
    known: dict[tuple[tuple[str, int], ...], A] = exported.__dict__.setdefault("_specialised", {})
    found = known.get(key)
    if found is None:
        program = exported._program
        found = known[key] = dataclasses.replace(
            exported,
            in_avals=tuple(aval_with_sizes(aval, sizes) for aval in exported.in_avals),
            out_avals=tuple(aval_with_sizes(aval, sizes) for aval in exported.out_avals),
            _program=None if program is None else with_sizes(program, sizes),
        )
    return found


def _solution(exported: Artifact) -> Solution:
    found: Solution | None = exported.__dict__.get("_solution")
    if found is None:
        needed = [d for aval in exported.out_avals for d in aval.shape]
        found = Solution(f"Exported.call of '{exported.fun_name}'", exported.in_avals, needed)
        # The class is frozen, but this is derived from its fields.
        exported.__dict__["_solution"] = found
    return found
