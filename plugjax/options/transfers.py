"""Guards of transfers: values that move between the host and devices, or between devices, are logged or refused.

A level says which: ``"log"`` and ``"disallow"`` mean implicit transfers, such as a NumPy array as an operand; ``"log_explicit"`` and
``"disallow_explicit"`` mean those of ``device_put``, ``device_get`` and ``copy_to_host_async`` too. As in JAX, memory that the
host sees is read without a transfer.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from plugjax.extend.core import Option, config
from plugjax.extend.errors import JaxRuntimeError
from plugjax.extend.execution import Transfer

LEVELS = ("allow", "log", "disallow", "log_explicit", "disallow_explicit")
_DIRECTIONS = ("host_to_device", "device_to_device", "device_to_host")

OPTIONS = [
    Option(
        name, None, choices=(None, *LEVELS), help=f"log or refuse transfers {direction}",
        observes=dict.fromkeys(LEVELS[1:], "transfers"),
    )
    for name, direction in (
        ("transfer_guard", "of all directions"),
        *((f"transfer_guard_{d}", d.replace("_", " ")) for d in _DIRECTIONS),
    )
]  # fmt: skip

_log = logging.getLogger(__name__)


def plugjax_transfer(transfer: Transfer) -> None:
    """Log the transfer, or refuse it."""
    level = config.read(f"transfer_guard_{transfer.direction.replace('-', '_')}")
    level = config.read("transfer_guard") if level is None else level
    if level in (None, "allow") or (transfer.explicit and not level.endswith("_explicit")):
        return
    what = "values" if transfer.aval is None else transfer.aval.str_short()
    target = "" if transfer.target is None else f" to {transfer.target.device}"
    if level.startswith("log"):
        _log.warning("%s transfer: %s%s", transfer.direction, what, target)
        return
    raise JaxRuntimeError(
        f"INVALID_ARGUMENT: Disallowed {transfer.direction} transfer: {what}{target}. Move it by device_put or device_get, which are "
        "explicit, or end the transfer_guard block."
    )


@contextmanager
def transfer_guard(new_val: str) -> Iterator[None]:
    """Within the block, transfers of all directions are allowed, logged or refused.

    Args:
        new_val: ``"allow"``, ``"log"``, ``"disallow"``, ``"log_explicit"`` or ``"disallow_explicit"``.

    Raises:
        ValueError: another level.
        JaxRuntimeError: in the block, for a transfer that is refused.

    Differs from JAX:
        What the framework makes itself, such as ``jnp.ones(3)`` and the index of ``x[0]``, is no transfer.

    Example:
        >>> import numpy as np, plugjax, plugjax.numpy as jnp
        >>> x = jnp.ones(2)
        >>> with plugjax.transfer_guard("disallow"):
        ...     y = x + plugjax.device_put(np.ones(2))
        ...     x + np.ones(2)
        Traceback (most recent call last):
        plugjax.core.errors.JaxRuntimeError: INVALID_ARGUMENT: Disallowed host-to-device transfer: float32[2]. ...
    """
    with ExitStack() as stack:
        for direction in _DIRECTIONS:
            stack.enter_context(config.override(f"transfer_guard_{direction}", new_val))
        stack.enter_context(config.override("transfer_guard", new_val))
        yield


@contextmanager
def transfer_guard_host_to_device(new_val: str) -> Iterator[None]:
    """As :func:`transfer_guard`, of values of Python and NumPy that become arrays.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> with plugjax.transfer_guard_host_to_device("disallow"):
        ...     x = plugjax.device_put(1.5)
        >>> x
        Array(1.5, dtype=float32, weak_type=True)
    """
    with config.override("transfer_guard_host_to_device", new_val):
        yield


@contextmanager
def transfer_guard_device_to_device(new_val: str) -> Iterator[None]:
    """As :func:`transfer_guard`, of arrays that move to another device.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> with plugjax.transfer_guard_device_to_device("disallow"):
        ...     x = jnp.ones(2) + 1
        >>> x
        Array([2., 2.], dtype=float32)
    """
    with config.override("transfer_guard_device_to_device", new_val):
        yield


@contextmanager
def transfer_guard_device_to_host(new_val: str) -> Iterator[None]:
    """As :func:`transfer_guard`, of values that are read from a device whose memory the host does not see.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> with plugjax.transfer_guard_device_to_host("disallow"):
        ...     total = plugjax.device_get(jnp.ones(2).sum())
        >>> total
        array(2., dtype=float32)
    """
    with config.override("transfer_guard_device_to_host", new_val):
        yield
