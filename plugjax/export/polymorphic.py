"""Calls of artifacts whose sizes are expressions: the variables are found from the shapes of the arguments."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TypeVar

from plugjax.export.artifact import Artifact
from plugjax.export.symbolic.dimension import Dimension, as_polynomial, is_symbolic_dim
from plugjax.extend.core import ShapedArray

A = TypeVar("A", bound=Artifact)

_WRONG = "Input shapes do not match the polymorphic shapes specification"


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
    sizes = _solve(exported, avals)
    key = tuple(sorted(sizes.items()))
    known: dict[tuple[tuple[str, int], ...], A] = exported.__dict__.setdefault("_specialised", {})
    found = known.get(key)
    if found is None:
        found = known[key] = dataclasses.replace(
            exported,
            in_avals=tuple(_with_sizes(aval, sizes) for aval in exported.in_avals),
            out_avals=tuple(_with_sizes(aval, sizes) for aval in exported.out_avals),
        )
    return found


def _with_sizes(aval: ShapedArray, sizes: dict[str, int]) -> ShapedArray:
    shape = [d.evaluate(sizes) if is_symbolic_dim(d) else d for d in aval.shape]
    return aval.update(shape=tuple(shape))


def _solve(exported: Artifact, avals: Sequence[ShapedArray]) -> dict[str, int]:
    """The values of the variables: each size that holds one unknown variable, linearly, gives it."""
    equations = [
        (wanted, got)
        for aval, actual in zip(exported.in_avals, avals, strict=True)
        for wanted, got in zip(aval.shape, actual.shape, strict=True)
        if is_symbolic_dim(wanted)
    ]
    sizes: dict[str, int] = {}
    while True:
        before = len(sizes)
        for wanted, got in equations:
            _find_one(exported, wanted, got, sizes)
        if len(sizes) == before:
            break
    needed = [
        d for a in (*exported.in_avals, *exported.out_avals) for d in a.shape if is_symbolic_dim(d)
    ]
    unknown = frozenset().union(*(as_polynomial(d).variables for d in needed)) - sizes.keys()
    if unknown:
        raise ValueError(
            f"Exported.call: Cannot solve for values of dimension variables {sorted(unknown)} of '{exported.fun_name}': each "
            "must be the only unknown one in some size of an argument."
        )
    for wanted, got in equations:
        value = wanted.evaluate(sizes)
        if value != got:
            raise ValueError(
                f"Exported.call: {_WRONG}: a size of '{exported.fun_name}' is {wanted}, which is {value} for {sizes}, and is "
                f"{got} in the call."
            )
    return sizes


def _find_one(exported: Artifact, wanted: Dimension, got: int, sizes: dict[str, int]) -> None:
    unknown = as_polynomial(wanted).variables - sizes.keys()
    if len(unknown) != 1:
        return
    (name,) = unknown
    if not _is_linear(wanted, name):
        return
    rest = wanted.evaluate({**sizes, name: 0})
    slope = wanted.evaluate({**sizes, name: 1}) - rest
    if slope == 0:
        return
    value, remainder = divmod(got - rest, slope)
    if remainder or value < 1:
        problem = (
            f"Division had remainder {remainder}"
            if remainder
            else f"Expected value >= 1, and it is {value},"
        )
        raise ValueError(
            f"Exported.call: {_WRONG}: {problem} for dimension variable '{name}' of '{exported.fun_name}', where {wanted} is "
            f"{got}."
        )
    sizes[name] = value


def _is_linear(wanted: Dimension, name: str) -> bool:
    """Whether a variable stands in no operation and in no power."""
    for term, _ in as_polynomial(wanted).terms:
        for atom, power in term:
            inside = any(name in operand.variables for operand in atom.operands)
            if inside or (atom.label == name and not atom.operands and power > 1):
                return False
    return True
