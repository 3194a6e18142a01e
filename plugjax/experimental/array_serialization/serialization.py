"""Arrays on disk by the older interface: a manager that writes in another thread while the program goes on.

A spec says where an array goes. With the package tensorstore it does what it says; otherwise its path is a directory that
``pytree_serialization`` writes, so that an array is replaced as a whole.
"""

from __future__ import annotations

import abc
import functools
import logging
import re
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from plugjax.environment import process_index
from plugjax.experimental.array_serialization import tensorstore_impl as ts
from plugjax.experimental.array_serialization.agreement import Agreement, in_all
from plugjax.experimental.array_serialization.npy_parts import own_blocks, stored_dtype
from plugjax.experimental.array_serialization.pytree_serialization import load, load_pytreedef, save
from plugjax.extend import dtypes
from plugjax.extend.core import ShapedArray, ShapeDtypeStruct, Sharding
from plugjax.extend.layouts import Format
from plugjax.extend.meshes import array_of_stored_values, check_compatible_aval

logger = logging.getLogger(__name__)

get_tensorstore_spec = functools.partial(ts.get_tensorstore_spec, driver="zarr", ocdbt=False)


class BarrierTimeoutError(Exception):
    """Another process did not come to the end of a save in time."""


def is_remote_storage(tspec: dict[str, Any] | str) -> bool:
    """Whether a spec, or a URL, is of a storage that is not this machine's.

    Example:
        >>> from plugjax.experimental.array_serialization.serialization import is_remote_storage
        >>> is_remote_storage("gs://bucket/a"), is_remote_storage({"driver": "file", "path": "/a"})
        (True, False)
    """
    if isinstance(tspec, str):
        return re.match("gs://|s3://", tspec) is not None
    for key in ("base", "kvstore"):
        if key in tspec:
            return is_remote_storage(tspec[key])
    return tspec.get("driver") in ("gcs", "s3")


class GlobalAsyncCheckpointManagerBase(abc.ABC):
    """What a manager of checkpoints does."""

    @abc.abstractmethod
    def check_for_errors(self) -> None:
        """Raise the error of the other thread."""

    @abc.abstractmethod
    def wait_until_finished(self) -> None:
        """Wait until everything is written."""

    @abc.abstractmethod
    def serialize(
        self,
        arrays: Any,
        tensorstore_specs: Any,
        *,
        on_commit_callback: Callable[[], None] | None = None,
    ) -> None:
        """Write arrays."""

    @abc.abstractmethod
    def deserialize(
        self,
        shardings: Sequence[Any],
        tensorstore_specs: Sequence[dict[str, Any]],
        global_shapes: Sequence[Any] | None = None,
        dtypes: Sequence[Any] | None = None,
    ) -> list[Any]:
        """Read arrays."""


class AsyncManager:
    """One write at a time, in a thread.

    Args:
        timeout_secs: accepted as in JAX: a process that has ended is noticed, and others are waited for.
    """

    def __init__(self, timeout_secs: int = 300) -> None:
        self._timeout_secs = timeout_secs
        self._thread: threading.Thread | None = None
        self._exception: BaseException | None = None

    def _start(self, function: Callable[[], None]) -> None:
        def run() -> None:
            try:
                function()
            except BaseException as error:
                self._exception = error

        self._thread = threading.Thread(target=run)
        self._thread.start()

    def check_for_errors(self) -> None:
        """Raise the error of the other thread, once."""
        error, self._exception = self._exception, None
        if error is not None:
            raise error

    def wait_until_finished(self) -> None:
        """Wait until everything is written, in all processes; raise the error of the other thread."""
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        self.check_for_errors()


class GlobalAsyncCheckpointManager(AsyncManager, GlobalAsyncCheckpointManagerBase):
    """Writes and reads lists of arrays.

    Example:
        >>> import tempfile
        >>> import plugjax, plugjax.numpy as jnp
        >>> from plugjax.experimental.array_serialization.serialization import GlobalAsyncCheckpointManager
        >>> manager = GlobalAsyncCheckpointManager()
        >>> where = plugjax.sharding.SingleDeviceSharding(plugjax.devices()[0])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     manager.serialize_with_paths([jnp.ones(2)], [folder + "/w"])
        ...     manager.wait_until_finished()
        ...     manager.deserialize_with_paths([where], [folder + "/w"])
        [Array([1., 1.], dtype=float32)]
    """

    def serialize(
        self,
        arrays: Any,
        tensorstore_specs: Any,
        *,
        on_commit_callback: Callable[[], None] | None = None,
        transaction: Any = None,
    ) -> None:
        """Begin to write arrays; a write that is going on is waited for.

        Args:
            arrays: the arrays, which must not be donated before they are written.
            tensorstore_specs: a spec for each.
            on_commit_callback: called in process 0 when all processes have written.
            transaction: of tensorstore.
        """
        self.wait_until_finished()
        pairs = list(zip(arrays, tensorstore_specs, strict=True))
        if ts.is_installed():
            agreement = Agreement("serialize", "the arrays")
            # Written to memory of tensorstore here, to files by the thread.
            commits = [c for x, spec in pairs for c in _copied(x, spec, transaction)]

            def write() -> None:
                in_all(agreement, lambda: [each.result() for each in commits] and None)

        else:
            written = _by_folder(pairs)

            def write() -> None:
                for each in written:
                    each()

        def run() -> None:
            write()
            if on_commit_callback is not None and process_index() == 0:
                on_commit_callback()

        self._start(run)

    def serialize_with_paths(
        self,
        arrays: Sequence[Any],
        paths: Sequence[str],
        *,
        on_commit_callback: Callable[[], None] | None = None,
        transaction: Any = None,
    ) -> None:
        """:meth:`serialize`, to a folder for each array."""
        specs = [get_tensorstore_spec(path) for path in paths]
        self.serialize(
            arrays, specs, on_commit_callback=on_commit_callback, transaction=transaction
        )

    def deserialize(
        self,
        shardings: Sequence[Any],
        tensorstore_specs: Sequence[dict[str, Any]],
        global_shapes: Sequence[Any] | None = None,
        dtypes: Sequence[Any] | None = None,
        concurrent_gb: int = 32,
    ) -> list[Any]:
        """Read arrays.

        Args:
            shardings: how each is spread.
            tensorstore_specs: a spec for each.
            global_shapes: shapes of the results; what is beyond the array is zero. Those of the arrays, if left out.
            dtypes: of the results; those of the arrays, if left out.
            concurrent_gb: accepted as in JAX.

        Raises:
            ValueError: an array cannot be cut as its sharding says, or its files are damaged.
            TypeError: a sharding is none.
        """
        del concurrent_gb
        self.wait_until_finished()
        none = [None] * len(tensorstore_specs)
        return [
            _read(*each)
            for each in zip(
                shardings, tensorstore_specs, global_shapes or none, dtypes or none, strict=True
            )
        ]

    def deserialize_with_paths(
        self,
        shardings: Sequence[Any],
        paths: Sequence[str],
        global_shapes: Sequence[Any] | None = None,
        dtypes: Sequence[Any] | None = None,
        concurrent_gb: int = 32,
    ) -> list[Any]:
        """:meth:`deserialize`, from a folder for each array."""
        specs = [get_tensorstore_spec(path) for path in paths]
        return self.deserialize(shardings, specs, global_shapes, dtypes, concurrent_gb)


def _folder(spec: dict[str, Any]) -> Path:
    kvstore = spec["kvstore"]
    if kvstore.get("driver") == "ocdbt":
        return Path(kvstore["base"]["path"]) / kvstore["path"]
    if is_remote_storage(kvstore):
        raise ImportError(f"{kvstore} needs the package tensorstore. pip install tensorstore")
    return Path(kvstore["path"])


def _by_folder(pairs: Sequence[tuple[Any, dict[str, Any]]]) -> list[Callable[[], None]]:
    made: list[Callable[[], None]] = []
    for x, spec in pairs:
        folder = _folder(spec)
        if process_index() == 0:
            folder.parent.mkdir(parents=True, exist_ok=True)
        made.append(functools.partial(save, x, folder))
    return made


def _copied(x: Any, given: dict[str, Any], transaction: Any) -> list[Any]:
    """Futures of the parts of an array, which tensorstore has copied."""
    library = ts.library()
    spec = dict(given)
    spec.setdefault("metadata", ts.metadata(x, spec["driver"]))
    if spec["driver"] == "zarr":
        spec.setdefault("dtype", stored_dtype(x.dtype).name)
    store = library.open(
        library.Spec(spec), create=True, open=True, transaction=transaction
    ).result()
    commits = []
    for start, value in own_blocks(x):
        index = tuple(slice(a, a + n) for a, n in zip(start, value.shape, strict=True))
        write = store[index].write(value)
        write.copy.result()
        commits.append(write.commit)
    return commits


def _read(target: Any, spec: dict[str, Any], shape: Any, dtype: Any) -> Any:
    sharding = target.sharding if isinstance(target, (Format, ShapeDtypeStruct)) else target
    if not isinstance(sharding, Sharding):
        raise TypeError(
            "deserialize: sharding passed to deserialization should be specified, concrete and an instance of "
            f"`jax.sharding.Sharding`. Got {target!r}"
        )
    if isinstance(target, ShapeDtypeStruct) and dtype is None:
        dtype = target.dtype
    if not ts.is_installed():
        folder = _folder(spec)
        held = load_pytreedef(folder)
        if shape is not None and tuple(shape) != held.shape:
            raise ValueError(f"deserialize: {folder} holds {held}, not an array of shape {shape}.")
        struct = ShapeDtypeStruct(held.shape, dtype or held.dtype, sharding=sharding)
        return load(folder, struct)
    library = ts.library()
    store = library.open(library.Spec(spec), open=True).result()
    shape = tuple(store.shape) if shape is None else tuple(shape)
    check_compatible_aval(sharding, shape)
    kind = dtypes.canonicalize(dtype or store.dtype.numpy_dtype)

    def read(index: tuple[slice, ...]) -> Any:
        bounds = [s.indices(n)[:2] for s, n in zip(index, shape, strict=True)]
        found = np.zeros([b - a for a, b in bounds], kind)
        held = [(a, min(b, n)) for (a, b), n in zip(bounds, store.shape, strict=True)]
        if all(a < b for a, b in held):
            values = store[tuple(slice(a, b) for a, b in held)].read().result()
            found[tuple(slice(b - a) for a, b in held)] = values
        return found

    return array_of_stored_values(ShapedArray(shape, kind), sharding, read)


__all__ = [
    "AsyncManager",
    "BarrierTimeoutError",
    "GlobalAsyncCheckpointManager",
    "GlobalAsyncCheckpointManagerBase",
    "get_tensorstore_spec",
    "is_remote_storage",
    "logger",
]
