"""Devices, buffers and loaded modules: a thin layer on the runtime's extension module.

Lifetimes. A buffer that outlives its device, and a device destroyed in a forked child, end the
process (segfault, hang). Buffers are in users' hands, so devices live until the process ends:
`open_device` interns them and they are never destroyed. At exit the contexts and modules are
released first, while Python can still run the host functions in them, and after the calls in other threads have returned.

Threads. `put`, `get`, `load` and calls may come from several threads; calls release the interpreter
while they run. A module with mutable globals is state: calls of one that threads share must be serialised.

Forks. ``local-sync`` works in a forked child. The others have threads or driver state that a child
does not inherit: there they refuse, by name, instead of hanging.

Donation. Nothing is done at run time. The compiled module says ``tf.aliasing_output = k : i32`` on
an argument and result k is written into the argument's storage; the caller must not use the
argument afterwards.
"""

import atexit
import ctypes
import os
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from plugjax_iree import native
from plugjax_iree.runtime.buffers import (
    can_be_taken_over,
    element_types,
    in_native_order,
)
from plugjax_iree.runtime.host_module import HostFunction, create_host_module
from plugjax_iree.runtime.loaded import LoadedModule, other_threads_call
from plugjax_iree.runtime.reservations import remove_reservations
from plugjax_iree.runtime.staging import SLOT, Staging

if TYPE_CHECKING:
    from iree.runtime import HalBufferView, HalDevice, VmModule

LOCAL_DRIVERS = ("local-sync", "local-task")
# At its end the process waits at most so long for calls in other threads: a callback may never return.
_SECONDS = 60.0
DRIVERS = (*LOCAL_DRIVERS, "vulkan", "cuda", "hip")
# IREE fills new memory of the host with zeros, which takes about a third of the time of a large kernel. So up to 256 MiB, in 64 pieces, wait for results of the same
# size, while no more is in use.
_ALLOCATORS = {driver: ["caching:*=*;256mib;64"] for driver in LOCAL_DRIVERS}


class DeviceError(RuntimeError):
    """A device that does not exist, or cannot be used in this process."""


class RuntimeDevice:
    """One HAL device; made by `open_device`.

    Attributes:
        uri: the name it was opened by.
        driver: the part of `uri` before ``://``.
        host_visible: whether Python sees its memory, so that `get` never copies.
        hal: the underlying ``HalDevice``, for dlpack and semaphores.
    """

    def __init__(self, uri: str, hal: "HalDevice") -> None:
        library = native.runtime()
        self.uri = uri
        self.driver = _driver_of(uri)
        self.host_visible = self.driver in LOCAL_DRIVERS
        self.hal = hal
        self._allocator = hal.allocator
        self._staging = Staging(hal)
        self._in_pieces = not self.host_visible
        self._hal_module = library.create_hal_module(vm_instance(), hal)
        self._element_types = element_types()
        self._allocate_copy: Callable[..., HalBufferView] = self._allocator.allocate_buffer_copy
        self._loaded: weakref.WeakSet[LoadedModule] = weakref.WeakSet()
        memory, usage = library.MemoryType, library.BufferUsage
        self._memory_type = int(memory.DEVICE_LOCAL)
        self._usage = int(usage.DEFAULT)
        if self.host_visible:
            self._memory_type |= int(memory.HOST_VISIBLE)
            self._usage |= int(usage.MAPPING)

    def __repr__(self) -> str:
        return f"RuntimeDevice({self.uri!r})"

    def put(self, array: np.ndarray, *, owned: bool = False) -> "HalBufferView":
        """A buffer with the contents of `array`.

        Args:
            array: of a dtype in `DTYPES`, any shape and strides.
            owned: the caller gives the array away, and neither reads nor writes it again. Then
                its memory becomes the buffer if the host and the device share memory and the array
                is C-contiguous, writable and aligned to `ALIGNMENT` (numpy's own are to 16; see
                `aligned_empty`). Otherwise it is copied.

        Raises:
            TypeError: a dtype that buffers cannot have.
            DeviceError: the device belongs to the parent of this process.
        """
        element_type = self._element_types.get(array.dtype)
        if element_type is None:
            array = in_native_order(array)
            element_type = self._element_types[array.dtype]
        if owned and self.host_visible and can_be_taken_over(array):
            return self._take_over(array, element_type)
        if not array.flags.c_contiguous:
            array = np.asarray(array, order="C")
        if self._in_pieces and array.nbytes > SLOT:
            return self._put_in_pieces(array, element_type)
        return self._allocate_copy(self._memory_type, self._usage, self.hal, array, element_type)

    def _put_in_pieces(self, array: np.ndarray, element_type: Any) -> "HalBufferView":
        buffer = self._allocator.allocate_buffer(self._memory_type, self._usage, array.nbytes)
        self._staging.put(array.reshape(-1).view(np.uint8), buffer)
        view: HalBufferView = native.runtime().HalBufferView(buffer, array.shape, int(element_type))
        return view

    def _take_over(self, array: np.ndarray, element_type: Any) -> "HalBufferView":
        # Through dlpack, whose capsule holds a reference to the array until the buffer is gone;
        # `import_host_allocation` takes the bare address, and a result may be its argument's buffer.
        # As bytes, since NumPy exports no bfloat16.
        capsule = array.reshape(-1).view(np.uint8).__dlpack__()
        buffer = self.hal.from_dlpack_capsule(capsule).get_buffer()
        view: HalBufferView = native.runtime().HalBufferView(buffer, array.shape, int(element_type))
        return view

    def get(
        self, view: "HalBufferView", dtype: np.dtype[Any], shape: tuple[int, ...]
    ) -> np.ndarray:
        """The contents of a buffer, as a read-only array that keeps the buffer alive.

        Where the host sees the buffer the array is the buffer; elsewhere it is a copy.

        Args:
            view: a buffer of this device.
            dtype: the buffer's; compiled code does not tell signed from unsigned, so the caller
                says it.
            shape: the buffer's.
        """
        seen = self.host_visible or _mappable(view)
        mapped = view.map() if seen else self._staging.get(view.get_buffer())
        array: np.ndarray = np.ndarray(shape, dtype, mapped)
        array.setflags(write=False)
        return array

    def load(
        self,
        vmfb: bytes,
        host_functions: Sequence[HostFunction] = (),
        parameters: "VmModule | None" = None,
    ) -> "LoadedModule":
        """Load a compiled module with its own state.

        Args:
            vmfb: what `compile_stablehlo` returned, for this kind of device.
            host_functions: the Python functions that it calls.
            parameters: the archives that it reads, by `plugjax_iree.runtime.parameters.load_parameters`.

        Raises:
            ValueError: not a module, or an import (a host function, a parameter) is missing.
            RuntimeError: compiled for another kind of device.
            DeviceError: the device belongs to the parent of this process.
        """
        if self._allocate_copy is _refuse_after_fork:
            _refuse_after_fork()
        library = native.runtime()
        modules = [self._hal_module]
        if parameters is not None:
            modules.append(parameters)
        if host_functions:
            modules.append(create_host_module(host_functions, self))
        module = library.VmModule.copy_buffer(vm_instance(), vmfb)
        context = library.VmContext(vm_instance(), [*modules, module])
        if native.is_linked(vmfb):
            remove_reservations()
        loaded = LoadedModule(context, module)
        self._loaded.add(loaded)
        return loaded

    def _end_calls(self) -> None:
        for loaded in list(self._loaded):
            loaded.retire(_end_thread)

    def _close(self) -> None:
        for loaded in list(self._loaded):
            loaded.close(_end_thread)

    def _abandon(self) -> None:
        """In a forked child: make every use of the device raise."""
        self._allocate_copy, self._in_pieces = _refuse_after_fork, False
        for loaded in list(self._loaded):
            loaded.retire(_refuse_after_fork)


def open_device(uri: str) -> RuntimeDevice:
    """The device named `uri`; the same object every time.

    Args:
        uri: a driver (``"local-sync"``, ``"local-task"``, ``"vulkan"``, ``"cuda"``, ``"hip"``) for
            its first device, or one of `available_devices`. ``local-sync`` runs on the calling
            thread and is the choice below some 200 us of work; ``local-task`` has a thread per
            core.

    Raises:
        DeviceError: no such driver or device, or the driver belongs to the parent of this process.
    """
    driver = _driver_of(uri)
    with _state.lock:
        if driver in _state.stale_drivers:
            _refuse_after_fork()
        if uri not in _state.devices:
            if not threading.main_thread().is_alive():
                if threading.current_thread() is not threading.main_thread():
                    _end_thread()
                raise DeviceError(f"cannot open device {uri!r}: the interpreter ends.")
            try:
                hal = _driver(driver).create_device_by_uri(uri, _ALLOCATORS.get(driver))
            except (RuntimeError, ValueError) as error:
                raise DeviceError(f"cannot open device {uri!r}: {_reason(error)}") from error
            _make_immortal(hal)
            _state.devices[uri] = RuntimeDevice(uri, hal)
        return _state.devices[uri]


def release_memory() -> None:
    """Give the memory that waits for later results back to the system."""
    with _state.lock:
        devices = list(_state.devices.values())
    for device in devices:
        device.hal.allocator.trim()


@cache
def available_devices(driver: str) -> tuple[str, ...]:
    """The URIs of the devices that `driver` finds; empty if it cannot run here.

    Opens none of them. Asks the driver once per process, when first called.
    """
    if driver in LOCAL_DRIVERS:
        return (driver,)
    if driver not in DRIVERS or driver in _state.stale_drivers:
        return ()
    try:
        with _state.lock:
            found = _driver(driver).query_available_devices()
    except (RuntimeError, ValueError):
        return ()
    uris = tuple(f"{driver}://{device['path'] or device['device_id']}" for device in found)
    _state.names.update(zip(uris, (str(device["name"]) for device in found), strict=True))
    return uris


def device_name(uri: str) -> str:
    """What the driver calls one of `available_devices`; empty if it is not known."""
    return _state.names.get(uri, "")


def available_drivers() -> tuple[str, ...]:
    """The drivers with at least one device."""
    return tuple(driver for driver in DRIVERS if available_devices(driver))


class _State:
    """Devices and drivers that this process has opened."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.devices: dict[str, RuntimeDevice] = {}
        self.drivers: set[str] = set()
        self.names: dict[str, str] = {}
        self.stale_drivers: set[str] = set()


_state = _State()


@cache
def vm_instance() -> Any:
    """The one VM instance of this process."""
    instance = native.runtime().VmInstance()
    _make_immortal(instance)
    atexit.register(_tear_down)
    return instance


def _driver(name: str) -> Any:
    _state.drivers.add(name)
    return native.runtime().get_cached_hal_driver(name)


def _driver_of(uri: str) -> str:
    driver = uri.partition("://")[0]
    if driver not in DRIVERS:
        raise DeviceError(f"unknown driver in device {uri!r}; known: {', '.join(DRIVERS)}.")
    return driver


def _reason(error: Exception) -> str:
    """The part of a runtime error after its source position."""
    return " ".join(str(error).split("; ", 1)[-1].split())


def _make_immortal(native_object: object) -> None:
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(native_object))


def _tear_down() -> None:
    for device in _state.devices.values():
        device._end_calls()
    # A call that returned into an interpreter which is gone would end the process with an error.
    until = time.monotonic() + _SECONDS
    while (calls := other_threads_call()) and time.monotonic() < until:
        time.sleep(0.01)
    if not calls:
        for device in _state.devices.values():
            device._close()
    # Devices stay alive on purpose; the checker would report them on standard error.
    native.runtime().disable_leak_checker()


def _abandon_devices() -> None:
    _state.lock = threading.RLock()
    _state.stale_drivers = _state.drivers - {"local-sync"}
    for device in _state.devices.values():
        if device.driver in _state.stale_drivers:
            device._abandon()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_abandon_devices)


def _end_thread(*_: object) -> NoReturn:
    """End a daemon thread, without a word, as the interpreter ends."""
    raise SystemExit


def _refuse_after_fork(*_: object) -> NoReturn:
    raise DeviceError(
        "this process was forked after the device's driver was loaded, and the driver's threads "
        "are not in it. Start processes with multiprocessing's 'spawn', or use 'local-sync'."
    )


def _mappable(view: "HalBufferView") -> bool:
    library = native.runtime()
    buffer = view.get_buffer()
    visible = buffer.memory_type() & int(library.MemoryType.HOST_VISIBLE)
    return bool(visible and int(buffer.allowed_usage()) & int(library.BufferUsage.MAPPING_SCOPED))
