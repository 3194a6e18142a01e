"""Partial evaluation: a program split into the part that depends on known inputs alone, and the rest.

Equations whose operands are all known run first; their results that the rest reads are residuals:

    known: k -> (y_k, r),    unknown: (r, u) -> y_u.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from plugjax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var, memoise


@dataclass(frozen=True, slots=True)
class SplitProgram:
    """A program split by its known inputs.

    Attributes:
        known: ``known inputs -> (known outputs, residuals)``.
        unknown: ``(residuals, unknown inputs) -> unknown outputs``.
        known_out: which outputs are known.
        residuals: number of residuals.
    """

    known: ClosedJaxpr
    unknown: ClosedJaxpr
    known_out: tuple[bool, ...]
    residuals: int


def split_known(jaxpr: ClosedJaxpr, known_in: Sequence[bool]) -> SplitProgram:
    """Split a program; memoised.

    Equations with effects keep their order, in the unknown part.

    Args:
        jaxpr: the program.
        known_in: which inputs are known.
    """
    found: SplitProgram = memoise(
        jaxpr, ("split known", tuple(known_in)), lambda: _split(jaxpr, known_in)
    )
    return found


def _split(jaxpr: ClosedJaxpr, known_in: Sequence[bool]) -> SplitProgram:
    inner = jaxpr.jaxpr
    known: set[Any] = {v for v, k in zip(inner.invars, known_in, strict=True) if k}
    known.update(inner.constvars)
    first: list[JaxprEqn] = []
    rest: list[JaxprEqn] = []
    for eqn in inner.eqns:
        if not eqn.effects and all(type(v) is Literal or v in known for v in eqn.invars):
            first.append(eqn)
            known.update(eqn.outvars)
        else:
            rest.append(eqn)
    known_out = tuple(type(v) is Literal or v in known for v in inner.outvars)
    outs_known = [v for v, k in zip(inner.outvars, known_out, strict=True) if k]
    outs_rest = [v for v, k in zip(inner.outvars, known_out, strict=True) if not k]
    residuals = list(
        dict.fromkeys(v for eqn in rest for v in eqn.invars if type(v) is Var and v in known)
    )
    ins_known = [v for v, k in zip(inner.invars, known_in, strict=True) if k]
    ins_rest = [v for v, k in zip(inner.invars, known_in, strict=True) if not k]
    name = inner.debug_name
    before = Jaxpr(inner.constvars, ins_known, [*outs_known, *residuals], first, name)
    after = Jaxpr([], [*residuals, *ins_rest], outs_rest, rest, name)
    return SplitProgram(
        ClosedJaxpr(before, jaxpr.consts), ClosedJaxpr(after, []), known_out, len(residuals)
    )
