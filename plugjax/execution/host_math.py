"""Floating-point events are values, not warnings, while host kernels run.

NumPy warns of overflow, division by zero and invalid operations; JAX gives inf and nan. ``np.errstate`` around each kernel
would cost three times a small kernel, so the prepared state is put into NumPy's own context variable directly.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

# Of NumPy's scalars, these never give it a reason to warn.
SILENT = frozenset(
    getattr(operator, name) for name in ("eq", "ne", "lt", "le", "gt", "ge", "and_", "or_", "xor")
)

try:
    from numpy._core.umath import _extobj_contextvar, _make_extobj

    QUIET: Any = _make_extobj(all="ignore")
    enter = _extobj_contextvar.set
    leave = _extobj_contextvar.reset
except ImportError:  # another NumPy: the public way, slower
    QUIET = None

    def enter(_: Any) -> Any:
        """Switch the warnings off; returns what :func:`leave` needs."""
        guard = np.errstate(all="ignore")
        guard.__enter__()
        return guard

    def leave(guard: Any) -> None:
        """Restore what was in force."""
        guard.__exit__(None, None, None)
