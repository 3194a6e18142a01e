"""Verification of first calls, and the host as last resort: protection from a young compiler.

``config.verify`` says when results are compared with NumPy's: ``"off"``, at the ``"first"`` call of each compiled
program, or ``"always"``. Unset, the backend decides (IREE ``"first"``, the others ``"off"``).
"""

from plugjax.guard.plugin import mode
from plugjax.guard.reports import Verification, VerificationWarning, all_stored, report

__all__ = ["Verification", "VerificationWarning", "all_stored", "mode", "report"]
