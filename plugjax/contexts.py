"""Context managers over the configuration, under JAX's names."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, TypeVar

from plugjax.core.array import aval_of
from plugjax.core.aval import ShapedArray
from plugjax.core.backend import DeviceLike, as_device, devices
from plugjax.core.config import config
from plugjax.core.device import Device
from plugjax.core.operators import ArrayLike
from plugjax.core.source_info import open_scopes
from plugjax.transforms.marks import with_scope

_R = TypeVar("_R")


def default_device(device: DeviceLike | None) -> AbstractContextManager[None]:
    """Within the block, uncommitted arrays are made on ``device``: a Device or a name such as ``"iree:local:0"``.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> with plugjax.default_device("numpy"):
        ...     print(jnp.ones(2).device)
        numpy:0
    """
    return config.override("default_device", as_device(device) if device is not None else None)


def disable_jit(disable: bool = True) -> AbstractContextManager[None]:
    """Within the block, ``jit`` and control flow run as plain Python, one primitive at a time.

    Example:
        >>> import plugjax
        >>> import plugjax.numpy as jnp
        >>> seen = []
        >>> with plugjax.disable_jit():
        ...     _ = plugjax.jit(seen.append)(jnp.float32(1))
        >>> seen
        [Array(1., dtype=float32)]
    """
    return config.override("disable_jit", disable)


def debug_nans(new_val: bool = True) -> AbstractContextManager[None]:
    """Within the block, an operation or compiled function that gives a nan raises ``FloatingPointError``.

    The error names the primitive, the user's line, the calls, iterations and branches around it, the index, and the
    ranges of the operands. As in JAX only outputs are checked: a nan that a compiled function masks away is not
    reported. If an output holds a nan, the first equation whose result holds one is reported.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> with plugjax.debug_nans(True):
        ...     jnp.log(-1.0)
        Traceback (most recent call last):
        FloatingPointError: invalid value (nan) encountered in log: ...
    """
    return config.override("debug_nans", new_val)


def debug_infs(new_val: bool = True) -> AbstractContextManager[None]:
    """Within the block, an operation or compiled function that gives an inf raises ``FloatingPointError``.

    See :func:`debug_nans`.

    Example:
        >>> import plugjax
        >>> import plugjax.numpy as jnp
        >>> with plugjax.debug_infs(True):
        ...     total = jnp.float32(1) + 1
        >>> total
        Array(2., dtype=float32)
    """
    return config.override("debug_infs", new_val)


def debug_key_reuse(new_val: bool = True) -> AbstractContextManager[None]:
    """Within the block, using a random key twice raises ``KeyReuseError``, which names both places.

    Example:
        >>> import plugjax
        >>> key = plugjax.random.key(0)
        >>> with plugjax.debug_key_reuse(True):
        ...     first = plugjax.random.bits(key)
        ...     try:
        ...         second = plugjax.random.bits(key)
        ...     except plugjax.errors.KeyReuseError:
        ...         print("used twice")
        used twice
    """
    return config.override("debug_key_reuse", new_val)


def threefry_partitionable(new_val: bool = True) -> AbstractContextManager[None]:
    """Within the block, whether part of an array of random numbers has the same numbers; see ``plugjax.random``.

    If not, Threefry gives the numbers of JAX before 0.5.

    Example:
        >>> import plugjax
        >>> with plugjax.threefry_partitionable(False):
        ...     plugjax.random.bits(plugjax.random.key(0), (2,))
        Array([ 928981903, 3453687069], dtype=uint32)
    """
    return config.override("threefry_partitionable", new_val)


def checking_leaks() -> AbstractContextManager[None]:
    """Within the block, a tracer that outlives its transformation raises an error that names its referrers.

    Raises:
        LeakedTracerError: when the transformation ends.

    Differs from JAX:
        Tracers of ``grad`` and ``jvp`` are checked too.

    Example:
        >>> import plugjax
        >>> kept = []
        >>> with plugjax.checking_leaks():
        ...     plugjax.jit(lambda x: kept.append(x))(1.0)
        Traceback (most recent call last):
        plugjax.core.errors.LeakedTracerError: Leaked trace StagingTrace (<lambda>). ...
    """
    return config.override("check_tracer_leaks", True)


def check_tracer_leaks(new_val: bool = True) -> AbstractContextManager[None]:
    """As :func:`checking_leaks`, switched on or off.

    Example:
        >>> import plugjax
        >>> import plugjax.numpy as jnp
        >>> with plugjax.check_tracer_leaks():
        ...     total = plugjax.jit(jnp.sum)(jnp.arange(3))
        >>> total
        Array(3, dtype=int32)
    """
    return config.override("check_tracer_leaks", new_val)


def explain_cache_misses(new_val: bool = True) -> AbstractContextManager[None]:
    """Within the block, ``jit`` logs why it traces or compiles a function again.

    The logger is that of ``plugjax.debug.cache_misses``, the level ``WARNING``.

    Example:
        >>> import plugjax
        >>> import plugjax.numpy as jnp
        >>> with plugjax.explain_cache_misses(True):
        ...     y = plugjax.jit(lambda x: x + 1)(1)
        >>> y
        Array(2, dtype=int32, weak_type=True)
    """
    return config.override("explain_cache_misses", new_val)


def log_compiles(new_val: bool = True) -> AbstractContextManager[None]:
    """Within the block, each compilation is logged: its name, arguments, device and duration.

    The logger is that of ``plugjax.debug.compilations``, the level ``WARNING``.

    Example:
        >>> import logging, plugjax
        >>> handler = logging.Handler()
        >>> handler.emit = lambda record: print(record.getMessage().split(" in ")[0])
        >>> logger = logging.getLogger("plugjax.debug.compilations")
        >>> logger.addHandler(handler)
        >>> def double(x):
        ...     return 2 * x
        >>> with plugjax.log_compiles(), plugjax.default_device("numpy"):
        ...     y = plugjax.jit(double)(1)
        Compiling double with global shapes and types [int32[]] for numpy:0.
        Finished compilation of double for numpy:0
        >>> logger.removeHandler(handler)
    """
    return config.override("log_compiles", new_val)


def enable_checks(new_val: bool = True) -> AbstractContextManager[None]:
    """Within the block, jaxprs are checked after each pass.

    Example:
        >>> import plugjax
        >>> with plugjax.enable_checks(True):
        ...     y = plugjax.jit(lambda x: x + 1)(1)
        >>> y
        Array(2, dtype=int32, weak_type=True)
    """
    return config.override("enable_checks", new_val)


def default_prng_impl(new_val: str) -> AbstractContextManager[None]:
    """Within the block, new random keys have this implementation unless they name another.

    Example:
        >>> import plugjax
        >>> with plugjax.default_prng_impl("rbg"):
        ...     key = plugjax.random.key(0)
        >>> print(plugjax.random.key_impl(key))
        rbg
    """
    return config.override("default_prng_impl", new_val)


def no_tracing(new_val: bool = True) -> AbstractContextManager[None]:
    """Within the block, ``jit`` traces nothing: it raises ``RuntimeError`` instead.

    Example:
        >>> import plugjax
        >>> with plugjax.no_tracing():
        ...     plugjax.jit(lambda x: x)(1)
        Traceback (most recent call last):
        RuntimeError: re-tracing function <lambda> for `jit`, but 'no_tracing' is set. ...
    """
    return config.override("no_tracing", new_val)


def no_execution(new_val: bool = True) -> AbstractContextManager[None]:
    """Within the block, nothing runs: an operation or a compiled function raises ``RuntimeError`` instead.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> with plugjax.no_execution():
        ...     jnp.ones(2) + 1
        Traceback (most recent call last):
        RuntimeError: tried to execute a program, but the no_execution config option is set. ...
    """
    return config.override("no_execution", new_val)


def enable_custom_prng(new_val: bool = True) -> AbstractContextManager[None]:
    """Within the block, ``random.PRNGKey`` makes typed keys, and raw keys are warned of.

    Example:
        >>> import plugjax
        >>> with plugjax.enable_custom_prng():
        ...     print(plugjax.random.PRNGKey(0).dtype)
        key<fry>
    """
    return config.override("enable_custom_prng", new_val)


def legacy_prng_key(new_val: str) -> AbstractContextManager[None]:
    """Within the block, raw keys are accepted, warned of or refused: ``"allow"``, ``"warn"`` or ``"error"``.

    Example:
        >>> import plugjax
        >>> raw = plugjax.random.PRNGKey(0)
        >>> with plugjax.legacy_prng_key("error"):
        ...     plugjax.random.split(raw)
        Traceback (most recent call last):
        ValueError: split: Legacy uint32 key array passed as key. ...
    """
    return config.override("legacy_prng_key", new_val)


@contextmanager
def named_scope(name: str) -> Iterator[None]:
    """A name for the operations within the block; also a decorator.

    ``Lowered.as_text(debug_info=True)`` and errors about nans show it.

    Raises:
        TypeError: ``name`` is not a string.

    Example:
        >>> import plugjax
        >>> @plugjax.jit
        ... def f(x):
        ...     with plugjax.named_scope("doubling"):
        ...         return x * 2.0
        >>> "f/doubling/mul" in f.lower(1.0).as_text("stablehlo", debug_info=True)
        True
    """
    if not isinstance(name, str):
        raise TypeError("named_scope needs a string as its name.")
    outer = open_scopes.names
    open_scopes.names = with_scope(outer, name)
    try:
        yield
    finally:
        open_scopes.names = outer


def named_call(fun: Callable[..., _R], *, name: str | None = None) -> Callable[..., _R]:
    """The function under a name; see :func:`named_scope`.

    Args:
        fun: the function.
        name: the name; its own by default.

    Example:
        >>> import plugjax
        >>> import plugjax.numpy as jnp
        >>> plugjax.named_call(jnp.sum, name="total")(jnp.arange(3))
        Array(3, dtype=int32)
    """
    chosen = getattr(fun, "__name__", "a function") if name is None else name

    @functools.wraps(fun)
    def named(*args: Any, **kwargs: Any) -> Any:
        with named_scope(chosen):
            return fun(*args, **kwargs)

    return named


def enable_x64(new_val: bool = True) -> AbstractContextManager[None]:
    """Within the block, 64-bit dtypes are kept.

    Example:
        >>> import plugjax
        >>> import plugjax.numpy as jnp
        >>> with plugjax.enable_x64(True):
        ...     x = jnp.array(1.0)
        >>> x.dtype
        dtype('float64')
    """
    return config.override("enable_x64", new_val)


def numpy_dtype_promotion(new_val: str) -> AbstractContextManager[None]:
    """Within the block, implicit dtype promotion is ``"standard"`` or ``"strict"``.

    Example:
        >>> import plugjax
        >>> import plugjax.numpy as jnp
        >>> with plugjax.numpy_dtype_promotion("standard"):
        ...     x = jnp.int32(1) + jnp.float32(1)
        >>> x
        Array(2., dtype=float32)
    """
    return config.override("numpy_dtype_promotion", new_val)


def numpy_rank_promotion(new_val: str) -> AbstractContextManager[None]:
    """Within the block, implicit rank promotion is ``"allow"``, ``"warn"`` or ``"raise"``.

    Example:
        >>> import plugjax
        >>> import plugjax.numpy as jnp
        >>> with plugjax.numpy_rank_promotion("allow"):
        ...     x = jnp.ones((2, 2)) + jnp.ones(2)
        >>> x
        Array([[2., 2.],
               [2., 2.]], dtype=float32)
    """
    return config.override("numpy_rank_promotion", new_val)


def default_matmul_precision(new_val: Any) -> AbstractContextManager[None]:
    """Within the block, products of matrices have this precision unless they have their own.

    Example:
        >>> import plugjax
        >>> import plugjax.numpy as jnp
        >>> with plugjax.default_matmul_precision("float32"):
        ...     product = jnp.ones((2, 2)) @ jnp.ones((2, 2))
        >>> product
        Array([[2., 2.],
               [2., 2.]], dtype=float32)
    """
    return config.override("default_matmul_precision", new_val)


def default_backend() -> str:
    """What computes by default, in JAX's words: ``"cpu"``, ``"gpu"``, ``"tpu"`` or another hardware's name.

    It is the platform of ``devices()[0]``. Which plugin computes there is ``plugjax.extend.backend.default_backend()``, and for an
    array ``x.device.backend.name``.

    Example:
        >>> import plugjax
        >>> plugjax.default_backend() in ("cpu", "gpu", "tpu")
        True
    """
    return devices()[0].platform


def local_devices(
    process_index: int | None = None, backend: str | None = None, host_id: int | None = None
) -> list[Device]:
    """Devices of a process.

    Args:
        process_index: index of the process; this one, if left out.
        backend: name of the backend, or of hardware.
        host_id: the older name of ``process_index``.

    Example:
        >>> import plugjax
        >>> import plugjax.numpy as jnp
        >>> plugjax.local_devices(backend="numpy")
        [Device(numpy:0)]
    """
    found = devices(backend)
    index = host_id if process_index is None else process_index
    if index is None:
        return [device for device in found if device.process_index == device.backend.processes[0]]
    if not 0 <= index < found[0].backend.processes[1]:
        raise ValueError(f"local_devices: Unknown process_index {index}.")
    return [device for device in found if device.process_index == index]


def device_count(backend: str | None = None) -> int:
    """Number of devices of a backend.

    Example:
        >>> import plugjax
        >>> import plugjax.numpy as jnp
        >>> plugjax.device_count("numpy")
        1
    """
    return len(devices(backend))


def local_device_count(backend: str | None = None) -> int:
    """Number of a backend's devices in this process.

    Example:
        >>> import plugjax
        >>> import plugjax.numpy as jnp
        >>> plugjax.local_device_count("numpy")
        1
    """
    return len(local_devices(backend=backend))


def typeof(x: ArrayLike) -> ShapedArray:
    """The abstract value of an array, tracer or scalar.

    Example:
        >>> import plugjax
        >>> plugjax.typeof(1.5)
        ShapedArray(float32[], weak_type=True)
    """
    return aval_of(x)
