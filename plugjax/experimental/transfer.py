"""Arrays that one process fetches from another while both run (``jax.experimental.transfer``).

Each process starts a server. One offers arrays under a number, another one that has connected to it pulls them by that number. The
processes need not have joined by ``distributed.initialize``, and may be JAX's.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from plugjax.extend import pytree
from plugjax.extend.backend import Backend
from plugjax.extend.core import (
    Array,
    ShapedArray,
    Sharding,
    as_array,
    aval_of,
    device_put,
    physical_aval,
)
from plugjax.extend.meshes import check_compatible_aval

_SECONDS_TO_CONNECT = 10.0


class TransferConnection:
    """A connection to one server; :meth:`TransferServer.connect` makes it."""

    def __init__(self, backend: Backend, runtime: Any) -> None:
        self._backend = backend
        self._runtime = runtime

    def pull(self, uuid: int, xs: Any, timeout: datetime | None = None) -> Any:
        """Fetch what the other server offers under a number. Arrays are given at once, and their values come later.

        Args:
            uuid: the number.
            xs: pytree of ``ShapeDtypeStruct`` with shardings: shapes and dtypes of the arrays that were offered, in their order.
                Each is spread into as many parts in this process as it is there, of the same shapes.
            timeout: the time, not the duration, at which values that have not come are given up.

        Returns:
            The pytree with arrays. Reading one is an error if the other server has ended, the time is over, or sizes differ.

        Raises:
            ValueError: a leaf has no sharding, or one over devices of another backend, or a shape that it cannot divide.
            TypeError: ``timeout`` is no ``datetime``.

        Differs from JAX:
            A pull that no offer follows ends at its timeout; JAX looks at the time when the offer comes.
        """
        _check_timeout("TransferConnection.pull", timeout)
        leaves, structure = pytree.flatten(xs)
        avals = [aval_of(leaf) for leaf in leaves]
        shardings = [self._sharding_of(leaf, a) for leaf, a in zip(leaves, avals, strict=True)]
        stored = [(physical_aval(a), s) for a, s in zip(avals, shardings, strict=True)]
        buffers = self._runtime.pull(uuid, stored, timeout)
        arrays = [
            Array(sharding.typed(aval), sharding.committed, None, buffer)
            for aval, sharding, buffer in zip(avals, shardings, buffers, strict=True)
        ]
        return pytree.unflatten(structure, arrays)

    def _sharding_of(self, leaf: Any, aval: ShapedArray) -> Sharding:
        sharding = getattr(leaf, "sharding", None)
        if not isinstance(sharding, Sharding):
            raise ValueError(
                f"TransferConnection.pull: got {aval.str_short()} with sharding {sharding}. Say where the values go: "
                "ShapeDtypeStruct(shape, dtype, sharding=...)."
            )
        if sharding.devices[0].backend is not self._backend:
            raise ValueError(
                f"TransferConnection.pull: got {aval.str_short()} on {sharding.devices[0]}, and the server is of backend "
                f"{self._backend.name!r}. Pull onto its devices, and move the array afterwards by device_put."
            )
        check_compatible_aval(sharding, aval.shape)
        return sharding


class TransferServer:
    """A server of this process's arrays; :func:`start_transfer_server` makes it."""

    def __init__(self, backend: Backend, runtime: Any) -> None:
        self._backend = backend
        self._runtime = runtime

    def address(self) -> str:
        """Host and port where it listens, for :meth:`connect`; the host is ``[::]`` if it listens on all interfaces."""
        found: str = self._runtime.address()
        return found

    def connect(self, address: str) -> TransferConnection:
        """A connection to another server.

        Args:
            address: host and port of that one.

        Raises:
            ValueError: the address has no port.
            ConnectionError: nothing listens there.

        Differs from JAX:
            JAX connects later, and waits for ever where nothing listens.
        """
        host, colon, port = address.rpartition(":")
        if not (colon and port.isdecimal()):
            raise ValueError(
                f"TransferServer.connect: got the address {address!r}, needs a host and a port, as in '10.0.0.1:1234'."
            )
        try:
            socket.create_connection((host.strip("[]"), int(port)), _SECONDS_TO_CONNECT).close()
        except OSError as error:
            raise ConnectionError(
                f"TransferServer.connect: nothing listens at {address}: {error}. Start the other server before, and give the "
                "address that reaches its machine."
            ) from error
        return TransferConnection(self._backend, self._runtime.connect(address))

    def await_pull(self, uuid: int, arrays: Any, timeout: datetime | None = None) -> None:
        """Offer arrays to the first pull of a number. It returns at once, and keeps the arrays until then.

        Args:
            uuid: the number. A second offer of the same number waits for a second pull.
            arrays: pytree of arrays. Those that are not on the server's backend are moved to its first device of this process.
            timeout: the time, not the duration, after which the offer is void.

        Raises:
            TypeError: ``timeout`` is no ``datetime``, or a leaf is no array.
        """
        _check_timeout("TransferServer.await_pull", timeout)
        backend = self._backend
        first = next(d for d in backend.devices() if d.process_index == backend.processes[0])
        buffers = []
        for leaf in pytree.leaves(arrays):
            array = as_array(leaf, "TransferServer.await_pull")
            if array.sharding.devices[0].backend is not backend:
                array = device_put(array, first)
            if array.size:
                buffers.append(array._resident())
        self._runtime.await_pull(uuid, buffers, timeout)


def start_transfer_server(
    client: Backend,
    address: str = "[::]:0",
    transport_addresses: Sequence[str] = (),
    max_num_parallel_copies: int = 8,
    transfer_size: int = 256 * 1024 * 1024,
    supports_pinned_allocator: bool = False,
    use_raw_buffers: bool = False,
) -> TransferServer:
    """Start a server of this process's arrays. It serves as long as it, its connections or pulled arrays are used.

    Args:
        client: the backend, ``devices()[0].client``.
        address: where it listens for requests; port 0 is one that is free.
        transport_addresses: where it listens for values, one entry for each connection that carries them; the host of ``address``,
            if left out.
        max_num_parallel_copies: how many pieces are under way at a time.
        transfer_size: bytes of a piece.
        supports_pinned_allocator: whether memory is registered with the network's hardware.
        use_raw_buffers: whether offered arrays may be overwritten by a program that they are donated to.

    Raises:
        NotImplementedError: the backend has no such server; XLA's has.

    Differs from JAX:
        In JAX, servers without ``transport_addresses`` cannot exchange values between two processes on CPUs: pulls fail, and the
        process may be aborted.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> from plugjax.experimental.transfer import start_transfer_server
        >>> device = plugjax.devices("xla")[0]
        >>> one, other = (start_transfer_server(device.client, "127.0.0.1:0") for _ in range(2))
        >>> one.await_pull(7, {"w": plugjax.device_put(jnp.arange(3), device)})
        >>> sharding = plugjax.sharding.SingleDeviceSharding(device)
        >>> struct = plugjax.ShapeDtypeStruct((3,), "int32", sharding=sharding)
        >>> other.connect(one.address()).pull(7, {"w": struct})
        {'w': Array([0, 1, 2], dtype=int32)}
    """
    start = getattr(client, "start_transfer_server", None)
    if start is None:
        raise NotImplementedError(
            f"start_transfer_server: {client} has no transfer server. Use that of XLA: devices('xla')[0].client."
        )
    host = address.rpartition(":")[0]
    settings = (max_num_parallel_copies, transfer_size, supports_pinned_allocator, use_raw_buffers)
    runtime = start(address, list(transport_addresses) or [f"{host}:0"], *settings)
    return TransferServer(client, runtime)


def _check_timeout(who: str, timeout: Any) -> None:
    if timeout is not None and not isinstance(timeout, datetime):
        raise TypeError(
            f"{who}: got timeout={timeout!r}, needs the time at which it ends: datetime.now() + timedelta(seconds=...)."
        )


__all__ = ["TransferConnection", "TransferServer", "start_transfer_server"]
