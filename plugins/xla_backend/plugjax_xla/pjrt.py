"""Clients, devices, buffers and executables of XLA, through jaxlib alone.

This module, `executable` and `jaxlib_shim` hold every private name of jaxlib; they do not depend on plugjax.

A *buffer* is jaxlib's array object. It never reaches a user: jax, when loaded, patches its class.

A forked process has the memory of a client but none of its threads, so waiting for a thread would never end. There,
clients become orphans: finished buffers can be read, another runtime is made on first use, executables of the parent
are serialized and loaded into it on their first call, and modules are compiled in a fresh process.
"""

import ctypes
import os
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from plugjax_xla.cuda_plugin import cuda_data_folder, make_cuda_client
from plugjax_xla.elsewhere import RefusedError, compile_elsewhere
from plugjax_xla.executable import PjrtExecutable
from plugjax_xla.fingerprint import compiled_for
from plugjax_xla.host_callbacks import HostArray, HostCallback, raise_original
from plugjax_xla.host_views import PACKED_BITS, unpacked, viewed
from plugjax_xla.jaxlib_shim import (
    Aval,
    ClientUnavailable,
    collect_garbage,
    fork_error,
    garbage_due,
    jaxlib,
    processor_collectives,
)
from plugjax_xla.mlir import module_bytecode, parse_module, with_donated_parameters
from plugjax_xla.tpu_plugin import make_tpu_client

__all__ = [
    "Buffer", "ClientUnavailable", "Option", "PjrtClient", "PjrtDevice", "PjrtExecutable",
    "block_until_ready", "collect_garbage", "cpu_client", "cuda_client", "delete", "distributed_cpu_client", "drop_clients", "garbage_due", "hlo_text",
    "is_deleted", "is_ready", "is_runtime_error", "to_dlpack", "tpu_client",
]  # fmt: skip

Buffer = Any
Option = str | bool | int

_NUMPY_OWN = 1  # np.dtype.isbuiltin of native-endian types that NumPy itself defines.


class PjrtClient:
    """One runtime with its devices. Made by `cpu_client`, `cuda_client` and `tpu_client`, or of what a factory of the user's gives.

    Attributes:
        orphaned: whether the process was forked and the runtime has not been made anew.
        forked: whether the process was forked at any time since it had a runtime.
    """

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self.raw = raw = make()
        self.platform: str = "cuda" if raw.platform in ("cuda", "gpu") else raw.platform
        # XLA parses the variable once per process; later changes have no effect.
        self.xla_flags = os.environ.get("XLA_FLAGS", "")
        self.orphaned = self.forked = False
        # Results of the latest program whose devices wait for one another.
        self.latest_collective: list[Buffer] = []
        self.executables: weakref.WeakSet[PjrtExecutable] = weakref.WeakSet()
        self.devices = tuple(PjrtDevice(self, device) for device in raw.local_devices())
        own = {device.id: device for device in self.devices}
        # Those of all processes.
        self.all_devices = tuple(
            own.get(device.id) or RemoteDevice(self, device) for device in raw.devices()
        )
        _living.add(self)

    def orphan(self) -> None:
        """Called in a forked process."""
        if self.orphaned:
            return
        self.orphaned = self.forked = True
        # Destroying a runtime would join its threads.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self.raw))
        for device in self.devices:
            device.orphan()
        for executable in list(self.executables):
            executable.orphan()

    def revive(self) -> None:
        """Make another runtime if this process has none.

        Raises:
            RuntimeError: the platform does not allow it.
        """
        with _lock:
            if not self.orphaned:
                return
            if self.platform != "cpu":
                raise fork_error(f"{self.platform} cannot be used in a forked process")
            self.raw = self._make()
            for device, raw in zip(self.devices, self.raw.local_devices(), strict=True):
                device.settle(raw)
            self.orphaned = False


_lock = threading.Lock()
_clients: dict[tuple[str, int], PjrtClient] = {}
_living: weakref.WeakSet[PjrtClient] = weakref.WeakSet()  # Dropped ones among them.
# Shardings of buffers from before a fork, with their devices.
_orphaned: "dict[Any, PjrtDevice]" = {}


def _after_fork() -> None:
    global _lock
    _lock = threading.Lock()
    for client in list(_living):
        client.orphan()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _check_finished(buffer: Buffer) -> None:
    if buffer.is_deleted() or buffer.is_ready():
        return
    raise fork_error(
        "a value was still being computed when this process was forked; call block_until_ready before"
    )


def cpu_client(num_devices: int = 1) -> PjrtClient:
    """The client for this machine's processor; the same object for the same arguments.

    Raises:
        ClientUnavailable: no supported jaxlib is installed.
    """
    return _interned(
        ("cpu", num_devices),
        lambda: jaxlib().xla_client.make_cpu_client(num_devices=num_devices),
    )


def distributed_cpu_client(
    distributed_client: Any, process: int, processes: int, num_devices: int
) -> PjrtClient:
    """The client for the processors of several processes; call it in each of them."""
    return _interned(
        ("cpu of processes", num_devices),
        lambda: jaxlib().xla_client.make_cpu_client(
            distributed_client=distributed_client,
            node_id=process,
            num_nodes=processes,
            collectives=processor_collectives(distributed_client),
            num_devices=num_devices,
        ),
    )


def cuda_client() -> PjrtClient:
    """The client for the NVIDIA GPUs; the same object every time.

    It does not preallocate the device's memory, so that other clients can use the device;
    ``XLA_PYTHON_CLIENT_PREALLOCATE`` overrides that.

    Raises:
        ClientUnavailable: a package is missing or of another version, or there is no GPU.
    """
    return _interned(("cuda", 0), make_cuda_client)


def tpu_client() -> PjrtClient:
    """The client for the TPUs; the same object every time.

    Raises:
        ClientUnavailable: there is no chip, libtpu is missing, or another process uses the chips.
    """
    return _interned(("tpu", 0), make_tpu_client)


def hlo_text(module: Any) -> str:
    """A StableHLO module as the HLO on which XLA starts."""
    convert = jaxlib().extension.mlir.mlir_module_to_xla_computation
    text: str = convert(
        module_bytecode(module), use_tuple_args=False, return_tuple=False
    ).as_hlo_text()
    return text


def _interned(key: tuple[str, int], make: Callable[[], Any]) -> PjrtClient:
    with _lock:
        client = _clients.get(key)
        if client is None:
            client = _clients[key] = PjrtClient(make)
        return client


def drop_clients() -> None:
    """Have `cpu_client`, `cuda_client` and `tpu_client` start new runtimes. The others live as long as something of theirs does."""
    with _lock:
        _clients.clear()


class RemoteDevice:
    """A device of another process."""

    def __init__(self, client: PjrtClient, raw: Any) -> None:
        self.client = client
        self.raw = raw
        self.id: int = raw.id

    def holds(self, buffer: Buffer) -> bool:
        """Never: its buffers are in another process."""
        return False


class PjrtDevice:
    """One device: moves values and compiles for it. Compared by identity."""

    __slots__ = (
        "_borrow", "_copy", "_list", "_put", "_sharding", "client", "host_memory", "id", "kind",
        "platform", "raw",
    )  # fmt: skip

    def __init__(self, client: PjrtClient, raw: Any) -> None:
        semantics = jaxlib().extension.HostBufferSemantics
        self.client = client
        self.settle(raw)
        self.id: int = raw.id
        self.kind: str = raw.device_kind
        self.platform = client.platform
        self.host_memory = client.platform == "cpu"
        self._copy = semantics.IMMUTABLE_ONLY_DURING_CALL
        self._borrow = semantics.ZERO_COPY

    def settle(self, raw: Any) -> None:
        """Become the device of this runtime."""
        library = jaxlib()
        self.raw = raw
        self._list = [raw]
        self._sharding = library.sharding(raw)
        self._put = library.extension.batched_device_put

    def orphan(self) -> None:
        """Called in a forked process."""
        _orphaned[self._sharding] = self
        self._put = self._put_after_fork

    def _put_after_fork(
        self, aval: Aval, _sharding: Any, arrays: Any, _devices: Any, *rest: Any
    ) -> Buffer:
        self.client.revive()
        return self._put(aval, self._sharding, arrays, self._list, *rest)

    def adopt(self, buffer: Buffer) -> Buffer:
        """The buffer, or a copy of it if it was made before a fork."""
        if buffer._sharding is self._sharding:
            return buffer
        aval = buffer.aval
        return self.put(self.get(buffer, aval.shape, aval.dtype), owned=True)

    def __repr__(self) -> str:
        return f"PjrtDevice({self.platform}:{self.id})"

    @property
    def callback_target(self) -> str:
        """The custom call that runs a host callback; ``backend_config = {index = N : ui64}``."""
        return f"xla_ffi_python_{'cpu' if self.host_memory else 'gpu'}_callback"

    def put(self, array: HostArray | np.generic, *, owned: bool = False) -> Buffer:
        """Moves a host array to the device.

        Args:
            array: any strides, any byte order.
            owned: ``array`` will never be written to again. If aligned, its memory is then used without a copy;
                otherwise it is copied before this returns.

        Raises:
            TypeError: XLA has no such dtype.
        """
        dtype = array.dtype
        # C++ misreads foreign byte orders silently. Their isbuiltin is 0, that of ml_dtypes 2.
        if dtype.isbuiltin != _NUMPY_OWN:
            if not dtype.isnative:
                return self.put(array.astype(dtype.newbyteorder("=")), owned=True)
            if dtype in PACKED_BITS:
                return self._put_packed(array)
        return self._put_any(array, owned)

    def _put_any(self, array: HostArray | np.generic, owned: bool) -> Buffer:
        try:
            return self._put(
                Aval(array.shape, array.dtype),
                self._sharding,
                [array],
                self._list,
                True,  # Committed.
                False,  # Argument force_copy.
                self._borrow if owned else self._copy,
                True,  # Argument enable_x64: otherwise C++ asks a global that jax owns, and raises.
            )
        except RuntimeError as error:
            if "Unknown NumPy dtype" in str(error):
                raise TypeError(f"XLA has no dtype {array.dtype}.") from error
            raise

    def _put_packed(self, array: HostArray | np.generic) -> Buffer:
        buffer = self._put_any(array, owned=False)
        # Before jaxlib 0.11 every other way back to the host imports jax.
        host = np.array(array)
        host.flags.writeable = False
        buffer.plugjax_host_value = host
        return buffer

    def adopt_part(self, part: Any, aval: Aval) -> Buffer:
        """The buffer of a part on this device of a spread buffer."""
        return jaxlib().extension.ArrayImpl(aval, self._sharding, [part], True, True)

    def holds(self, buffer: Buffer) -> bool:
        """Whether a buffer is on this device."""
        sharding = buffer._sharding
        return sharding is self._sharding or _orphaned.get(sharding) is self

    def get(self, buffer: Buffer, shape: tuple[int, ...], dtype: np.dtype[Any]) -> HostArray:
        """The value as a read-only host array, without a copy where memory is shared.

        Waits for the value. A view keeps the memory alive and unchanged, even if the buffer is deleted or donated
        afterwards.

        Raises:
            Exception: the exception of a host callback during the computation.
        """
        if next(garbage_due):
            collect_garbage()
        if _orphaned and buffer._sharding in _orphaned:
            _check_finished(buffer)
            if not self.host_memory:
                raise fork_error(f"a value on {self.platform} cannot be read in a forked process")
        try:
            buffer.block_until_ready()
        except RuntimeError as error:
            raise_original(error)
        if not self.host_memory:
            value: HostArray = getattr(buffer, jaxlib().gpu_to_numpy)()[0]
            return value
        if dtype.isbuiltin == _NUMPY_OWN:
            return np.asarray(buffer)
        if 0 in shape:
            value = np.empty(shape, dtype)
            value.flags.writeable = False
            return value
        if dtype in PACKED_BITS:
            host: HostArray | None = getattr(buffer, "plugjax_host_value", None)
            # For a result, unlike for a buffer that was put, the pointer does not need jax.
            return unpacked(buffer.unsafe_buffer_pointer(), shape, dtype) if host is None else host
        return viewed(to_dlpack(buffer), shape, dtype)

    def compile(
        self,
        module: Any,
        out_specs: Sequence[tuple[Sequence[int], Any]],
        *,
        donated: Sequence[int] = (),
        host_callbacks: Sequence[HostCallback] = (),
        options: Mapping[str, Option] | None = None,
    ) -> "PjrtExecutable":
        """Compiles the function ``main`` of a module for this device.

        Args:
            module: an ``ir.Module`` of any context, or MLIR text or bytecode.
            out_specs: shape and dtype of every result, which XLA does not report.
            donated: parameters whose memory XLA may use for results. (``tf.aliasing_output`` in the module says the
                same with a fixed result.)
            host_callbacks: host callbacks by the ``index`` of the custom calls to `callback_target`.
            options: XLA debug flags by name, for this executable only.

        Raises:
            RuntimeError: XLA refuses the module or an option.
        """
        library = jaxlib()
        if isinstance(module, bytes | str):
            module = parse_module(module)
        if donated:
            module = with_donated_parameters(module, donated)
        self.client.revive()
        if self.client.forked:
            if host_callbacks:
                raise fork_error(
                    "a program that calls Python cannot be compiled in a forked process"
                )
            try:
                blob = compile_elsewhere(module_bytecode(module), options or {})
            except RefusedError as error:
                raise library.extension.JaxRuntimeError(str(error)) from None
            return self.deserialize(blob, out_specs)
        raw = self.client.raw.compile_and_load(
            module,
            executable_devices=library.extension.DeviceList((self.raw,)),
            compile_options=self._compile_options(self.id, options or {}),
            host_callbacks=list(host_callbacks),
        )
        return PjrtExecutable(self, raw, out_specs, has_host_callbacks=bool(host_callbacks))

    def deserialize(
        self, blob: bytes, out_specs: Sequence[tuple[Sequence[int], Any]]
    ) -> "PjrtExecutable":
        """Loads what `PjrtExecutable.serialize` wrote.

        The bytes are machine code: they must come from a place that only this user can write.

        Raises:
            ValueError: the bytes are no executable of this version of XLA.
        """
        self.client.revive()
        devices = jaxlib().extension.DeviceList((self.raw,))
        options = self._compile_options(self.id, {})
        try:
            raw = self.client.raw.deserialize_executable(blob, devices, options)
        except RuntimeError as error:
            raise ValueError(f"not a loadable XLA executable: {error}") from error
        return PjrtExecutable(self, raw, out_specs, has_host_callbacks=False, blob=blob)

    def compile_options_fingerprint(self, options: Mapping[str, Option] | None = None) -> bytes:
        """The compiler's options besides the module; equal for equal devices."""
        serialized: bytes = self._compile_options(0, options or {}).SerializeAsString()
        return serialized

    def runtime_fingerprint(self) -> tuple[str, ...]:
        """Everything that determines the compiler's output for a module and its options."""
        version = self.client.raw.platform_version
        return compiled_for(self.platform, version, self.kind, self.client.xla_flags)

    def result_handler(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        """The handler with which `ExecuteResults.consume_with_handlers` makes a buffer of one result."""
        library = jaxlib()
        return library.extension.array_result_handler(
            Aval(shape, dtype), self._sharding, committed=True, **library.result_handler_options
        )

    def _compile_options(self, device_id: int, options: Mapping[str, Option]) -> Any:
        xla_client = jaxlib().xla_client
        compile_options = xla_client.CompileOptions()
        compile_options.num_replicas = 1
        compile_options.num_partitions = 1
        compile_options.device_assignment = xla_client.DeviceAssignment.create(
            np.array([[device_id]])
        )
        compile_options.env_option_overrides = sorted(options.items())
        if self.platform == "cuda" and (folder := cuda_data_folder()) is not None:
            debug_options = compile_options.executable_build_options.debug_options
            debug_options.xla_gpu_cuda_data_dir = str(folder)
        return compile_options


def block_until_ready(buffers: Sequence[Any]) -> None:
    """Waits for buffers and tokens.

    Raises:
        Exception: the exception of a host callback during the computation.
    """
    if next(garbage_due):
        collect_garbage()
    if _orphaned:
        for buffer in buffers:
            if getattr(buffer, "_sharding", None) in _orphaned:
                _check_finished(buffer)
    try:
        for buffer in buffers:
            buffer.block_until_ready()
    except RuntimeError as error:
        raise_original(error)


def is_runtime_error(error: BaseException) -> bool:
    """Whether XLA raised it, and not Python code that XLA called."""
    # Compare the class: jax, when loaded, changes the class's module.
    return isinstance(error, jaxlib().extension.JaxRuntimeError)


def is_ready(buffer: Buffer) -> bool:
    """Whether the value is computed; false also for an error still to come."""
    ready: bool = buffer.is_ready()
    return ready


def is_deleted(buffer: Buffer) -> bool:
    """Whether `delete` was called or the buffer was donated and its memory taken."""
    return getattr(buffer, "plugjax_deleted", False) or buffer.is_deleted()


def delete(buffer: Buffer) -> None:
    """Free the memory now, or with its last view.

    C++ aborts the process when a buffer is deleted while an exported dlpack capsule is alive. A buffer that was ever
    exported is only marked, and is freed with its last reference.
    """
    if not getattr(buffer, "plugjax_exported", False):
        buffer.delete()
    buffer.plugjax_deleted = True
    buffer.plugjax_host_value = None


def to_dlpack(buffer: Buffer) -> Any:
    """A dlpack capsule that shares the memory of the buffer."""
    buffer.plugjax_exported = True
    return jaxlib().extension.buffer_to_dlpack_managed_tensor(buffer)
