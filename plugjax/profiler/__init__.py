"""Traces of what a program does: the names of ``jax.profiler``."""
