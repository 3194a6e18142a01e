"""XLA's descriptions of shardings as bytes and back: the names of ``plugjax.extend.sharding``.

jaxlib does not say whether bytes are well formed; malformed ones give a description that means nothing, as in JAX.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from plugjax.extend.core import Device
from plugjax.extend.meshes import Mesh, NamedSharding
from plugjax_xla.jaxlib_shim import jaxlib
from plugjax_xla.mesh_runtime import blocks_from_proto
from plugjax_xla.partitioned import named


def get_op_sharding_from_serialized_proto(sharding: bytes) -> Any:
    """The protocol buffer ``OpSharding`` of its bytes.

    Raises:
        ClientUnavailable: jaxlib is missing, or of an unsupported version.

    Example:
        >>> from plugjax.extend import sharding
        >>> sharding.get_op_sharding_from_serialized_proto(b"").type.name
        'REPLICATED'
    """
    proto = jaxlib().xla_client.OpSharding()
    proto.ParseFromString(sharding)
    return proto


def get_hlo_sharding_from_serialized_proto(sharding: bytes) -> Any:
    """The ``HloSharding`` of the bytes of its protocol buffer.

    Raises:
        ClientUnavailable: jaxlib is missing, or of an unsupported version.

    Example:
        >>> from plugjax.extend import sharding
        >>> sharding.get_hlo_sharding_from_serialized_proto(b"")
        {replicated}
    """
    proto = get_op_sharding_from_serialized_proto(sharding)
    return jaxlib().xla_client.HloSharding.from_proto(proto)


def get_serialized_proto_from_hlo_sharding(sharding: Any) -> bytes:
    """The bytes of the protocol buffer of an ``HloSharding``.

    Example:
        >>> from plugjax.extend import sharding
        >>> whole = sharding.get_hlo_sharding_from_serialized_proto(b"")
        >>> sharding.get_serialized_proto_from_hlo_sharding(whole)
        b''
    """
    data: bytes = sharding.to_proto().SerializeToString()
    return data


class GSPMDSharding(NamedSharding):
    """How XLA describes a sharding, on devices in an order.

    Args:
        devices: the devices.
        op_sharding: an ``OpSharding`` or ``HloSharding`` of ``jaxlib.xla_client``.
        memory_kind: the kind of memory, if it is not the usual one.

    Raises:
        ValueError: the description is neither of whole arrays nor of blocks.

    Differs from JAX:
        It is a ``NamedSharding`` as well, over a mesh of its own whose axes are ``_axis_0`` and so on.

    Example:
        >>> import plugjax
        >>> from plugjax.extend import sharding
        >>> whole = sharding.get_hlo_sharding_from_serialized_proto(b"")
        >>> sharding.GSPMDSharding(plugjax.devices("xla"), whole).is_fully_replicated
        True
    """

    __slots__ = ("_hlo_sharding",)

    def __init__(
        self, devices: Sequence[Device], op_sharding: Any, *, memory_kind: str | None = None
    ) -> None:
        client = jaxlib().xla_client
        is_proto = isinstance(op_sharding, client.OpSharding)
        self._hlo_sharding = client.HloSharding.from_proto(op_sharding) if is_proto else op_sharding
        found = _by_names(self._hlo_sharding, devices)
        if found is None:
            raise ValueError(
                f"GSPMDSharding: {self._hlo_sharding} is neither of whole arrays nor of blocks."
            )
        super().__init__(found.mesh, found.spec, memory_kind=memory_kind)

    @classmethod
    def get_replicated(
        cls, device_assignment: Sequence[Device], *, memory_kind: str | None = None
    ) -> GSPMDSharding:
        """Each device has the whole array."""
        whole = jaxlib().xla_client.HloSharding.replicate()
        return cls(device_assignment, whole, memory_kind=memory_kind)

    def __repr__(self) -> str:
        kind = "" if self._kind is None else f", memory_kind={self._kind}"
        return f"GSPMDSharding({self._hlo_sharding!r}{kind})"


def _by_names(hlo: Any, devices: Sequence[Device]) -> NamedSharding | None:
    """The sharding by the names of a mesh of the devices, in their order, of which each axis is as short as possible."""
    blocks = blocks_from_proto(hlo.to_proto(), _rank(hlo), len(devices))
    if blocks is None:
        return None
    sizes = [n for n in _factors(len(devices)) if n > 1] or [1]
    array = np.empty(len(devices), object)
    array[:] = list(devices)
    mesh = Mesh(array.reshape(sizes), [f"_axis_{i}" for i in range(len(sizes))])
    return named(mesh, blocks)


def _factors(number: int) -> Iterator[int]:
    """The primes whose product is a number."""
    divisor = 2
    while number > 1:
        while number % divisor:
            divisor += 1
        yield divisor
        number //= divisor


def _rank(hlo: Any) -> int:
    """The lowest rank of arrays that a description is for."""
    if hlo.is_replicated() or not hlo.is_tiled():
        return 0
    dims = len(hlo.tile_assignment_dimensions())
    return dims - bool(hlo.replicate_on_last_tile_dim()) - len(hlo.subgroup_types())


__all__ = [
    "GSPMDSharding",
    "get_hlo_sharding_from_serialized_proto",
    "get_op_sharding_from_serialized_proto",
    "get_serialized_proto_from_hlo_sharding",
]
