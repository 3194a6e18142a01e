"""Lowering rules for platform ``xla``, where XLA needs others than IREE; file names as in ``plugjax.lax``."""

from plugjax_xla.lowering import (
    arithmetic,
    comparison,
    convolution,
    inspection,
    partitioning,
    random_bits,
)

RULE_SETS = [
    arithmetic.rules,
    comparison.rules,
    convolution.rules,
    inspection.rules,
    partitioning.rules,
    random_bits.rules,
]
