"""Transformations: one file per interpreter, with its rule kind, its trace and tracer, and the user's function."""
