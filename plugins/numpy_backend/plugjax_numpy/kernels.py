"""What kernels share: the rule kind for kernels that can write into given memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from plugjax.core import RuleKind, RuleSet, impl

# A ufunc: the kernel takes ``out=``, gives fresh memory without it, and has no parameters.
ufunc: RuleKind[Callable[..., Any]] = RuleKind("ufunc", "(*arrays, out=array) -> array")

Value = Any  # a NumPy array, or the NumPy scalar that stands for a rank-0 one


def define_ufunc(rules: RuleSet, primitive: Any, function: Any) -> None:
    """The kernel of a primitive is a NumPy ufunc."""
    rules.define(impl, primitive)(function)
    rules.define(ufunc, primitive)(function)
