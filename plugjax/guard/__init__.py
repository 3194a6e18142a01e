"""What stands between a user and a young compiler: verification of first calls, and the host as the last resort.

``config.verify`` says when results are held against NumPy's: ``"off"``, at the ``"first"`` call of each compiled program, or
``"always"``; unset, each backend says for itself (IREE ``"first"``, the others ``"off"``).
"""

from plugjax.guard.plugin import mode
from plugjax.guard.reports import Verification, VerificationWarning, all_stored, report

__all__ = ["Verification", "VerificationWarning", "all_stored", "mode", "report"]
