"""The inspection functions of the array API standard."""

from __future__ import annotations

from typing import Any

import numpy as np

from plugjax.extend import dtypes, registry
from plugjax.extend.backend import default_device, devices
from plugjax.extend.core import Device
from plugjax.extend.dtypes import DType
from plugjax.extend.errors import UnknownBackendError

__all__ = ["__array_namespace_info__"]

_KINDS = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
    "real floating": ("float32", "float64"),
    "complex floating": ("complex64", "complex128"),
}
_KINDS["integral"] = _KINDS["signed integer"] + _KINDS["unsigned integer"]
_KINDS["numeric"] = _KINDS["integral"] + _KINDS["real floating"] + _KINDS["complex floating"]


class __array_namespace_info__:  # The standard's name.
    """The standard's inspection functions.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.__array_namespace_info__().default_dtypes()["integral"]
        dtype('int32')
    """

    def capabilities(self) -> dict[str, Any]:
        """Properties that the standard leaves open.

        Shapes that depend on values, those of bool masks as indices among them, exist outside of transformations only;
        compiled programs cannot use them.
        """
        return {"boolean indexing": False, "data-dependent shapes": False, "max dimensions": 64}

    def default_device(self) -> Device:
        """The device of new arrays."""
        return default_device()

    def default_dtypes(self, *, device: Any = None) -> dict[str, DType]:
        """Dtypes of new arrays, by kind.

        Args:
            device: accepted as in the standard; all devices have the same dtypes.
        """
        return {
            "real floating": dtypes.canonicalize(float),
            "complex floating": dtypes.canonicalize(complex),
            "integral": dtypes.canonicalize(int),
            "indexing": dtypes.canonicalize(int),
        }

    def dtypes(
        self, *, device: Any = None, kind: str | tuple[str, ...] | None = None
    ) -> dict[str, DType]:
        """Dtypes of the standard by name; without ``enable_x64``, those of at most 32 bits a number.

        Args:
            device: accepted as in the standard.
            kind: a kind, or several.

        Raises:
            ValueError: an unknown kind.
        """
        kinds = ("bool", "numeric") if kind is None else (kind,) if isinstance(kind, str) else kind
        unknown = [k for k in kinds if k not in _KINDS]
        if unknown:
            raise ValueError(
                f"unrecognized kind: {unknown[0]!r}. Kinds: {', '.join(map(repr, _KINDS))}"
            )
        found = {name: np.dtype(name) for k in kinds for name in _KINDS[k]}
        return {name: d for name, d in found.items() if dtypes.canonicalize(d) == d}

    def devices(self) -> list[Device]:
        """Devices of all backends that can be loaded."""
        found: list[Device] = []
        for name in registry.active().backends():
            try:
                found.extend(devices(name))
            except UnknownBackendError:
                continue
        return found
