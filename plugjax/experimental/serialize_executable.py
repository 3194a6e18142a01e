"""Compiled functions as bytes: the names of ``jax.experimental.serialize_executable``.

The bytes are a head in JSON, the program (``plugjax.export``), its large constants, and what the backend compiled: machine code of XLA, or a
module of IREE. Of NumPy there is nothing but the program, which becomes a function again when it is loaded. All of it is data; nothing
is pickled.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from plugjax.extend import extensions
from plugjax.extend.backend import device, get_backend
from plugjax.extend.core import Device, ShapedArray
from plugjax.extend.errors import UnknownBackendError
from plugjax.extend.execution import CompiledFunction
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
    placement = placement_of(compiled)
    head = {
        "device": str(placement.device),
        "committed": placement.committed,
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
        execution_devices: the one device that it runs on; by default the one that it was compiled for.

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
    target = _target(head["device"], backend, execution_devices)
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
    placement = target.committed if head["committed"] else target.uncommitted
    try:
        return function_of(parts, in_tree, out_tree, placement)
    except ValueError as error:
        raise ValueError(f"deserialize_and_load: {error}") from error


def _target(
    compiled_for: str, backend: str | None, execution_devices: Sequence[Device] | None
) -> Device:
    kind = compiled_for.split(":")[0]
    if backend is not None and get_backend(backend).name != kind:
        raise ValueError(
            f"deserialize_and_load: the function was compiled by the backend {kind!r}, and {backend!r} is wanted."
        )
    if execution_devices is not None:
        found = list(execution_devices)
        if len(found) != 1:
            raise ValueError(
                f"deserialize_and_load: a program runs on one device, got {len(found)} devices."
            )
        (target,) = found
        if target.backend.name != kind:
            raise ValueError(
                f"deserialize_and_load: Execution devices belong to a client other than `backend`: got {target}, and the function was "
                f"compiled by {kind!r}."
            )
        return target
    try:
        return device(compiled_for)
    except UnknownBackendError as error:
        raise ValueError(f"deserialize_and_load: {error}") from error


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
