"""Lowering of jaxprs to StableHLO: one rule per primitive, for all backends that compile it."""
