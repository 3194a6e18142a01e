"""Loops whose last step ends with the result of an inner loop.

IREE 3.13 crashes if the releases of two results of a loop wait for no operation (a segmentation fault in ``BatchAllocaOps`` of the stream
dialect): a ``scan`` whose last carry comes from an inner ``while``, and whose outputs another such ``scan`` reads. So the result of the
inner loop is copied, and the release waits for the copy.
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
