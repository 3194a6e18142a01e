"""Targets of foreign calls: functions of native code for XLA, and functions of Python for other backends."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, NotRequired, TypedDict

from plugjax.extend import extensions

# The platform under which functions of Python are registered.
HOST = "numpy"


def nothing(*_: Any, **__: Any) -> list[Any]:
    """The function of a target without results that means something to XLA only; compiled programs do not call it."""
    return []


# By name of the target. One is XLA's own, and orders what it schedules.
host_functions: dict[str, Callable[..., Any]] = {"control_dep": nothing}


def _xla(who: str, name: str) -> Any:
    """A function of the plugin that brings XLA."""
    try:
        return extensions.attribute("ffi", "foreign functions", name)
    except AttributeError as error:
        raise RuntimeError(
            f"{who}: foreign functions are XLA's, and no plugin in force brings it: {error} pip install plugjax-xla."
        ) from None


def register_ffi_target(
    name: str, fn: Any, platform: str = "cpu", api_version: int = 1, **kwargs: Any
) -> None:
    """Make a foreign function known to XLA under a name.

    Args:
        name: of the target, unique in the process.
        fn: a ``PyCapsule`` with a pointer to the handler (:func:`pycapsule`), or a dict of them by stage: ``"instantiate"``,
            ``"prepare"``, ``"initialize"``, ``"execute"``.
        platform: the hardware: ``"cpu"``, ``"CUDA"``, ``"ROCM"``; or ``"numpy"``.
        api_version: 1 for XLA's typed interface, 0 for the older one.
        **kwargs: further arguments of jaxlib's function.

    Raises:
        ValueError: another function has the name, on the platform ``"numpy"``.
        RuntimeError: XLA is not installed.

    Differs from JAX:
        On the platform ``"numpy"`` ``fn`` is a Python function ``(*arrays, **attributes) -> array or sequence of arrays``. Backends other
        than XLA call it.

    Example:
        >>> import numpy as np, plugjax
        >>> plugjax.ffi.register_ffi_target("doc_square", np.square, platform="numpy")
        >>> square = plugjax.ffi.ffi_call("doc_square", plugjax.ShapeDtypeStruct((2,), "float32"))
        >>> with plugjax.default_device("numpy"):
        ...     square(np.float32([2, 3]))
        Array([4., 9.], dtype=float32)
    """
    if platform != HOST:
        _xla("register_ffi_target", "register_target")(name, fn, platform, api_version, **kwargs)
        return
    if not callable(fn):
        raise TypeError(
            f"register_ffi_target: on platform {HOST!r} fn is a function of NumPy arrays, got {fn!r}."
        )
    if host_functions.setdefault(name, fn) is not fn:
        raise ValueError(
            f"register_ffi_target: {name!r} is registered for {HOST!r} with another function, {host_functions[name]!r}."
        )


class TypeRegistration(TypedDict):
    """A type of state that foreign functions keep.

    Attributes:
        type_id: a ``PyCapsule`` with a pointer to ``XLA_FFI_TypeId``.
        type_info: a ``PyCapsule`` with a pointer to ``XLA_FFI_TypeInfo``.
    """

    type_id: Any
    type_info: NotRequired[Any]


def register_ffi_type_id(name: str, obj: Any, platform: str = "cpu") -> None:
    """Refused: XLA asks for more than the number of a type since jaxlib 0.8; see :func:`register_ffi_type`.

    Raises:
        ValueError: always, as in JAX 0.10.2.

    Example:
        >>> import plugjax
        >>> plugjax.ffi.register_ffi_type_id("state", None)
        Traceback (most recent call last):
        ValueError: register_ffi_type_id is not supported ...
    """
    del obj, platform
    raise ValueError(
        f"register_ffi_type_id is not supported by this jaxlib. Use register_ffi_type({name!r}, {{'type_id': ...}})."
    )


def register_ffi_type(
    name: str, type_registration: TypeRegistration, platform: str = "cpu"
) -> None:
    """Make a type of state known to XLA, which handlers keep between their stages.

    Args:
        name: of the type, unique in the process.
        type_registration: ``PyCapsule`` objects with pointers to the type's number and its functions.
        platform: the hardware.

    Raises:
        RuntimeError: XLA is not installed, or refuses the type.

    Example:
        >>> import plugjax
        >>> try:
        ...     plugjax.ffi.register_ffi_type("state", {"type_id": "not a capsule"})
        ... except RuntimeError as error:
        ...     print(error)
        INVALID_ARGUMENT: Custom type registration requires handlers as PyCapsules
    """
    _xla("register_ffi_type", "register_type")(name, type_registration, platform)


def register_ffi_target_as_batch_partitionable(name: str) -> None:
    """Tell XLA that a target treats its leading axes as batches, so that they may be split over devices.

    Raises:
        RuntimeError: XLA is not installed.

    Example:
        >>> import plugjax
        >>> print(plugjax.ffi.register_ffi_target_as_batch_partitionable("doc_rows"))
        None
    """
    _xla("register_ffi_target_as_batch_partitionable", "register_batch_partitionable")(name)


def pycapsule(funcptr: Any) -> Any:
    """A pointer to a function of a ``ctypes`` library as a ``PyCapsule``, for :func:`register_ffi_target`.

    Example:
        >>> import ctypes, plugjax
        >>> type(plugjax.ffi.pycapsule(ctypes.pythonapi.Py_IncRef)).__name__
        'PyCapsule'
    """
    new = ctypes.pythonapi.PyCapsule_New
    new.restype = ctypes.py_object
    destructor = ctypes.CFUNCTYPE(None, ctypes.py_object)
    new.argtypes = (ctypes.c_void_p, ctypes.c_char_p, destructor)
    return new(funcptr, None, destructor(0))


def include_dir() -> str:
    """The folder with the headers of XLA's interface for foreign functions, for ``-I`` of a C++ compiler.

    Raises:
        RuntimeError: XLA is not installed.

    Example:
        >>> import os, plugjax
        >>> os.path.exists(os.path.join(plugjax.ffi.include_dir(), "xla/ffi/api/ffi.h"))
        True
    """
    return str(_xla("include_dir", "include_dir")())
