"""``jax._src.sharding_impls``: what libraries import from there, and what jaxlib itself asks of it."""

from __future__ import annotations

from typing import Any

from plugjax import sharding
from plugjax.extend.core import Device


def make_single_device_sharding(device: Any, *, memory_kind: str | None = None) -> Any:
    """The sharding of whole arrays on one device of plugjax.

    Before version 0.11, jaxlib calls this for each part of an array over several devices, with a device of its own.
    Such a part is wrapped anew before anything reads its sharding: it has none.
    """
    if not isinstance(device, Device):
        return None
    return sharding.make_single_device_sharding(device, memory_kind=memory_kind)
