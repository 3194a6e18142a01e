"""Carries of a ``while`` that lie in one buffer.

The results of one computation share a buffer. If several carries share it, IREE 3.13 releases it once for each of them ("transient buffer has
not been committed"; iree-org/iree pull request 24841, merged after 3.13), or loses a reference ("ref is null"), unless each repetition has a
register of its own (`registers`). So each carry gets a buffer of its own: a copy behind a barrier. A step with four small carries then takes
10 us instead of 5.6 us.
"""

from __future__ import annotations

from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.mlir import Value
from plugjax_iree.workarounds.copies import BARRIER, copied, is_constant, opaque
from plugjax_iree.workarounds.switch import is_on


def start_apart(ctx: EqnContext, x: Value) -> Value:
    """The initial value of a carry, in a buffer of its own."""
    return opaque(copied(ctx, x)) if is_on("shared_carries") else x


def carry_apart(ctx: EqnContext, x: Value) -> Value:
    """The new value of a carry, in a buffer of its own."""
    if not is_on("shared_carries"):
        return x
    # The compiler eliminates equal values, behind barriers too.
    if is_constant(x) or any(use.owner.name == BARRIER for use in x.uses):
        x = copied(ctx, x)
    return opaque(x)
