"""Kernels for Vulkan devices, once IREE has translated them to SPIR-V."""

import re

from plugjax_iree.mlir.interface import Mlir
from plugjax_iree.mlir.reading import name_of, printed, written_type
from plugjax_iree.mlir.rewriting import set_parsed_attribute

CODE = b"spirv.module"
PRODUCT, QUOTIENT, REMAINDER = b"spirv.FMul", b"spirv.FDiv", b"spirv.FRem"
SUM, DIFFERENCE = b"spirv.FAdd", b"spirv.FSub"
PRODUCT_AND_SUM = b"spirv.GL.Fma"

_ARITHMETIC = (PRODUCT, QUOTIENT, REMAINDER, SUM, DIFFERENCE, b"spirv.FNegate")
# Functions of numbers: the extended instructions of GLSL.
_FUNCTIONS = b"spirv.GL."
_FLOATS = re.compile(r"(?P<vector>vector<\d+x)?f(?P<bits>16|32|64)>?")
# What a kernel requires of a device, and what integers do.
_REQUIRED = re.compile(r"(?P<before>#spirv\.vce<[^\[]*\[)(?P<capabilities>[^\]]*)(?P<after>\].*)")
_CAPABILITIES = {16: "Int16", 64: "Int64"}


def has_floats(mlir: Mlir, value: int) -> bool:
    """Whether a value is a float or a vector of floats, and no matrix that several threads hold."""
    return bool(_FLOATS.fullmatch(written_type(mlir, mlir.type_of(value))))


def integers_like(mlir: Mlir, value: int) -> tuple[str, int]:
    """The type of integers for the bits of a float, or of a vector of floats, as MLIR writes it, and their number of bits."""
    found = _FLOATS.fullmatch(written_type(mlir, mlir.type_of(value)))
    assert found is not None
    vector, bits = found["vector"], found["bits"]
    return f"{vector}i{bits}>" if vector else f"i{bits}", int(bits)


def is_arithmetic(mlir: Mlir, operation: int) -> bool:
    """Whether an operation computes floats from floats."""
    name = name_of(mlir, operation)
    if not name.startswith(_FUNCTIONS):
        return name in _ARITHMETIC
    return has_floats(mlir, mlir.result(operation, 0))


def require_integers(mlir: Mlir, code: int, bits: int) -> None:
    """Say that a kernel computes with integers of some bits."""
    found = _REQUIRED.fullmatch(printed(mlir, code, b"vce_triple"))
    assert found is not None
    capability, known = _CAPABILITIES.get(bits), found["capabilities"].split(", ")
    if capability is not None and capability not in known:
        required = f"{found['before']}{', '.join([*known, capability])}{found['after']}"
        set_parsed_attribute(mlir, code, b"vce_triple", required)
