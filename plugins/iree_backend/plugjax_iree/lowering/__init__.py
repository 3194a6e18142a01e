"""What IREE needs said differently: lowering rules for platform ``iree``, in files named as in ``plugjax.lax``.

The reasons are measured ones: operations that IREE 3.13 refuses, computes wrongly, or computes slowly.
"""

from plugjax_iree.lowering import dot, gather_scatter, special

RULE_SETS = [dot.rules, gather_scatter.rules, special.rules]
