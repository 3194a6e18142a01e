"""jaxlib, loaded on first use, with the differences between its versions resolved.

Nothing here or above it causes ``import jax``. Some C++ functions do, when jax happens to be installed:
``LoadedExecutable.execute``, ``unsafe_buffer_pointer`` of a buffer that was put, ``dlpack_managed_tensor_to_buffer``,
``_single_device_array_to_np_array_did_copy``. Blocking that import would be worse: C++ caches the failure and breaks a
later, real ``import jax``.
"""

import dataclasses
import functools
import importlib
import itertools
import os
import threading
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

import numpy as np

OLDEST_JAXLIB = (0, 10, 2)
FIRST_UNSUPPORTED_JAXLIB = (0, 13)


class ClientUnavailable(RuntimeError):  # noqa: N818  (named for the state it reports)
    """The requested runtime is not installed, or finds no device."""


@dataclasses.dataclass(frozen=True)
class Jaxlib:
    """jaxlib, loaded, with the version differences resolved."""

    version: str
    extension: ModuleType
    xla_client: ModuleType
    sharding: type
    mesh_sharding: type
    result_handler_options: Mapping[str, Any]
    gpu_to_numpy: str


_lock = threading.Lock()


def _renew_lock() -> None:
    # Another thread of the parent may have held the lock; it does not exist here.
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)


def jaxlib() -> Jaxlib:
    """Load the library.

    Raises:
        ClientUnavailable: it is missing, or of an unsupported version.
    """
    with _lock:
        return _load()


# jaxlib records the Python frames of each execution and each wait, about 120 bytes, and frees them
# on request only. `next(garbage_due)` is true so rarely that the request costs nothing on average.
garbage_due = itertools.cycle([True] + [False] * 1023)


def collect_garbage() -> None:
    """Free the records that jaxlib keeps of finished calls; see `garbage_due`."""
    jaxlib().extension.collect_garbage()


_CURE = (
    "Start processes by multiprocessing.get_context('spawn') or 'forkserver', "
    "or fork before XLA is first used."
)


def fork_error(what: str) -> RuntimeError:
    """The error of a forked process that would hang; the message says what to do instead."""
    error: RuntimeError = jaxlib().extension.JaxRuntimeError(f"XLA: {what}. {_CURE}")
    return error


@functools.cache
def _load() -> Jaxlib:
    # The variable is read once, when the C++ library loads. Without it each client logs a paragraph
    # to stderr.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")
    try:
        version: str = importlib.import_module("jaxlib.version").__version__
    except ImportError as error:
        raise ClientUnavailable(
            "XLA needs jaxlib, which is not installed. pip install 'jaxlib>=0.10.2,<0.13'"
        ) from error
    numbers = _version_numbers(version)
    if not OLDEST_JAXLIB <= numbers < FIRST_UNSUPPORTED_JAXLIB:
        raise ClientUnavailable(
            f"found jaxlib {version}, XLA needs >=0.10.2,<0.13. pip install 'jaxlib>=0.10.2,<0.13'"
        )
    extension = importlib.import_module("jaxlib._jax")
    xla_client = importlib.import_module("jaxlib.xla_client")
    before_0_11 = numbers < (0, 11)
    return Jaxlib(
        version=version,
        extension=extension,
        xla_client=xla_client,
        sharding=_make_sharding_class(extension, xla_client),
        mesh_sharding=_make_mesh_sharding_class(extension),
        result_handler_options={"_skip_checks": True} if before_0_11 else {},
        gpu_to_numpy=(
            "_single_device_array_to_np_array_did_copy" if before_0_11 else "_to_np_array_did_copy"
        ),
    )


def _version_numbers(version: str) -> tuple[int, ...]:
    parts = []
    for part in version.split("."):
        if not part.isdigit():
            break
        parts.append(int(part))
    return tuple(parts)


def _make_sharding_class(extension: ModuleType, xla_client: ModuleType) -> type:
    replicated = xla_client.HloSharding.replicate()

    class DeviceSharding(extension.SingleDeviceSharding):  # type: ignore[misc, name-defined]
        """Everything on one device; compared by identity, one object per device.

        C++ reads the two members before jaxlib 0.11.
        """

        __slots__ = ()
        __hash__ = object.__hash__
        memory_kind = None

        def __eq__(self, other: object) -> bool:
            return self is other

        def _to_xla_hlo_sharding(self, _ndim: int) -> Any:
            return replicated

    return DeviceSharding


def _make_mesh_sharding_class(extension: ModuleType) -> type:
    class MeshSharding(extension.GSPMDSharding):  # type: ignore[misc, name-defined]
        """Parts on several devices; compared by identity."""

        __slots__ = ("__weakref__", "_described")
        __hash__ = object.__hash__
        memory_kind = None

        def __init__(self, devices: Sequence[Any], described: Any) -> None:
            super().__init__(extension.DeviceList(tuple(devices)), described)
            self._described = described

        def __eq__(self, other: object) -> bool:
            return self is other

        def _to_xla_hlo_sharding(self, _ndim: int) -> Any:
            return self._described

    return MeshSharding


def coordination_service(
    address: str, processes: int, *, recoverable: bool, **timeouts: int
) -> Any:
    """The service of the process that the others report to. It lives as long as the object.

    Args:
        address: where it listens.
        processes: how many report to it.
        recoverable: whether they go on when one of them has died; otherwise the service ends them.
        **timeouts: seconds.
    """
    return jaxlib().extension.get_distributed_runtime_service(
        address, processes, recoverable=recoverable, **timeouts
    )


def coordination_client(address: str, process: int, **options: Any) -> Any:
    """A client of the service, not connected yet."""
    return jaxlib().extension.get_distributed_runtime_client(address, process, **options)


def preemption_manager(client: Any) -> Any:
    """What catches SIGTERM from now on, and agrees with the other processes of a client on a step to end at."""
    manager = jaxlib().extension.create_preemption_sync_manager()
    manager.initialize(client)
    return manager


def compile_only_devices(platform: str, name: str, settings: Mapping[str, Any]) -> list[Any]:
    """Devices of a topology, of a runtime's library that is loaded. They belong to a client that compiles and has no memory.

    Raises:
        RuntimeError: the library knows no such topology.
    """
    library = jaxlib().xla_client._xla
    topology = library.get_default_c_api_topology(platform, name, dict(settings))
    found: list[Any] = topology._make_compile_only_devices()
    return found


def compile_only(module: Any, devices: Sequence[Any], options: Any) -> Any:
    """The executable of a module for devices of a topology.

    Raises:
        RuntimeError: the compiler refuses the module or an option.
    """
    return devices[0].client.compile(
        module,
        executable_devices=jaxlib().extension.DeviceList(tuple(devices)),
        compile_options=options,
    )


def set_default_flag(name: str, value: int) -> None:
    """Set a flag of XLA, unless ``XLA_FLAGS`` has it. Call it before the first program: XLA reads the variable once."""
    flags = os.environ.get("XLA_FLAGS", "")
    if name not in flags:
        os.environ["XLA_FLAGS"] = f"{flags} --{name}={value}".strip()


def processor_collectives(client: Any) -> Any:
    """What exchanges values between processors of several processes."""
    return jaxlib().extension.make_gloo_tcp_collectives(distributed_client=client)


def version_before(version: str, numbers: tuple[int, ...]) -> bool:
    """Whether a version of jaxlib is older than another."""
    return _version_numbers(version) < numbers


class Aval:
    """The attributes of an abstract value that C++ reads."""

    __slots__ = ("dtype", "shape", "weak_type")

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self.shape = shape
        self.dtype = dtype
        self.weak_type = False


def transfer_server(client: Any, address: str, *settings: Any) -> Any:
    """A server that others pull arrays from. It lives as long as the object, its connections, and pulls in progress."""
    return jaxlib().extension.start_transfer_server(client, address, *settings)


def await_pull(server: Any, uuid: int, buffers: Sequence[Any], deadline: Any) -> None:
    """Have a server give buffers to the first pull of a number; the deadline is a ``datetime``, or ``None``."""
    server._await_pull_flat(uuid, list(buffers), deadline)


def pull(
    connection: Any, client: Any, uuid: int, wanted: Sequence[tuple[Any, Aval]], deadline: Any
) -> list[Any]:
    """Buffers that will hold what a number stands for at the other end.

    Args:
        connection: to another server.
        client: the runtime.
        uuid: the number.
        wanted: a device of the runtime, and a shape and dtype, for each part.
        deadline: a ``datetime`` after which the other server sends nothing, or ``None``.
    """
    make = jaxlib().sharding
    specs = [_PulledAval(aval, make(device)) for device, aval in wanted]
    found: list[Any] = connection._pull_flat(uuid, client, specs, deadline)
    return found


class _PulledAval(Aval):
    """An abstract value with the place of its values."""

    __slots__ = ("sharding",)

    def __init__(self, aval: Aval, sharding: Any) -> None:
        super().__init__(aval.shape, aval.dtype)
        self.sharding = sharding


def abandon(connection: Any) -> None:
    """Make the pulls of a connection that are in progress fail."""
    connection._poison_connection()


def new_profiler_session(**settings: Any) -> Any:
    """A session of XLA's profiler, which records from now on; ``stop_and_export(folder)`` ends it."""
    jaxlib()
    profiler = importlib.import_module("jaxlib._profiler")
    options = profiler.ProfileOptions()
    for name, value in settings.items():
        setattr(options, name, value)
    return profiler.ProfilerSession(options)


def start_profiler_server(port: int) -> Any:
    """A server of XLA's profiler, which runs as long as the object lives."""
    jaxlib()
    return importlib.import_module("jaxlib._profiler").start_server(port)


def register_profiled_process(pid: int, port: int) -> Any:
    """Have sessions of this process record another one; returns a function that ends that."""
    jaxlib()
    return importlib.import_module("jaxlib._profiler").register_subprocess(pid, port)


def profiled_instructions(folder: str) -> bytes:
    """Costs of operations from a profile, as a protocol buffer; empty but on NVIDIA GPUs."""
    jaxlib()
    found: bytes = importlib.import_module("jaxlib._profiler").get_profiled_instructions_proto(
        folder
    )
    return found


def profile_class(name: str) -> type:
    """A class that reads profiles."""
    jaxlib()
    found: type = getattr(importlib.import_module("jaxlib._profile_data"), name)
    return found


def register_target(
    name: str, function: Any, platform: str = "cpu", api_version: int = 1, **options: Any
) -> None:
    """Make a foreign function known to XLA."""
    jaxlib().xla_client.register_custom_call_target(
        name, function, platform, api_version, **options
    )


def register_type(name: str, registration: Any, platform: str = "cpu") -> None:
    """Make a type of state of foreign functions known to XLA."""
    jaxlib().xla_client.register_custom_type(name, registration, platform=platform)


def register_hlo_pass(name: str, stage: int, callback: Any) -> None:
    """Add a pass over HLO to the compiler of this process."""
    jaxlib()
    importlib.import_module("jaxlib._xla").register_xla_transform(name, stage, callback)


def clear_hlo_pass(name: str, stage: int) -> bool:
    """Take a pass out; returns whether there was one."""
    jaxlib()
    found: bool = importlib.import_module("jaxlib._xla").clear_xla_transform(name, stage)
    return found


def inspection_key(function: Any) -> bytes:
    """How a program names a function that gets the sharding of a value; the function must live while it is compiled."""
    found: bytes = jaxlib().xla_client.encode_inspect_sharding_callback(function)
    return found


def register_partitioner(target: str, partition: Any) -> None:
    """Let a function give the program of one device for each custom call of a target."""
    client = jaxlib().xla_client
    client.register_custom_call_partitioner(
        target,
        # Shardy asks for neither: the operation's rule says how values are spread.
        lambda sharding, *_: sharding,
        partition,
        lambda *_: client.HloSharding.replicate(),
        can_side_effecting_have_replicated_sharding=True,
    )


def register_batch_partitionable(name: str) -> None:
    """Tell XLA that the leading axes of a foreign function are batches."""
    jaxlib().xla_client.register_custom_call_as_batch_partitionable(name)


def proxy_module() -> ModuleType:
    """The client of runtimes in other processes."""
    jaxlib()
    return importlib.import_module("jaxlib._ifrt_proxy")


def include_dir() -> str:
    """The folder of the headers that jaxlib ships."""
    jaxlib()
    (folder, *_) = importlib.import_module("jaxlib").__path__
    return os.path.join(os.path.abspath(folder), "include")


_LAPACK = b"lapack_"


def register_shipped_targets(bytecode: bytes) -> None:
    """Register the foreign functions that jaxlib brings and a module names: those of LAPACK."""
    if _LAPACK in bytecode:
        _register_lapack()


@functools.cache
def _register_lapack() -> None:
    lapack = importlib.import_module("jaxlib.lapack")
    for platform, targets in lapack.registrations().items():
        for name, function, api_version in targets:
            register_target(name, function, platform, api_version)
    for name in lapack.batch_partitionable_targets():
        register_batch_partitionable(name)
    # Finds the functions in SciPy.
    importlib.import_module("jaxlib.cpu._lapack").initialize()
