"""What kernels share: rule kinds that say what memory a kernel gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from plugjax.core import RuleKind, RuleSet, impl
from plugjax.core.rules import scalar_impl

# A ufunc: the kernel takes ``out=``, gives fresh memory without it, and has no parameters.
ufunc: RuleKind[Callable[..., Any]] = RuleKind("ufunc", "(*arrays, out=array) -> array")

# The kernel always gives fresh memory, which a later ufunc may write over. The rule is a mark; it is not called.
fresh: RuleKind[Callable[[], bool]] = RuleKind("fresh", "() -> True")

Value = Any  # a NumPy array, or the NumPy scalar that stands for a rank-0 one


def mark_fresh(rules: RuleSet, *primitives: Any) -> None:
    """The kernels of these primitives never give a view of an operand."""
    rules.define(fresh, *primitives)(_always)


def _always() -> bool:
    return True


def define_ufunc(rules: RuleSet, primitive: Any, function: Any, scalar: Any = None) -> None:
    """The kernel of a primitive is a NumPy ufunc; ``scalar`` is the same function of NumPy scalars, faster."""
    rules.define(impl, primitive)(function)
    rules.define(ufunc, primitive)(function)
    if scalar is not None:
        rules.define(scalar_impl, primitive)(scalar)
