"""Where results of operands at several placements go."""

from __future__ import annotations

from collections.abc import Sequence

from plugjax.core.device import Placement


def common_placement(placements: Sequence[Placement], who: str) -> Placement | None:
    """The placement of a result computed from operands at ``placements``.

    Committed operands decide, uncommitted ones follow; ``None`` if none is committed or spread over devices: then it is the default
    one. Of operands that are spread over devices it is the placement of whole arrays.

    Raises:
        ValueError: two operands are committed to different devices.
    """
    chosen: Placement | None = None
    for placement in placements:
        if chosen is None or (placement.committed and not chosen.committed):
            chosen = placement
        elif placement.committed and placement.sharding.devices != chosen.sharding.devices:
            raise ValueError(
                f"{who}: Received incompatible devices: one operand is committed to {chosen.device}, another to "
                f"{placement.device}. Move one of them with plugjax.device_put(x, device)."
            )
    if chosen is None or not (chosen.committed or chosen.several):
        return None
    return chosen.whole
