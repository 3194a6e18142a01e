"""Errors and warnings about storage and speed."""

from __future__ import annotations


class SparseEfficiencyError(ValueError):
    """An operation would store an array inefficiently."""


class SparseEfficiencyWarning(UserWarning):
    """An operation stores an array inefficiently, or is slow."""


class CuSparseEfficiencyWarning(SparseEfficiencyWarning):
    """An operation does not use cuSPARSE. A category for filters, as in JAX: no backend here raises it."""
