"""Updates by a slice of the updated array: ``x.at[1:].add(x[:-1])``.

IREE 3.13 updates in place, and reads the slice while it writes. So the slice is copied first, and what a branch or a loop gives, which may be
the array. What the compiler finds to be a slice is copied by `sliced_updates`.
"""

from __future__ import annotations

from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.mlir import Value
from plugjax_iree.workarounds.copies import UNKNOWN, copied, opaque, root
from plugjax_iree.workarounds.switch import is_on


def apart(ctx: EqnContext, x: Value, target: Value) -> Value:
    """The value of an update of ``target``, copied if it may share memory with it."""
    if not is_on("overlapping_updates"):
        return x
    source = root(x)
    if source != root(target) and getattr(source.owner, "name", None) not in UNKNOWN:
        return x
    # Without the barrier the copy is fused into the update, and reads too late.
    return opaque(copied(ctx, x))
