"""Whether a call of an exported function fits what it was exported for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plugjax.export.artifact import Artifact
from plugjax.export.polymorphic import specialised
from plugjax.export.safety import DisabledSafetyCheck
from plugjax.export.symbolic.dimension import is_symbolic_dim
from plugjax.extend import pytree
from plugjax.extend.core import ShapedArray


def fitted(exported: Artifact, avals: Sequence[ShapedArray]) -> Artifact:
    """The exported function for arguments of these avals.

    Raises:
        ValueError: a rank, shape or dtype is not that of the artifact.
    """
    _check_avals(exported, avals)
    return specialised(exported, avals)


def _check_avals(exported: Artifact, avals: Sequence[ShapedArray]) -> None:
    for index, (wanted, got) in enumerate(zip(exported.in_avals, avals, strict=True)):
        if _fits(wanted.shape, got.shape) and wanted.dtype == got.dtype:
            continue
        if len(wanted.shape) != len(got.shape):
            kind, place = "Rank mismatch", _argument(exported, index)
        elif wanted.dtype != got.dtype:
            kind, place = "Dtype mismatch", _argument(exported, index)
        else:
            axis = next(
                i
                for i, (a, b) in enumerate(zip(wanted.shape, got.shape, strict=True))
                if a != b and not is_symbolic_dim(a)
            )
            kind, place = "Shape mismatch", f"{_argument(exported, index)}.shape[{axis}]"
        raise ValueError(
            f"Exported.call: {kind} for {place}: '{exported.fun_name}' was exported for {wanted.str_short()} and called with "
            f"{got.str_short()}."
        )


def _fits(wanted: Sequence[Any], got: Sequence[int]) -> bool:
    """Whether a shape is one that was exported, as far as its sizes are numbers."""
    return len(wanted) == len(got) and all(
        a == b or is_symbolic_dim(a) for a, b in zip(wanted, got, strict=True)
    )


def _argument(exported: Artifact, index: int) -> str:
    path = pytree.paths_of(exported.in_tree)[index]
    return (
        path.replace("[0]", "args", 1)
        if path.startswith("[0]")
        else path.replace("[1]", "kwargs", 1)
    )


def platform_index(exported: Artifact, hardware: str) -> int:
    """The index of a platform among those that a function was exported for.

    Raises:
        ValueError: it is not among them.
    """
    if hardware in exported.platforms:
        return exported.platforms.index(hardware)
    if DisabledSafetyCheck.platform() in exported.disabled_safety_checks:
        return 0
    raise ValueError(
        f"Exported.call: Function '{exported.fun_name}' was exported for platforms '{exported.platforms}' but it is used on "
        f"'{(hardware,)}'. Export it for that platform too, or with disabled_checks=[DisabledSafetyCheck.platform()]."
    )
