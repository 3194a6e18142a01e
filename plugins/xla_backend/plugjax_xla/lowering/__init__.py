"""What XLA needs said differently: lowering rules for platform ``xla``, in files named as in ``plugjax.lax``."""

from plugjax_xla.lowering import arithmetic, comparison, random_bits

RULE_SETS = [arithmetic.rules, comparison.rules, random_bits.rules]
