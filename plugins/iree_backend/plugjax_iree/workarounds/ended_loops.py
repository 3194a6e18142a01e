"""Loops whose last step ends with what an inner loop gave.

IREE 3.13 ends its process where the releases of two results of a loop wait for nothing (a segmentation fault in ``BatchAllocaOps`` of the
stream dialect): a ``scan`` whose last carry comes from an inner ``while``, and whose outputs another such ``scan`` reads. What an inner loop gives
is copied; the copy is waited for.
"""

from __future__ import annotations

from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.mlir import Value
from plugjax_iree.workarounds.copies import copied, root
from plugjax_iree.workarounds.switch import is_on


def waited_for(ctx: EqnContext, x: Value) -> Value:
    """The new value of a carry, copied if an inner loop gave it."""
    is_of_a_loop = getattr(root(x).owner, "name", None) == "stablehlo.while"
    return copied(ctx, x) if is_of_a_loop and is_on("ended_loops") else x
