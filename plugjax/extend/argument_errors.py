"""Errors about the arguments of functions of arrays.

Where JAX raises one of two types, by the place that finds out, an error is of both.
"""

from __future__ import annotations

from plugjax.core.errors import DtypeError, ShapeError, TypePromotionError


class NegativeSizeError(ShapeError, ValueError):
    """An axis of negative size was asked for. JAX raises the one or the other, by the place that finds out."""


class IndexDtypeError(TypeError, ValueError):
    """Indices are no integers. JAX raises the one or the other, by the place that finds out."""


class TrivialTangentError(DtypeError, TypePromotionError):
    """Numbers were to be computed with tangents of integers, which have dtype ``float0`` and no values."""


class StructureError(TypeError, ValueError):
    """A function gave another pytree than was asked for. JAX raises the one or the other, by whether the leaves match."""


class NamedAxisError(TypeError, NameError, NotImplementedError):
    """A name came in the place of an axis, and nothing binds it. JAX raises the one or the other, by the reduction."""


class SizeError(ShapeError, ValueError):
    """Elements do not fit a shape. JAX raises the one or the other, by the place that finds out."""


class OutArgumentError(NotImplementedError, TypeError):
    """An ``out=`` array was given. JAX raises the one or the other, by the place that finds out."""
