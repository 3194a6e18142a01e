"""Updates of what turns out to be an argument: ``(x | 0).at[0].set(1)``.

IREE 3.13 updates in place if nothing reads the value afterwards, even if it is an argument, which belongs to the caller. The update gets a copy,
unless the argument is donated. What is an argument from the beginning is copied by `overwritten_arguments`.
"""

from plugjax_iree.mlir import Mlir, name_of, printed
from plugjax_iree.workarounds.updated_fills import copy_before_updates

_IMPORT = b"hal.tensor.import"


def apply(mlir: Mlir, module: int) -> int:
    """Copy arguments before they are updated; returns their number."""
    return copy_before_updates(mlir, module, _is_the_callers)


def _is_the_callers(mlir: Mlir, operation: int) -> bool:
    return name_of(mlir, operation) == _IMPORT and not printed(mlir, operation, b"consume")
