"""Branches and loops of which the devices of a mesh take another one each: inside ``shard_map``, by an index or condition that varies.

Their results vary with it. So do their operands: a cotangent is summed over the devices where it leaves the branches, not within
one, where not all devices come.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from plugjax.extend import pytree
from plugjax.extend.core import ClosedJaxpr, ShapedArray, aval_of, eval_closed, memoise, state
from plugjax.extend.meshes import (
    Reduced,
    Unreduced,
    reduced_axes,
    unreduced_axes,
    varying_axes,
    without_names,
)
from plugjax.extend.transforms import converted, stage, typed_axes

Names = frozenset[Any]


def varying_with(x: Any, names: Names) -> Any:
    """A value that varies along axes, unless it is a summand there."""
    aval = aval_of(x)
    if not names or not isinstance(aval, ShapedArray):
        return x
    return converted(x, _with(aval.vma, names))


def called_by(index: Any, branch: Callable[..., Any], operands: Sequence[Any]) -> Any:
    """What a branch gives that runs as plain Python, with operands and results that vary where the index does."""
    names = varying_axes(aval_of(index).vma)
    if not names:
        return branch(*operands)
    result = branch(*(pytree.tree_map(lambda x: varying_with(x, names), x) for x in operands))
    return pytree.tree_map(lambda y: varying_with(y, names), result)


def _with(vma: Names, names: Names) -> Names:
    added = names - unreduced_axes(vma)
    return without_names(vma, added) | added


def alike_branches(
    index: Any, operands: Sequence[Any], branches: tuple[ClosedJaxpr, ...]
) -> tuple[list[Any], tuple[ClosedJaxpr, ...]]:
    """Operands and branches whose results are of one type along the axes of a mesh, varying where the index does.

    Args:
        index: which branch is taken.
        operands: of the branches.
        branches: programs with results of the same shapes and dtypes.

    Raises:
        TypeError: a result is a summand of the devices in one branch, and not in another.
    """
    if not state.axes or not typed_axes():
        return list(operands), branches
    names = varying_axes(aval_of(index).vma)
    given = [varying_with(x, names) for x in operands]
    wanted = tuple(
        _joined([a.vma for a in avals], names) if isinstance(avals[0], ShapedArray) else None
        for avals in zip(*(b.out_avals for b in branches), strict=True)
    )
    return given, tuple(_typed(b, [aval_of(x) for x in given], wanted) for b in branches)


def _joined(found: Sequence[Names], names: Names) -> Names:
    """What types say of a result that comes from one of several branches."""
    varying = names.union(*map(varying_axes, found))
    summands = unreduced_axes(found[0])
    if any(unreduced_axes(vma) != summands for vma in found):
        raise TypeError(
            "branches must have equal output types, but the manual axis types do not match: a result is unreduced along "
            f"{sorted(frozenset().union(*map(unreduced_axes, found)), key=str)} in some branches only. Take the sums by lax.psum, or "
            "mark all by lax.pcast(x, axes, to='unreduced')."
        )
    # What is reduced in one branch and the same in another is reduced.
    reduced = frozenset().union(*map(reduced_axes, found)) - varying
    return (varying - summands).union(map(Unreduced, summands), map(Reduced, reduced))


def _typed(
    branch: ClosedJaxpr, avals: Sequence[Any], wanted: tuple[Names | None, ...]
) -> ClosedJaxpr:
    outs = [getattr(a, "vma", None) for a in branch.out_avals]
    if list(avals) == branch.in_avals and all(
        w is None or w == o for w, o in zip(wanted, outs, strict=True)
    ):
        return branch

    def call(*xs: Any) -> list[Any]:
        return [
            y if w is None else converted(y, w)
            for y, w in zip(eval_closed(branch, *xs), wanted, strict=True)
        ]

    key = ("alike", tuple(avals), wanted)
    found: ClosedJaxpr = memoise(
        branch, key, lambda: stage(call, list(avals), branch.jaxpr.debug_name)
    )
    return found
