"""Softmax along rows.

IREE 3.13 takes it for one operation, which it divides into reductions when it translates the kernel. Divided before, they are reduced in lanes by
`plugjax_iree.workarounds.row_reductions`.
"""

from plugjax_iree.mlir import Mlir, printed, shape_of
from plugjax_iree.mlir.generics import PARALLEL, REDUCTION, Loops, Writer
from plugjax_iree.mlir.kernels import in_kernels

_SOFTMAX = b"linalg.softmax"
# Minus infinity, of a float of so many bits.
_LOWEST = {32: "0xFF800000", 64: "0xFFF0000000000000"}


def apply(mlir: Mlir, module: int) -> int:
    """Divide them; returns their number."""
    kernels = in_kernels(mlir, module, _SOFTMAX)
    found = [softmax for kernel in kernels for softmax in kernel if _is_of_rows(mlir, softmax)]
    for softmax in found:
        _divide(mlir, softmax)
    return len(found)


def _is_of_rows(mlir: Mlir, softmax: int) -> bool:
    x = mlir.operand(softmax, 0)
    shape, element = shape_of(mlir, x), mlir.element_type(mlir.type_of(x))
    along = printed(mlir, softmax, b"dimension").split()[0]
    in_rows = along == str(len(shape) - 1) and all(size > 0 for size in shape)
    return in_rows and mlir.float_bits(element) in _LOWEST


def _divide(mlir: Mlir, softmax: int) -> None:
    """exp(x - max(x)) / sum(exp(x - max(x)))."""
    writer = Writer(mlir, softmax)
    x, into = mlir.operand(softmax, 0), mlir.operand(softmax, 1)
    shape = shape_of(mlir, x)
    element = mlir.element_type(mlir.type_of(x))
    each = tuple(range(len(shape)))
    rows = each[:-1]
    kinds = (*[PARALLEL] * len(rows), REDUCTION)

    def start(value: str) -> int:
        return writer.filled(shape[:-1], writer.number(value, element))

    def block(count: int) -> tuple[int, list[int]]:
        writer.into = writer.block([element] * count)
        return writer.into, writer.arguments(writer.into, count)

    def of(name: bytes, *values: int) -> int:
        return writer.append(name, [element], values)[0]

    body, (a, total) = block(2)
    writer.append(b"linalg.yield", [], [of(b"arith.maximumf", total, a)])
    lowest = start(_LOWEST[mlir.float_bits(element)])
    largest = writer.generic(Loops(kinds, (each, rows)), [x], lowest, body)
    body, (a, b, total) = block(3)
    power = of(b"math.exp", of(b"arith.subf", a, b))
    writer.append(b"linalg.yield", [], [of(b"arith.addf", total, power)])
    loops = Loops(kinds, (each, rows, rows))
    summed = writer.generic(loops, [x, largest], start("0.0"), body)
    body, (a, b, c, _) = block(4)
    power = of(b"math.exp", of(b"arith.subf", a, b))
    writer.append(b"linalg.yield", [], [of(b"arith.divf", power, c)])
    loops = Loops((PARALLEL,) * len(shape), (each, rows, rows, each))
    result = writer.generic(loops, [x, largest, summed], into, body)
    mlir.replace(mlir.result(softmax, 0), result)
    mlir.destroy(softmax)
