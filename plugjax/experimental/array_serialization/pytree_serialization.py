"""Trees of arrays on disk: saved on one mesh, loaded on another one, or by another number of processes."""

from __future__ import annotations

import functools
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from os import PathLike
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from plugjax.environment import process_count, process_index
from plugjax.experimental.array_serialization import (
    folders,
    npy_parts,
    npy_store,
    tensorstore_store,
)
from plugjax.experimental.array_serialization.agreement import Agreement, in_all
from plugjax.experimental.array_serialization.manifest import Leaf
from plugjax.experimental.array_serialization.pytree_serialization_utils import PyTreeFuture
from plugjax.experimental.array_serialization.tensorstore_impl import (
    is_installed,
    is_tensorstore_spec_leaf,
)
from plugjax.extend import dtypes, pytree
from plugjax.extend.core import Array, ShapedArray, ShapeDtypeStruct, Sharding, physical_aval
from plugjax.extend.layouts import Format
from plugjax.extend.meshes import array_of_stored_values, block_indices, check_compatible_aval

_STORES: Sequence[ModuleType] = (npy_store, tensorstore_store)
_FILES = tuple(name for store in _STORES for name in store.FILES)
_one_at_a_time = threading.Lock()
_threads = ThreadPoolExecutor(max_workers=8, thread_name_prefix="plugjax-checkpoint")


def _is_none(x: Any) -> bool:
    return x is None


def _place(directory: str | PathLike[str], who: str) -> Path:
    text = str(directory)
    if text.startswith(("gs:/", "s3:/")):
        raise ValueError(f"{who}: {text} is remote; checkpoints are written to directories.")
    return Path(directory).expanduser().resolve()


def save(
    data: Any,
    directory: str | PathLike[str],
    *,
    overwrite: bool = True,
    ts_specs: Any = None,
) -> None:
    """Save a tree of arrays. A process that is killed meanwhile leaves the checkpoint that was there before, whole.

    Several processes call it together, with the same directory on a file system that all of them see; each writes its own parts.

    Args:
        data: pytree of Arrays, NumPy arrays and ``None``. Classes of containers are registered as for exported functions
            (``export.register_pytree_node_serialization``).
        directory: of the checkpoint; the one around it exists.
        overwrite: whether a checkpoint may be there already.
        ts_specs: for tensorstore, a pytree prefix of ``data``.

    Raises:
        ValueError: a leaf is no array, a class is not registered, or the directory is not empty and not ``overwrite``.
        RuntimeError: the directory holds what is no checkpoint, or another process has failed.

    Differs from JAX:
        The old checkpoint stays until the new one is whole. Without the package tensorstore, ``.npy`` files are written, which JAX does
        not read. Directories are those of this machine. Keys can be saved.

    Example:
        >>> import tempfile
        >>> import plugjax, plugjax.numpy as jnp
        >>> from plugjax.experimental.array_serialization.pytree_serialization import load, save
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save({"w": jnp.ones(2)}, folder + "/checkpoint")
        ...     load(folder + "/checkpoint", plugjax.sharding.SingleDeviceSharding(plugjax.devices()[0]))
        {'w': Array([1., 1.], dtype=float32)}
    """
    _save(data, directory, overwrite, ts_specs, Agreement("save", str(_place(directory, "save"))))


def _save(data: Any, directory: Any, overwrite: bool, ts_specs: Any, agreement: Agreement) -> None:
    root = _place(directory, "save")
    found, treedef = pytree.flatten(data, is_leaf=_is_none)
    paths = pytree.paths_of(treedef)
    leaves = [
        None if x is None else (_described(x, path), x)
        for x, path in zip(found, paths, strict=True)
    ]
    specs = _for_each_leaf("ts_specs", ts_specs, treedef, is_tensorstore_spec_leaf)
    store = tensorstore_store if is_installed() else npy_store
    tree = store.written_tree(treedef)
    with _one_at_a_time:
        agreement.all_same()

        def begin() -> None:
            if process_index() == 0:
                folders.begin(root, overwrite, _FILES)

        def commit() -> None:
            if process_index() == 0:
                folders.commit(root)

        in_all(agreement, begin)
        try:
            store.write(agreement, folders.staging(root), tree, leaves, specs)
            in_all(agreement, commit)
        except BaseException:
            if process_index() == 0:
                folders.abandon(root)
            raise


def _described(x: Any, path: str) -> Leaf:
    if not isinstance(x, (Array, np.ndarray)):
        raise ValueError(
            "save: For serialization, all leaves must be either None or jax.Array-like objects; the leaf "
            f"data{path} is {x!r} of type {type(x).__name__}. Make it an array, or leave it out."
        )
    if isinstance(x, np.ndarray):
        dtype = dtypes.interned(x.dtype)
    else:
        dtype = x.dtype
        if process_count() > 1 and x.is_fully_addressable:
            raise ValueError(
                f"save: Passing fully addressable arrays to a multiprocess serialization is not allowed: the leaf data{path} lies in this "
                "process alone. Spread it over the devices of all, or pass a NumPy array, of which process 0 writes its own."
            )
    shape = tuple(x.shape)
    stored = shape if isinstance(x, np.ndarray) else physical_aval(ShapedArray(shape, dtype)).shape
    return Leaf(path, shape, dtype, stored)


def _for_each_leaf(what: str, prefix: Any, treedef: pytree.PyTreeDef, is_leaf: Any) -> list[Any]:
    """A value of a prefix tree for each leaf of a structure."""
    full = pytree.unflatten(treedef, [_Holder() for _ in range(treedef.num_leaves)])
    try:
        return list(pytree.broadcast_prefix(prefix, full, is_leaf=is_leaf))
    except ValueError:
        raise ValueError(
            f"{what} must be a tree prefix of the checkpoint, {pytree.prefix_difference(prefix, treedef)}."
        ) from None


class _Holder:
    """Stands for a leaf in a tree."""


def load_pytreedef(directory: str | PathLike[str]) -> Any:
    """The tree of a checkpoint with a ``ShapeDtypeStruct`` in place of each array.

    Raises:
        FileNotFoundError: there is no such checkpoint.
        ValueError: it is damaged, or holds a class of containers that is not registered.

    Example:
        >>> import tempfile
        >>> import plugjax.numpy as jnp
        >>> from plugjax.experimental.array_serialization.pytree_serialization import load_pytreedef, save
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save([jnp.ones(2), None], folder + "/checkpoint")
        ...     load_pytreedef(folder + "/checkpoint")
        [ShapeDtypeStruct(shape=(2,), dtype=float32), None]
    """
    folder, store = _found(directory, "load_pytreedef")
    treedef, leaves = store.describe(folder)
    structs = [leaf and ShapeDtypeStruct(leaf.shape, leaf.dtype) for leaf in leaves]
    return pytree.unflatten(treedef, structs)


def _found(directory: Any, who: str) -> tuple[Path, ModuleType]:
    """The folder of a checkpoint and what reads it."""
    folder = folders.existing(_place(directory, who))
    for store in _STORES:
        if (folder / store.FILES[0]).is_file():
            return folder, store
    names = " nor ".join(store.FILES[0] for store in _STORES)
    raise FileNotFoundError(f"{who}: {folder} is no checkpoint: it holds no {names}.")


def load(
    directory: str | PathLike[str],
    shardings: Any,
    *,
    mask: Any = None,
    ts_specs: Any = None,
) -> Any:
    """Load a tree of arrays, spread as ``shardings`` say. Files are checked before arrays are made.

    Several processes call it together.

    Args:
        directory: of the checkpoint.
        shardings: a sharding, or a ``ShapeDtypeStruct`` with one, for each array; a pytree prefix of the checkpoint. The dtype of a
            ``ShapeDtypeStruct`` is that of the result.
        mask: a pytree prefix of the checkpoint with booleans: ``None`` stands for arrays that are not loaded.
        ts_specs: for tensorstore, a pytree prefix of the checkpoint.

    Raises:
        FileNotFoundError: there is no such checkpoint.
        ValueError: ``shardings`` have leaves that the checkpoint lacks, shapes differ, an array cannot be cut as a sharding says, or a
            file is damaged.
        TypeError: there is no sharding for an array.

    Differs from JAX:
        A ``ShapeDtypeStruct`` of another shape is an error.

    Example:
        >>> import tempfile
        >>> import plugjax, plugjax.numpy as jnp
        >>> from plugjax.experimental.array_serialization.pytree_serialization import load, save
        >>> where = plugjax.sharding.SingleDeviceSharding(plugjax.devices()[0])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save({"w": jnp.ones(2), "b": jnp.ones(())}, folder + "/checkpoint")
        ...     load(folder + "/checkpoint", where, mask={"w": False, "b": True})
        {'b': Array(1., dtype=float32), 'w': None}
    """
    folder, store = _found(directory, "load")
    treedef, leaves = store.describe(folder)
    targets = _for_each_leaf("load: shardings", shardings, treedef, _is_none)
    masks = _for_each_leaf("load: mask", True if mask is None else mask, treedef, None)
    specs = _for_each_leaf("load: ts_specs", ts_specs, treedef, is_tensorstore_spec_leaf)
    wanted = [
        i for i, (leaf, asked) in enumerate(zip(leaves, masks, strict=True)) if asked and leaf
    ]
    plans = [_plan(leaves[i], targets[i]) for i in wanted]
    blocks = [own for _, _, own in plans]
    chosen = [leaf for i in wanted if (leaf := leaves[i]) is not None]
    readers = store.readers(folder, chosen, blocks, [specs[i] for i in wanted])
    arrays: dict[int, Any] = {}
    for i, leaf, (sharding, dtype, _), read in zip(wanted, chosen, plans, readers, strict=True):
        if dtype != leaf.dtype:
            read = functools.partial(_converted, read, npy_parts.stored_dtype(dtype))
        arrays[i] = array_of_stored_values(ShapedArray(leaf.shape, dtype), sharding, read)
    return pytree.unflatten(treedef, [arrays.get(i) for i in range(len(leaves))])


def _converted(read: Any, dtype: Any, index: Any) -> Any:
    return read(index).astype(dtype)


def _plan(leaf: Leaf | None, target: Any) -> tuple[Sharding, Any, list[tuple[slice, ...]]]:
    """How a leaf is loaded: its sharding, dtype, and the blocks that this process needs."""
    if leaf is None:
        raise TypeError("a leaf that is None is not loaded")
    dtype = dtypes.canonicalize(leaf.dtype) if not dtypes.is_extended(leaf.dtype) else leaf.dtype
    sharding = target
    if isinstance(target, ShapeDtypeStruct):
        sharding = target.sharding
        if tuple(target.shape) != leaf.shape:
            raise ValueError(
                f"load: leaf {leaf.path} has shape {leaf.shape} in the checkpoint, and {target} is wanted. Give its own shape."
            )
        if dtypes.is_extended(target.dtype) != dtypes.is_extended(leaf.dtype):
            raise ValueError(
                f"load: leaf {leaf.path} has dtype {leaf.dtype} in the checkpoint, and {target} is wanted: keys are no numbers."
            )
        dtype = target.dtype
    if isinstance(sharding, Format):
        sharding = sharding.sharding
    if not isinstance(sharding, Sharding):
        raise TypeError(
            "load: sharding passed to deserialization should be specified, concrete and an instance of `jax.sharding.Sharding`. Got "
            f"{target!r} for leaf {leaf.path}."
        )
    try:
        check_compatible_aval(sharding, leaf.shape)
    except ValueError as error:
        raise type(error)(f"load: leaf {leaf.path}: {error}") from None
    here = sharding.addressable_devices
    indices = block_indices(sharding, leaf.shape)
    own = [i for d, i in zip(sharding.devices, indices, strict=True) if d in here]
    return sharding, dtype, own


def nonblocking_save(
    data: Any,
    directory: str | PathLike[str],
    *,
    overwrite: bool = True,
    ts_specs: Any = None,
) -> PyTreeFuture:
    """:func:`save` in another thread. Arrays must not be donated before it is done.

    Returns:
        A future, whose ``pytree`` has a ``ShapeDtypeStruct`` in place of each array.

    Example:
        >>> import tempfile
        >>> import plugjax.numpy as jnp
        >>> from plugjax.experimental.array_serialization.pytree_serialization import nonblocking_save
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     future = nonblocking_save({"w": jnp.ones(2)}, folder + "/checkpoint")
        ...     future.result()
        >>> future.pytree
        {'w': ShapeDtypeStruct(shape=(2,), dtype=float32)}
    """
    agreement = Agreement("save", str(_place(directory, "nonblocking_save")))
    future = PyTreeFuture(_threads.submit(_save, data, directory, overwrite, ts_specs, agreement))
    future.pytree = pytree.tree_map(
        lambda x: ShapeDtypeStruct(x.shape, x.dtype) if isinstance(x, (Array, np.ndarray)) else x,
        data,
    )
    return future


def nonblocking_load(
    directory: str | PathLike[str],
    shardings: Any,
    *,
    mask: Any = None,
    ts_specs: Any = None,
) -> PyTreeFuture:
    """:func:`load` in another thread.

    Returns:
        A future of the tree, whose ``pytree`` has a ``ShapeDtypeStruct`` in place of each array.

    Example:
        >>> import tempfile
        >>> import plugjax, plugjax.numpy as jnp
        >>> from plugjax.experimental.array_serialization.pytree_serialization import nonblocking_load, save
        >>> where = plugjax.sharding.SingleDeviceSharding(plugjax.devices()[0])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save([jnp.ones(2)], folder + "/checkpoint")
        ...     nonblocking_load(folder + "/checkpoint", where).result()
        [Array([1., 1.], dtype=float32)]
    """
    whole = load_pytreedef(directory)
    future = PyTreeFuture(_threads.submit(load, directory, shardings, mask=mask, ts_specs=ts_specs))
    future.pytree = whole
    return future


__all__ = ["load", "load_pytreedef", "nonblocking_load", "nonblocking_save", "save"]
