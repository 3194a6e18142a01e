"""What XLA needs said differently: lowering rules for platform ``xla``, in files named as in ``plugjax.lax``."""

from plugjax_xla.lowering import arithmetic, random_bits

RULE_SETS = [arithmetic.rules, random_bits.rules]
