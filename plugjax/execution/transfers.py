"""Transfers between the host and devices, and from device to device: see the hook ``plugjax_transfer``.

While an option is set that observes them, ``transfers`` of ``core/array.py`` holds functions that report them, and the evaluator is one
whose operators and compiled functions make arrays of what comes from the host. Otherwise nothing is asked on the way.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

from plugjax.core import registry
from plugjax.core.array import Array, aval_of, from_host, transfers
from plugjax.core.aval import ShapedArray
from plugjax.core.config import config
from plugjax.core.device import Placement
from plugjax.core.primitive import state
from plugjax.transforms.staging import StagingTrace

Direction = Literal["host-to-device", "device-to-device", "device-to-host"]


@dataclass(frozen=True)
class Transfer:
    """Values that move.

    Attributes:
        direction: from where to where.
        explicit: whether the program asked for it by ``device_put``, ``device_get`` or ``copy_to_host_async``.
        aval: of what moves; ``None`` if it is no array yet, as a list is not.
        target: where it goes; ``None`` for the host, and for the default device.
    """

    direction: Direction
    explicit: bool
    aval: ShapedArray | None
    target: Placement | None = None


class _Asked(threading.local):
    """Whether this thread runs a function that transfers explicitly."""

    explicit = False


asked = _Asked()


@contextmanager
def explicit_transfers() -> Iterator[None]:
    """Within the block, transfers are those that the program asked for."""
    before, asked.explicit = asked.explicit, True
    try:
        yield
    finally:
        asked.explicit = before


def array_of_values(values: Any) -> Array:
    """An array over a NumPy value that was made of what a user gave: a transfer."""
    if transfers:
        transfers["host-to-device"](values, "array")
    return from_host(values)


def _report(direction: Direction, aval: Callable[[], Any], target: Placement | None = None) -> None:
    if config.observes("transfers"):
        found = Transfer(direction, asked.explicit, aval(), target)
        registry.active().hook.plugjax_transfer(transfer=found)


def _entering(value: Any, who: str) -> None:
    # A program that is traced keeps the value; it is transferred with the program.
    if isinstance(state.trace, StagingTrace) or hasattr(value, "__jax_array__"):
        return
    _report("host-to-device", lambda: _aval(value))


def _aval(value: Any) -> ShapedArray | None:
    try:
        return aval_of(value)
    except (TypeError, ValueError):
        return None


def _moving(array: Array, target: Placement) -> None:
    _report("device-to-device", lambda: array.aval, target)


def _leaving(array: Array) -> None:
    _report("device-to-host", lambda: array.aval)


def _follow_config() -> None:
    """Report transfers while some thread observes them."""
    with config._lock:
        observed = any("transfers" in view.observed for view in config._views)
    if observed:
        transfers.update(
            {"host-to-device": _entering, "device-to-device": _moving, "device-to-host": _leaving}
        )
    else:
        transfers.clear()


config.listeners.append(_follow_config)
