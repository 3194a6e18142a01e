"""User-defined derivatives: the names of ``jax.custom_derivatives``."""

from typing import Any

from plugjax.calls.closures import closure_convert, custom_gradient
from plugjax.calls.custom_jvp import custom_jvp, custom_jvp_call_p
from plugjax.calls.custom_vjp import CustomVJPPrimal, custom_vjp, custom_vjp_call_p
from plugjax.calls.linear_call import linear_call, linear_call_p
from plugjax.calls.remat_opt import remat_opt_p
from plugjax.core import pytree
from plugjax.core.errors import CustomJVPException, CustomVJPException
from plugjax.core.vocabulary import Zero as SymbolicZero, instantiate
from plugjax.extend.transforms import show_only


def custom_vjp_primal_tree_values(tree: Any) -> Any:
    """The arguments of a ``fwd`` rule under symbolic zeros, as plain values.

    Raises:
        TypeError: a leaf is not a :class:`CustomVJPPrimal`.

    Example:
        >>> custom_vjp_primal_tree_values((CustomVJPPrimal(1.0, True), CustomVJPPrimal(2.0, False)))
        (1.0, 2.0)
    """

    def value(leaf: Any) -> Any:
        if type(leaf) is not CustomVJPPrimal:
            raise TypeError(f"unexpected leaf type {type(leaf)}")
        return leaf.value

    return pytree.tree_map(value, tree)


def zero_from_primal(value: object, symbolic_zeros: bool = False) -> object:
    """The zero in the tangent space of ``value``, a tree of arrays: an array for each, or a ``SymbolicZero``.

    Example:
        >>> import plugjax
        >>> import plugjax.numpy as jnp
        >>> plugjax.custom_derivatives.zero_from_primal(jnp.ones(2))
        Array([0., 0.], dtype=float32)
    """

    def zero(leaf: Any) -> Any:
        found = SymbolicZero.from_primal_value(leaf)
        return found if symbolic_zeros else instantiate(found)

    return pytree.tree_map(zero, value)


__all__ = [
    "CustomJVPException", "CustomVJPException", "CustomVJPPrimal", "SymbolicZero", "closure_convert",
    "custom_gradient", "custom_jvp", "custom_jvp_call_p", "custom_vjp", "custom_vjp_call_p",
    "custom_vjp_primal_tree_values", "linear_call", "linear_call_p", "remat_opt_p", "zero_from_primal",
]  # fmt: skip

show_only(globals(), __all__)
