"""Parameters outside of the program: archives (``.irpa``) that compiled modules read by scope and key.

A module that declares ``util.global private @w = #flow.parameter.named<"model"::"w"> :
tensor<...>`` finds the entry ``w`` of the scope ``model``. The same file serves ``iree-run-module
--parameters=model=FILE`` and the C runtime. Each entry carries its dtype and shape as metadata,
which the runtime ignores and `read_archive` uses.
"""

import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from plugjax_iree import native
from plugjax_iree.runtime.buffers import DTYPES
from plugjax_iree.runtime.device import vm_instance

if TYPE_CHECKING:
    from iree.runtime import ParameterIndex, VmModule

_DTYPES_BY_NAME = {dtype.name: dtype for dtype in DTYPES}


def write_archive(path: str | os.PathLike[str], parameters: Mapping[str, np.ndarray]) -> None:
    """Write an archive, replacing `path` at once or not at all.

    Raises:
        TypeError: a dtype that no buffer can have.
    """
    index = native.runtime().ParameterIndex()
    for key, value in parameters.items():
        _add(index, key, np.asarray(value))
    unfinished = f"{os.fspath(path)}.{os.getpid()}.tmp"
    try:
        index.create_archive_file(unfinished)
        os.replace(unfinished, path)
    finally:
        if os.path.exists(unfinished):
            os.remove(unfinished)


def _add(index: "ParameterIndex", key: str, array: np.ndarray) -> None:
    if array.dtype not in DTYPES:
        raise TypeError(f"write_archive: parameter {key!r} has dtype {array.dtype.name}.")
    about = json.dumps({"dtype": array.dtype.name, "shape": array.shape})
    index.add_buffer(key, np.asarray(array, order="C"), metadata=about)


def read_archive(path: str | os.PathLike[str]) -> dict[str, np.ndarray]:
    """The arrays of an archive that `write_archive` wrote: read-only views of the mapped file."""
    arrays = {}
    for key, entry in _open(path).items():
        about = json.loads(entry.metadata)
        dtype, shape = _DTYPES_BY_NAME[about["dtype"]], tuple(about["shape"])
        array: np.ndarray = np.ndarray(shape, dtype, entry.file_view)
        array.setflags(write=False)
        arrays[key] = array
    return arrays


def load_parameters(scopes: Mapping[str, str | os.PathLike[str]]) -> "VmModule":
    """A module that serves one archive per scope; goes to `RuntimeDevice.load` as parameters.

    A module that reads a scope or a key that is missing fails to load, with its name.

    Args:
        scopes: archive file by scope.
    """
    providers = [_open(path).create_provider(scope=scope) for scope, path in scopes.items()]
    module: VmModule = native.runtime().create_io_parameters_module(vm_instance(), *providers)
    return module


def _open(path: str | os.PathLike[str]) -> Any:
    index = native.runtime().ParameterIndex()
    index.load(os.fspath(path))
    return index
