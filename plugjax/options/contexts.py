"""Context managers over options of this plugin, under JAX's names; for those without effect see ``without_effect.py``."""

from __future__ import annotations

from contextlib import AbstractContextManager

from plugjax.core.config import config


def allow_f16_reductions(new_val: bool = True) -> AbstractContextManager[None]:
    """Within the block, whether sums of float16 and bfloat16 are accepted; if not, they raise ``ValueError``.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> with plugjax.allow_f16_reductions(False):
        ...     plugjax.lax.reduce_sum(jnp.ones(3, "float16"), (0,))
        Traceback (most recent call last):
        ValueError: reduce_sum on operand float16[3] is not allowed when jax_allow_f16_reductions=False. ...
    """
    return config.override("allow_f16_reductions", new_val)


def jax2tf_associative_scan_reductions(new_val: bool = True) -> AbstractContextManager[None]:
    """Sets the option ``jax_jax2tf_associative_scan_reductions``, which has no effect; a warning says why, unless the value is the default.

    Example:
        >>> import plugjax
        >>> with plugjax.jax2tf_associative_scan_reductions(False):
        ...     plugjax.config.jax_jax2tf_associative_scan_reductions
        False
    """
    return config.override("jax2tf_associative_scan_reductions", new_val)


def remove_size_one_mesh_axis_from_type(new_val: bool = True) -> AbstractContextManager[None]:
    """Sets the option ``jax_remove_size_one_mesh_axis_from_type``, which has no effect; a warning says why, unless the value is the default.

    Example:
        >>> import plugjax
        >>> with plugjax.remove_size_one_mesh_axis_from_type(False):
        ...     plugjax.config.jax_remove_size_one_mesh_axis_from_type
        False
    """
    return config.override("remove_size_one_mesh_axis_from_type", new_val)


def softmax_custom_jvp(new_val: bool = True) -> AbstractContextManager[None]:
    """Within the block, whether ``nn.softmax`` has a derivative in terms of its result, the only array that is kept for it.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> with plugjax.softmax_custom_jvp():
        ...     plugjax.make_jaxpr(plugjax.nn.softmax)(jnp.ones(3)).eqns[0].primitive
        custom_jvp_call
    """
    return config.override("softmax_custom_jvp", new_val)


def auto_pcast(new_val: bool = True) -> AbstractContextManager[None]:
    """Sets the option ``jax_auto_pcast``; inside ``shard_map`` values are always repeated where others vary, so False warns.

    Example:
        >>> import plugjax
        >>> with plugjax.auto_pcast(True):
        ...     plugjax.config.jax_auto_pcast
        True
    """
    return config.override("auto_pcast", new_val)


def thread_guard(new_val: bool = True) -> AbstractContextManager[None]:
    """Sets the option ``jax_thread_guard``, which has no effect; a warning says why, unless the value is the default.

    Example:
        >>> import plugjax
        >>> with plugjax.thread_guard(False):
        ...     plugjax.config.jax_thread_guard
        False
    """
    return config.override("thread_guard", new_val)


def array_garbage_collection_guard(new_val: str) -> AbstractContextManager[None]:
    """Sets the option ``jax_array_garbage_collection_guard``, which has no effect; a warning says why, unless the value is ``"allow"``.

    Example:
        >>> import plugjax
        >>> with plugjax.array_garbage_collection_guard("allow"):
        ...     plugjax.config.jax_array_garbage_collection_guard
        'allow'
    """
    return config.override("array_garbage_collection_guard", new_val)
