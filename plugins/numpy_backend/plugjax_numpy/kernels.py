"""Rule kinds that tell what memory a kernel returns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from plugjax.extend.rules import RuleKind, RuleSet, impl, scalar_impl

# A ufunc: the kernel takes ``out=``, returns fresh memory without it, and has no parameters.
ufunc: RuleKind[Callable[..., Any]] = RuleKind("ufunc", "(*arrays, out=array) -> array")

# The kernel always returns fresh memory, which a later ufunc may overwrite. The rule is a mark; it
# is not called.
fresh: RuleKind[Callable[[], bool]] = RuleKind("fresh", "() -> True")

Value = Any  # A NumPy array, or a NumPy scalar for rank 0.


def mark_fresh(rules: RuleSet, *primitives: Any) -> None:
    """Declare that the kernels of these primitives never return a view of an operand."""
    rules.define(fresh, *primitives)(_always)


def _always() -> bool:
    return True


def define_ufunc(rules: RuleSet, primitive: Any, function: Any, scalar: Any = None) -> None:
    """Make a NumPy ufunc the kernel of a primitive; ``scalar`` is a faster function of NumPy scalars."""
    rules.define(impl, primitive)(function)
    rules.define(ufunc, primitive)(function)
    if scalar is not None:
        rules.define(scalar_impl, primitive)(scalar)
