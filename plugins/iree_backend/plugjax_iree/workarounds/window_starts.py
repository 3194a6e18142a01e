"""Initial values of reductions over windows.

IREE 3.13 fills one buffer with the initial value for all ``reduce_window`` of one result type, and accumulates into it: the second starts with
the result of the first (two max pools, or one after the other). So each starts with a copy that the compiler cannot take for another.
"""

from __future__ import annotations

from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.mlir import Value
from plugjax_iree.workarounds.copies import copied
from plugjax_iree.workarounds.switch import is_on


def started(ctx: EqnContext, initial: Value) -> Value:
    """The initial value of a reduction over windows."""
    return copied(ctx, initial) if is_on("window_starts") else initial
