"""XLA's descriptions of shardings as bytes and back: the names of ``plugjax.extend.sharding``.

jaxlib does not say whether bytes are well formed; malformed ones give a description that means nothing, as in JAX.
"""

from __future__ import annotations

from typing import Any

from plugjax_xla.jaxlib_shim import jaxlib


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


__all__ = [
    "get_hlo_sharding_from_serialized_proto",
    "get_op_sharding_from_serialized_proto",
    "get_serialized_proto_from_hlo_sharding",
]
