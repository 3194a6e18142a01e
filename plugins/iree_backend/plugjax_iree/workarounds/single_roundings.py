"""``x * y + z`` in one rounding, of float32.

StableHLO has no such operation, and whether LLVM makes one of two is its own decision. So lowering rules that want the bits of one compute in float64, which is
exact up to the last step. Most processors have the operation.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from plugjax_iree.mlir import (
    Mlir,
    defining_op,
    name_of,
    operands,
    printed,
    processor,
    written_type,
)
from plugjax_iree.mlir.generics import GENERIC, Writer, body_of
from plugjax_iree.mlir.kernels import in_kernels

_WIDER, _NARROWER, _CONSTANT = b"arith.extf", b"arith.truncf", b"arith.constant"
_SUM, _PRODUCT, _FUSED = b"arith.addf", b"arith.mulf", b"math.fma"


class _Narrow(NamedTuple):
    """A float32: a value, or a number."""

    value: int
    number: float | None = None


def apply(mlir: Mlir, module: int) -> int:
    """Use the operation where the processor has it; returns how often."""
    if not _has_operation(processor(mlir, module)):
        return 0
    kernels = in_kernels(mlir, module, GENERIC)
    roundings = [o for found in kernels for g in found for o in _roundings(mlir, g)]
    return sum(_fuse(mlir, rounding) for rounding in roundings)


def _has_operation(described: str) -> bool:
    return "+fma," in described or "aarch64" in described


def _roundings(mlir: Mlir, operation: int) -> Iterator[int]:
    for inner in body_of(mlir, operation)[1]:
        if name_of(mlir, inner) == _NARROWER:
            kinds = [mlir.type_of(mlir.operand(inner, 0)), mlir.type_of(mlir.result(inner, 0))]
            if [written_type(mlir, kind) for kind in kinds] == ["f64", "f32"]:
                yield inner


def _fuse(mlir: Mlir, rounding: int) -> bool:
    total = _made_by(mlir, mlir.operand(rounding, 0), _SUM)
    if total is None:
        return False
    for product, other in (operands(mlir, total), reversed(operands(mlir, total))):
        factors = _made_by(mlir, product, _PRODUCT)
        if factors is None:
            continue
        parts = [_narrow(mlir, v) for v in (*operands(mlir, factors), other)]
        if None in parts:
            continue
        writer = Writer(mlir, rounding)
        kind = mlir.type_of(mlir.result(rounding, 0))
        values = [
            part.value if part.number is None else writer.number(_bits(part.number), kind)
            for part in parts
            if part is not None
        ]
        fused = writer.put(writer.operation(_FUSED, [kind], values, {}))
        mlir.replace(mlir.result(rounding, 0), fused)
        return True
    return False


def _made_by(mlir: Mlir, value: int, name: bytes) -> int | None:
    origin = defining_op(mlir, value)
    return origin if origin is not None and name_of(mlir, origin) == name else None


def _narrow(mlir: Mlir, value: int) -> _Narrow | None:
    """What a float64 is in float32, if it is one."""
    wider = _made_by(mlir, value, _WIDER)
    if wider is not None:
        narrow = mlir.operand(wider, 0)
        return _Narrow(narrow) if written_type(mlir, mlir.type_of(narrow)) == "f32" else None
    constant = _made_by(mlir, value, _CONSTANT)
    if constant is None:
        return None
    written = printed(mlir, constant, b"value").split(" ")[0]
    if written.startswith("0x"):
        number = float(np.uint64(int(written, 16)).view(np.float64))
    else:
        number = float(written)
    return _Narrow(value, number) if float(np.float32(number)) == number else None


def _bits(number: float) -> str:
    return f"0x{np.float32(number).view(np.uint32):08X}"
