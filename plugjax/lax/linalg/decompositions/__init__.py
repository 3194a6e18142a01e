"""Factorizations written in other primitives, for programs that cannot call Python.

Each module takes one matrix and vectorized loops over its rows or columns; :func:`batched` maps it over leading axes.
They are correct for every size, and meant for small ones: they are not blocked.
"""
