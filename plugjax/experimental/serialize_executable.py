"""Compiled functions as bytes: the names of ``jax.experimental.serialize_executable``.

The bytes are a head in JSON, the program (``plugjax.export``), its large constants, and what the backend compiled: machine code of XLA, or a
module of IREE. Of NumPy there is nothing but the program, which becomes a function again when it is loaded. All of it is data; nothing
is pickled.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from plugjax.extend import extensions
from plugjax.extend.backend import device, get_backend
from plugjax.extend.core import Device, Placement, ShapedArray, Sharding
from plugjax.extend.errors import UnknownBackendError
from plugjax.extend.execution import CompiledFunction
from plugjax.extend.meshes import AxisType, Mesh, NamedSharding, Partition, PartitionSpec
from plugjax.extend.serialization import CompiledParts, function_of, parts_of, placement_of

_MAGIC = b"plugjax compiled 1\n"
_DIGEST = hashlib.sha256().digest_size


def _programs(name: str) -> Any:
    return extensions.attribute("program_bytes", "programs as bytes", name)


def serialize(compiled: CompiledFunction) -> tuple[bytes, Any, Any]:
    """A compiled function as bytes, with the structures of its arguments and of its result.

    Args:
        compiled: what ``jit(f).lower(...).compile()`` gave.

    Returns:
        The bytes, ``compiled.in_tree`` and ``compiled.out_tree``.

    Raises:
        TypeError: ``compiled`` is no compiled function.
        ValueError: it calls Python objects of this process.

    Differs from JAX:
        Nothing is pickled, and JAX does not read the bytes.

    Example:
        >>> import plugjax
        >>> from plugjax.experimental.serialize_executable import deserialize_and_load, serialize
        >>> compiled = plugjax.jit(lambda x: 2 * x).lower(1.5).compile()
        >>> deserialize_and_load(*serialize(compiled))(4.0)
        Array(8., dtype=float32, weak_type=True)
    """
    if not isinstance(compiled, CompiledFunction):
        raise TypeError(
            f"serialize: expected a compiled function, got {compiled!r}. Give jit(f).lower(...).compile()."
        )
    parts = parts_of(compiled)
    program = b""
    try:
        program = _programs("trailer")(parts.program)
    except ValueError as error:
        # Machine code is enough.
        if parts.blob is None:
            raise ValueError(
                f"serialize: Compilation does not support serialization of this program: {error}"
            ) from error
    place = placement_of(compiled)
    head = {
        "device": str(place.devices[0] if isinstance(place, Partition) else place.device),
        "committed": isinstance(place, Partition) or place.committed,
        "partition": _written_partition(place) if isinstance(place, Partition) else None,
        "name": parts.name,
        "in_avals": [_written(a) for a in parts.in_avals],
        "out_avals": [_written(a) for a in parts.out_avals],
        "kept": list(parts.kept),
        "donated": list(parts.donated),
        "constants": [[list(x.shape), _programs("dtype_name")(x.dtype)] for x in parts.constants],
        "costs": {name: float(cost) for name, cost in parts.costs.items()},
        "has_blob": parts.blob is not None,
    }
    constants = [np.ascontiguousarray(x).tobytes() for x in parts.constants]
    return (
        _joined(head, [program, parts.blob or b"", *constants]),
        compiled.in_tree,
        compiled.out_tree,
    )


def deserialize_and_load(
    serialized: bytes,
    in_tree: Any,
    out_tree: Any,
    backend: str | None = None,
    execution_devices: Sequence[Device] | None = None,
) -> CompiledFunction:
    """The compiled function that :func:`serialize` wrote.

    The bytes may hold machine code, which runs when the function is called. Load none that others can write.

    Args:
        serialized: the bytes.
        in_tree: structure of ``(args, kwargs)``.
        out_tree: structure of the result.
        backend: name of the backend, or of its hardware; by default the one that it was compiled by.
        execution_devices: the devices that it runs on, in the order of the mesh; by default those that it was compiled for.

    Raises:
        ValueError: the bytes are damaged, were written for another backend, machine or version, or the structures do not fit.

    Differs from JAX:
        Nothing is unpickled. The default backend is the one that compiled the function.

    Example:
        >>> import plugjax
        >>> from plugjax.experimental.serialize_executable import deserialize_and_load
        >>> deserialize_and_load(b"not these", None, None)
        Traceback (most recent call last):
        ValueError: deserialize_and_load: the bytes are no compiled function that serialize wrote.
    """
    head, (program, blob, *constants) = _split(serialized)
    wanted = head.get("partition")
    devices = _targets(head["device"], wanted, backend, execution_devices)
    arrays = [
        np.frombuffer(raw, _programs("dtype_named")(dtype)).reshape(shape)
        for raw, (shape, dtype) in zip(constants, head["constants"], strict=True)
    ]
    parts = CompiledParts(
        head["name"],
        [_read(a) for a in head["in_avals"]],
        [_read(a) for a in head["out_avals"]],
        tuple(head["kept"]),
        tuple(head["donated"]),
        _programs("from_trailer")(program)[0] if program else None,
        arrays,
        blob if head["has_blob"] else None,
        head["costs"],
    )
    target: Placement | Partition
    if wanted is not None:
        target = _read_partition(wanted, devices)
    else:
        target = devices[0].committed if head["committed"] else devices[0].uncommitted
    try:
        return function_of(parts, in_tree, out_tree, target)
    except ValueError as error:
        raise ValueError(f"deserialize_and_load: {error}") from error


def _targets(
    compiled_for: str,
    partition: Mapping[str, Any] | None,
    backend: str | None,
    execution_devices: Sequence[Device] | None,
) -> list[Device]:
    kind = compiled_for.split(":")[0]
    if backend is not None and get_backend(backend).name != kind:
        raise ValueError(
            f"deserialize_and_load: the function was compiled by the backend {kind!r}, and {backend!r} is wanted."
        )
    names = [compiled_for] if partition is None else partition["devices"]
    if execution_devices is not None:
        found = list(execution_devices)
        if len(found) != len(names):
            words = "one device" if len(names) == 1 else f"{len(names)} devices"
            raise ValueError(
                f"deserialize_and_load: the program runs on {words}, got {len(found)} devices."
            )
        other = next((each for each in found if each.backend.name != kind), None)
        if other is not None:
            raise ValueError(
                f"deserialize_and_load: Execution devices belong to a client other than `backend`: got {other}, and the function was "
                f"compiled by {kind!r}."
            )
        return found
    try:
        return [device(name) for name in names]
    except UnknownBackendError as error:
        raise ValueError(f"deserialize_and_load: {error}") from error


def _written_partition(partition: Partition) -> dict[str, Any]:
    """How a program is spread, as data for JSON.

    Raises:
        ValueError: an axis of the mesh has a name that is no string.
    """
    mesh = partition.mesh
    if not all(isinstance(name, str) for name in mesh.axis_names):
        raise ValueError(f"serialize: axes of a mesh have names that are strings, got {mesh}.")
    return {
        "devices": [str(each) for each in partition.devices],
        "sizes": list(mesh.axis_sizes),
        "names": list(mesh.axis_names),
        "types": [kind.name for kind in mesh.axis_types],
        "arguments": [_written_sharding(partition, s) for s in partition.arguments],
        "results": [_written_sharding(partition, s) for s in partition.results],
    }


def _written_sharding(partition: Partition, sharding: Sharding | None) -> list[Any]:
    if not isinstance(sharding, NamedSharding) or sharding.spec.unreduced or sharding.spec.reduced:
        raise ValueError(
            f"serialize: {sharding} is written for programs over the mesh {partition.mesh} by names alone."
        )
    entries = [list(e) if isinstance(e, tuple) else e for e in sharding.spec]
    names = {name for e in entries for name in (e if isinstance(e, list) else [e]) if name}
    if not names <= set(partition.mesh.axis_names):
        raise ValueError(f"serialize: {sharding} is of another mesh than {partition.mesh}.")
    return [entries, sharding.memory_kind]


def _read_partition(written: Mapping[str, Any], devices: Sequence[Device]) -> Partition:
    array = np.empty(len(devices), object)
    array[:] = devices
    kinds = tuple(AxisType[name] for name in written["types"])
    mesh = Mesh(array.reshape(written["sizes"]), tuple(written["names"]), kinds)

    def sharding(found: Any) -> NamedSharding:
        entries, kind = found
        spec = PartitionSpec(*(tuple(e) if isinstance(e, list) else e for e in entries))
        return NamedSharding(mesh, spec, memory_kind=kind)

    arguments, results = (tuple(map(sharding, written[n])) for n in ("arguments", "results"))
    return Partition(mesh, arguments, results)


def _written(aval: ShapedArray) -> list[Any]:
    return [list(aval.shape), _programs("dtype_name")(aval.dtype), aval.weak_type]


def _read(written: list[Any]) -> ShapedArray:
    shape, dtype, weak = written
    return ShapedArray(tuple(shape), _programs("dtype_named")(dtype), weak)


def _joined(head: dict[str, Any], pieces: Sequence[bytes]) -> bytes:
    head = {**head, "sizes": [len(piece) for piece in pieces]}
    text = json.dumps(head, separators=(",", ":")).encode()
    body = len(text).to_bytes(8, "little") + text + b"".join(pieces)
    return _MAGIC + hashlib.sha256(body).digest() + body


def _split(serialized: bytes) -> tuple[dict[str, Any], list[bytes]]:
    start = len(_MAGIC) + _DIGEST
    body = serialized[start:]
    if (
        not serialized.startswith(_MAGIC)
        or hashlib.sha256(body).digest() != serialized[len(_MAGIC) : start]
    ):
        raise ValueError(
            "deserialize_and_load: the bytes are no compiled function that serialize wrote."
        )
    size = int.from_bytes(body[:8], "little")
    head = json.loads(body[8 : 8 + size])
    pieces, place = [], 8 + size
    for length in head["sizes"]:
        pieces.append(body[place : place + length])
        place += length
    return head, pieces


__all__ = ["deserialize_and_load", "serialize"]
