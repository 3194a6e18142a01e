"""Derivatives of the user's own: the names of ``jax.custom_derivatives``."""

from plugjax.core.errors import CustomJVPException, CustomVJPException
from plugjax.core.transforms.closures import closure_convert, custom_gradient
from plugjax.core.transforms.custom_jvp import custom_jvp, custom_jvp_call_p
from plugjax.core.transforms.custom_vjp import CustomVJPPrimal, custom_vjp, custom_vjp_call_p
from plugjax.core.vocabulary import Zero as SymbolicZero
from plugjax.core.vocabulary import instantiate


def zero_from_primal(value: object, symbolic_zeros: bool = False) -> object:
    """The zero in the tangent space of ``value``: an array, or a ``SymbolicZero``."""
    zero = SymbolicZero.from_primal_value(value)
    return zero if symbolic_zeros else instantiate(zero)


__all__ = [
    "CustomJVPException", "CustomVJPException", "CustomVJPPrimal", "SymbolicZero", "closure_convert",
    "custom_gradient", "custom_jvp", "custom_jvp_call_p", "custom_vjp", "custom_vjp_call_p",
    "zero_from_primal",
]  # fmt: skip
