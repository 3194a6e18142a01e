"""Lowering of jaxprs to StableHLO: one rule per primitive, shared by every backend that compiles StableHLO."""
