"""Timepoints of loops that IREE moves without an end.

While IREE 3.13 schedules kernels it leaves out what waits for a timepoint twice, and simplifies the program, until neither changes anything, ten times at most. In some
loops the first writes a timepoint that the second takes away again, and the program is refused, though nothing is wrong with it. The passes that come
after these are run for it.
"""

from plugjax_iree.mlir import Mlir
from plugjax_iree.mlir.interface import text_of

# What is on the module while the passes repeat, and once one has changed something.
_REPEATED, _CHANGED = b"iree.fixedpoint.iteration", b"iree.fixedpoint.modified"


def apply(mlir: Mlir, module: int) -> int:
    """Take the marks of repeated passes off a module; returns whether it had them."""
    found = mlir.remove_attribute(module, text_of(_REPEATED))
    mlir.remove_attribute(module, text_of(_CHANGED))
    return int(found)
