"""Device memory that the host sees, as NumPy arrays, also in dtypes that NumPy does not define.

Python's buffer protocol cannot describe bfloat16 and its like, so the address comes from a dlpack capsule. The capsule
also keeps XLA from reusing the memory: with a bare pointer, a donated buffer could be overwritten under a live view.
"""

import ctypes
import math
from typing import Any

import ml_dtypes
import numpy as np

HostArray = np.ndarray[Any, Any]

# XLA packs these, the first element in the lowest bits; NumPy uses one byte each.
PACKED_BITS = {
    np.dtype(scalar): bits
    for scalar, bits in (
        (ml_dtypes.int4, 4),
        (ml_dtypes.uint4, 4),
        (ml_dtypes.float4_e2m1fn, 4),
        (ml_dtypes.int2, 2),
        (ml_dtypes.uint2, 2),
    )
}

# Offsets in DLTensor and DLManagedTensorVersioned, from dlpack.h, on 64-bit machines.
_BYTE_OFFSET_FIELD = 40
_VERSIONED_TENSOR = 32

_capsule_name = ctypes.pythonapi.PyCapsule_GetName
_capsule_name.restype = ctypes.c_char_p
_capsule_name.argtypes = [ctypes.py_object]
_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype = ctypes.c_void_p
_capsule_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]


class _Memory:
    """The memory of a dlpack capsule in NumPy's array interface; it keeps the capsule alive."""

    __slots__ = ("__array_interface__", "_capsule")

    def __init__(self, capsule: Any, size: int) -> None:
        self._capsule = capsule
        self.__array_interface__ = {
            "version": 3,
            "shape": (size,),
            "typestr": "|u1",
            "data": (_address(capsule), True),
        }


def viewed(capsule: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> HostArray:
    """A read-only view of the contiguous tensor in a dlpack capsule."""
    count = math.prod(shape)
    memory = np.asarray(_Memory(capsule, count * dtype.itemsize))
    return memory.view(dtype).reshape(shape)


def unpacked(address: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> HostArray:
    """A read-only copy of packed elements, one byte each."""
    bits = PACKED_BITS[dtype]
    count = math.prod(shape)
    packed = np.frombuffer(ctypes.string_at(address, -(-count * bits // 8)), np.uint8)
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    values = (packed[:, None] >> shifts) & np.uint8((1 << bits) - 1)
    result = values.reshape(-1)[:count].view(dtype).reshape(shape)
    result.flags.writeable = False
    return result


def _address(capsule: Any) -> int:
    name = _capsule_name(capsule)
    tensor = _capsule_pointer(capsule, name)
    if name == b"dltensor_versioned":
        tensor += _VERSIONED_TENSOR
    data = ctypes.c_void_p.from_address(tensor).value or 0
    return data + ctypes.c_uint64.from_address(tensor + _BYTE_OFFSET_FIELD).value
