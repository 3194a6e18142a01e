"""Products and quotients by zero on Vulkan devices: the driver does not know that it is zero.

Mesa's software device takes ``x * 0``, ``x / 0`` and ``0 / x`` for 0, also of nan, and ``x + 0`` for ``x``, where it knows that a number is zero: it is a
constant, or a loop that begins with it is unrolled. So what is not computed from memory is combined with ``(n * (n + 1)) & 1``, which is zero;
``n`` is the bits of the other operand.
"""

import re

from plugjax_iree.mlir import (
    Builder,
    Mlir,
    defining_op,
    in_all,
    is_for_vulkan,
    name_of,
    named,
    operands,
    printed,
    written_type,
)
from plugjax_iree.mlir.spirv import (
    CODE,
    DIFFERENCE,
    PRODUCT,
    PRODUCT_AND_SUM,
    QUOTIENT,
    REMAINDER,
    SUM,
    has_floats,
    integers_like,
    require_integers,
)

_CONSTANT, _LOAD, _BUFFER = b"spirv.Constant", b"spirv.Load", "StorageBuffer"
# Operations that multiply or divide their first operands, and those that add them, of which only constants are hidden.
_FACTORS, _TERMS = (PRODUCT, PRODUCT_AND_SUM, QUOTIENT, REMAINDER), (SUM, DIFFERENCE)
_NOT_ZERO = re.compile(r"-?(?!0\.0+e)\d\.\d+e[+-]\d+ : f\d+")


def apply(mlir: Mlir, module: int) -> int:
    """Hide zeros in kernels for a Vulkan device; returns the number of operands."""
    if not is_for_vulkan(mlir, module):
        return 0
    return sum(_hide_all(mlir, code) for code in list(named(mlir, module, CODE)))


def _hide_all(mlir: Mlir, code: int) -> int:
    """Hide the zeros of a kernel; returns the number of operands."""
    loaded = _from_memory(mlir, code)
    found = [
        (operation, index)
        for operation in in_all(mlir, code)
        for index in (0, 1)
        if _is_to_hide(mlir, operation, index, loaded)
    ]
    for operation, index in found:
        _hide(mlir, code, operation, index)
    return len(found)


def _from_memory(mlir: Mlir, code: int) -> set[int]:
    """The values in a kernel that are computed from the buffers of the program, but for what loops carry."""
    found: set[int] = set()
    for operation in in_all(mlir, code):
        read = operands(mlir, operation)
        if name_of(mlir, operation) == _LOAD:
            is_found = _BUFFER in written_type(mlir, mlir.type_of(read[0]))
        else:
            is_found = not found.isdisjoint(read)
        if is_found:
            found.update(mlir.result(operation, i) for i in range(mlir.result_count(operation)))
    return found


def _is_to_hide(mlir: Mlir, operation: int, index: int, loaded: set[int]) -> bool:
    """Whether the driver may know that an operand is zero, and computes otherwise then."""
    name = name_of(mlir, operation)
    if name not in _FACTORS + _TERMS:
        return False
    value, other = mlir.operand(operation, index), mlir.operand(operation, 1 - index)
    if _constant(mlir, other) or not has_floats(mlir, value):
        return False
    if written := _constant(mlir, value):
        return not _NOT_ZERO.fullmatch(written)
    return name in _FACTORS and value not in loaded


def _constant(mlir: Mlir, value: int) -> str:
    """A constant as MLIR writes it; empty if the value is none."""
    origin = defining_op(mlir, value)
    if origin is None or name_of(mlir, origin) != _CONSTANT:
        return ""
    return printed(mlir, origin, b"value")


def _hide(mlir: Mlir, code: int, operation: int, index: int) -> None:
    """Combine an operand of an operation with a zero that is computed from the other."""
    value, other = mlir.operand(operation, index), mlir.operand(operation, 1 - index)
    written, bits = integers_like(mlir, value)
    require_integers(mlir, code, bits)
    builder = Builder(mlir, operation)
    integers, number = builder.type(written), mlir.type_of(value)

    def computed(name: bytes, *values: int, kind: int = integers) -> int:
        return builder.before(name, [kind], values)

    text = f"dense<1> : {written}" if written.startswith("vector") else f"1 : {written}"
    one = builder.before(_CONSTANT, [integers], [], {b"value": text})
    n = computed(b"spirv.Bitcast", other)
    product = computed(b"spirv.IMul", n, computed(b"spirv.IAdd", n, one))
    zero = computed(b"spirv.BitwiseAnd", product, one)
    hidden = computed(b"spirv.BitwiseXor", computed(b"spirv.Bitcast", value), zero)
    mlir.set_operand(operation, index, computed(b"spirv.Bitcast", hidden, kind=number))
