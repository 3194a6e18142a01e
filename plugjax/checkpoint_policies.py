"""Remat policies of ``plugjax.checkpoint``: which residuals are saved; the names of ``jax.checkpoint_policies``.

A policy is called for each equation, ``(primitive, *avals, **params)``, and returns ``True`` if its results may be
saved. Values that JAX would offload to host memory are saved on the device.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from plugjax.extend.core import Primitive
from plugjax.extend.transforms import show_only
from plugjax.lax.barrier import name_p
from plugjax.lax.convolution import conv_general_dilated_p
from plugjax.lax.dot import dot_general_p

Policy = Callable[..., bool]


def everything_saveable(primitive: Primitive, *_: Any, **__: Any) -> bool:
    """Save everything: as without ``checkpoint``.

    Example:
        >>> import plugjax
        >>> import plugjax.numpy as jnp
        >>> f = plugjax.checkpoint(jnp.sin, policy=plugjax.checkpoint_policies.everything_saveable)
        >>> plugjax.grad(f)(0.0)
        Array(1., dtype=float32, weak_type=True)
    """
    return True


def nothing_saveable(primitive: Primitive, *_: Any, **__: Any) -> bool:
    """Save the inputs only; the default.

    Example:
        >>> import plugjax
        >>> import plugjax.numpy as jnp
        >>> f = plugjax.checkpoint(jnp.sin, policy=plugjax.checkpoint_policies.nothing_saveable)
        >>> plugjax.grad(f)(0.0)
        Array(1., dtype=float32, weak_type=True)
    """
    return False


def dots_saveable(primitive: Primitive, *_: Any, **__: Any) -> bool:
    """Save results of dot products and convolutions, the most expensive ones to compute again.

    Example:
        >>> import plugjax
        >>> import plugjax.numpy as jnp
        >>> f = plugjax.checkpoint(jnp.sin, policy=plugjax.checkpoint_policies.dots_saveable)
        >>> plugjax.grad(f)(0.0)
        Array(1., dtype=float32, weak_type=True)
    """
    return primitive in (dot_general_p, conv_general_dilated_p)


checkpoint_dots = dots_saveable


def dots_with_no_batch_dims_saveable(primitive: Primitive, *_: Any, **params: Any) -> bool:
    """Save results of dot products without batch axes: those of layers, not of attention.

    Example:
        >>> import plugjax
        >>> import plugjax.numpy as jnp
        >>> f = plugjax.checkpoint(jnp.sin, policy=plugjax.checkpoint_policies.dots_with_no_batch_dims_saveable)
        >>> plugjax.grad(f)(0.0)
        Array(1., dtype=float32, weak_type=True)
    """
    if primitive is not dot_general_p:
        return False
    _, (lhs_batch, rhs_batch) = params["dimension_numbers"]
    return not lhs_batch and not rhs_batch


checkpoint_dots_with_no_batch_dims = dots_with_no_batch_dims_saveable


def offload_dot_with_no_batch_dims(offload_src: str, offload_dst: str) -> Policy:
    """As :func:`dots_with_no_batch_dims_saveable`; the values stay on the device.

    Example:
        >>> import plugjax
        >>> import plugjax.numpy as jnp
        >>> policy = plugjax.checkpoint_policies.offload_dot_with_no_batch_dims("device", "pinned_host")
        >>> plugjax.grad(plugjax.checkpoint(jnp.sin, policy=policy))(0.0)
        Array(1., dtype=float32, weak_type=True)
    """
    return dots_with_no_batch_dims_saveable


class _ByName:
    """A policy over the names given by ``checkpoint_name``; equal policies compare equal."""

    def __init__(self, kind: str, names: Iterable[str]) -> None:
        self.kind = kind
        self.names = frozenset(names)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ByName) and (self.kind, self.names) == (other.kind, other.names)

    def __hash__(self) -> int:
        return hash((self.kind, self.names))

    def __repr__(self) -> str:
        return f"{self.kind}({', '.join(map(repr, sorted(self.names)))})"

    def __call__(self, primitive: Primitive, *_: Any, **params: Any) -> bool:
        named = primitive is name_p
        if self.kind == "save_only_these_names":
            return named and params["name"] in self.names
        if self.kind == "save_any_names_but_these":
            return named and params["name"] not in self.names
        return not (named and params["name"] in self.names)


def save_anything_except_these_names(*names_not_to_save: str) -> Policy:
    """Save every value except those with these names.

    Example:
        >>> import plugjax
        >>> import plugjax.numpy as jnp
        >>> policy = plugjax.checkpoint_policies.save_anything_except_these_names("large")
        >>> plugjax.grad(plugjax.checkpoint(jnp.sin, policy=policy))(0.0)
        Array(1., dtype=float32, weak_type=True)
    """
    return _ByName("save_anything_except_these_names", names_not_to_save)


def save_any_names_but_these(*names_not_to_save: str) -> Policy:
    """Save named values, except those with these names.

    Example:
        >>> import plugjax
        >>> import plugjax.numpy as jnp
        >>> policy = plugjax.checkpoint_policies.save_any_names_but_these("large")
        >>> plugjax.grad(plugjax.checkpoint(jnp.sin, policy=policy))(0.0)
        Array(1., dtype=float32, weak_type=True)
    """
    return _ByName("save_any_names_but_these", names_not_to_save)


def save_only_these_names(*names_which_can_be_saved: str) -> Policy:
    """Save values with these names.

    Example:
        >>> from plugjax import checkpoint_policies
        >>> checkpoint_policies.save_only_these_names("hidden")
        save_only_these_names('hidden')
    """
    return _ByName("save_only_these_names", names_which_can_be_saved)


def save_and_offload_only_these_names(
    *,
    names_which_can_be_saved: Iterable[str],
    names_which_can_be_offloaded: Iterable[str],
    offload_src: str,
    offload_dst: str,
) -> Policy:
    """Save values with these names; those to be offloaded stay on the device.

    Example:
        >>> import plugjax
        >>> import plugjax.numpy as jnp
        >>> policy = plugjax.checkpoint_policies.save_and_offload_only_these_names(names_which_can_be_saved=["a"], names_which_can_be_offloaded=["b"], offload_src="device", offload_dst="pinned_host")
        >>> plugjax.grad(plugjax.checkpoint(jnp.sin, policy=policy))(0.0)
        Array(1., dtype=float32, weak_type=True)
    """
    names = (*names_which_can_be_saved, *names_which_can_be_offloaded)
    return _ByName("save_only_these_names", names)


def save_from_both_policies(policy_1: Policy, policy_2: Policy) -> Policy:
    """Save what either policy saves.

    Example:
        >>> import plugjax
        >>> import plugjax.numpy as jnp
        >>> both = plugjax.checkpoint_policies.save_from_both_policies(plugjax.checkpoint_policies.dots_saveable, plugjax.checkpoint_policies.nothing_saveable)
        >>> plugjax.grad(plugjax.checkpoint(jnp.sin, policy=both))(0.0)
        Array(1., dtype=float32, weak_type=True)
    """

    def either(primitive: Primitive, *args: Any, **params: Any) -> bool:
        return policy_1(primitive, *args, **params) is True or (
            policy_2(primitive, *args, **params) is True
        )

    return either


__all__ = [
    "checkpoint_dots", "checkpoint_dots_with_no_batch_dims", "dots_saveable", "dots_with_no_batch_dims_saveable", "everything_saveable", "nothing_saveable", "offload_dot_with_no_batch_dims", "save_and_offload_only_these_names", "save_any_names_but_these", "save_anything_except_these_names", "save_from_both_policies", "save_only_these_names",
]  # fmt: skip

show_only(globals(), __all__)
