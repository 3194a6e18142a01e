"""Updates by a part of what is updated: ``x.at[1:].add(x[:-1])``.

IREE 3.13 updates in place, and reads the part while it changes. So the part is copied first.
"""

from __future__ import annotations

from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.mlir import Value
from plugjax_iree.workarounds.copies import UNKNOWN, copied, opaque, root
from plugjax_iree.workarounds.switch import is_on


def apart(ctx: EqnContext, x: Value, target: Value) -> Value:
    """A value to be written into ``target``, which is not a part of it: IREE would read it while it writes."""
    if not is_on("overlapping_updates"):
        return x
    source = root(x)
    if source != root(target) and getattr(source.owner, "name", None) not in UNKNOWN:
        return x
    # Behind a barrier: what is copied while it is written is read too late.
    return opaque(copied(ctx, x))
