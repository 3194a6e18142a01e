"""Execution: how primitives and programs run on devices, eagerly or compiled, and where compilations are kept."""
