"""Threads of kernels for Vulkan devices that compute what others compute.

IREE 3.13 starts a thread for each number of a tile, and where a kernel is not divided along an axis, the threads along it all do the same. Those
of a Fourier transform, a convolution or a product read what they have written, so one that is late adds to what another has added. Kernels
are started with as many threads along an axis as they tell apart.
"""

import re

from plugjax_iree.mlir import (
    Mlir,
    in_all,
    is_for_vulkan,
    name_of,
    named,
    printed,
    set_parsed_attribute,
    users,
)
from plugjax_iree.mlir.spirv import CODE

_MODE, _EXTRACT = b"spirv.ExecutionMode", b"spirv.CompositeExtract"
_VARIABLE, _ADDRESS = b"spirv.GlobalVariable", b"spirv.mlir.addressof"
_BUILT_IN, _THREAD = b"built_in", "LocalInvocationId"
_GROUPS = ("WorkgroupId", "NumWorkgroups")
# Operations that threads do together.
_TOGETHER = (b"spirv.Group", b"spirv.KHR", b"spirv.INTEL")
_AXIS = re.compile(r"\[(\d) : i32\]")
_NUMBER = re.compile(r"\d+(?= : i32)")


def apply(mlir: Mlir, module: int) -> int:
    """Start fewer threads; returns the number of kernels."""
    if not is_for_vulkan(mlir, module):
        return 0
    return sum(_start_fewer(mlir, code) for code in named(mlir, module, CODE))


def _start_fewer(mlir: Mlir, code: int) -> bool:
    """Start one thread along each axis along which a kernel does not tell them apart; whether there is one with more."""
    told = _told_apart(mlir, code)
    if told is None:
        return False
    changed = False
    for mode in named(mlir, code, _MODE):
        counts = [int(n) for n in _NUMBER.findall(printed(mlir, mode, b"values"))]
        if "<LocalSize>" not in printed(mlir, mode, b"execution_mode"):
            continue
        fewer = [n if axis in told else 1 for axis, n in enumerate(counts)]
        if fewer != counts:
            text = ", ".join(f"{n} : i32" for n in fewer)
            set_parsed_attribute(mlir, mode, b"values", f"[{text}]")
            changed = True
    return changed


def _told_apart(mlir: Mlir, code: int) -> set[int] | None:
    """The axes along which a kernel reads the number of a thread; ``None`` if it tells threads apart in another way."""
    threads = ""
    for variable in named(mlir, code, _VARIABLE):
        built_in = printed(mlir, variable, _BUILT_IN).strip('"')
        if built_in == _THREAD:
            threads = printed(mlir, variable, b"sym_name").strip('"')
        elif built_in and built_in not in _GROUPS:
            return None
    found: set[int] = set()
    for operation in in_all(mlir, code):
        name = name_of(mlir, operation)
        if name.startswith(_TOGETHER):
            return None
        if name != _ADDRESS or printed(mlir, operation, b"variable") != f"@{threads}":
            continue
        for load in users(mlir, mlir.result(operation, 0)):
            for user in users(mlir, mlir.result(load, 0)):
                axis = _AXIS.fullmatch(printed(mlir, user, b"indices"))
                if name_of(mlir, user) != _EXTRACT or axis is None:
                    return None
                found.add(int(axis[1]))
    return found
