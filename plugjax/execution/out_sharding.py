"""The argument ``out_sharding`` of functions."""

from __future__ import annotations


def reject_sharding(who: str, out_sharding: object) -> None:
    """Refuse an ``out_sharding``: the results of functions lie on one device, and ``device_put`` says on which.

    Raises:
        TypeError: always.
    """
    raise TypeError(
        f"{who}: out_sharding must be None, since there are no meshes of devices yet; got {out_sharding!r}. "
        "plugjax.device_put chooses a device."
    )
