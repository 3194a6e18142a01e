"""Scalar functions of reductions: the operation in them that adds, or chooses."""

from plugjax_iree.mlir.generics import Writer, body_of
from plugjax_iree.mlir.interface import Mlir
from plugjax_iree.mlir.reading import defining_op, name_of, operands, users

# What sums begin with.
SUMS = {b"arith.addf": "0.0", b"arith.addi": "0"}
_PRODUCT = b"arith.mulf"
# They give the same with what they begin with once or more often.
_IDEMPOTENT = tuple(
    f"arith.{name}".encode()
    for name in [
        "maximumf",
        "minimumf",
        "maxnumf",
        "minnumf",
        "maxsi",
        "minsi",
        "maxui",
        "minui",
        "andi",
        "ori",
    ]
)


def combiner_of(mlir: Mlir, operation: int) -> int | None:
    """The operation that adds, or chooses, at the end of the scalar function; ``None`` if that does something else."""
    if mlir.result_count(operation) != 1:
        return None
    arguments, body = body_of(mlir, operation)
    if any(name_of(mlir, o) == b"linalg.index" for o in body):
        return None
    combiner = defining_op(mlir, operands(mlir, body[-1])[0])
    if combiner is None or name_of(mlir, combiner) not in (*SUMS, *_IDEMPOTENT):
        return None
    total = arguments[-1]
    used = users(mlir, total)
    return combiner if used == [combiner] else None


def is_product(mlir: Mlir, value: int) -> bool:
    """Whether a number is a product."""
    origin = defining_op(mlir, value)
    return origin is not None and name_of(mlir, origin) == _PRODUCT


def with_zero(mlir: Mlir, writer: Writer, operation: int, combiner: int) -> int:
    """The scalar function of an operation, which adds a zero to a product that is added, as a block."""
    arguments, body = body_of(mlir, operation)
    block = writer.block([mlir.type_of(a) for a in arguments])
    writer.into = block
    known = dict(zip(arguments, writer.arguments(block, len(arguments)), strict=True))
    last = body.index(combiner)
    writer.copy(body[:last], known)
    if name_of(mlir, combiner) == b"arith.addf":
        for value in operands(mlir, combiner):
            if is_product(mlir, value):
                kind = mlir.type_of(value)
                zero = writer.constant("0.0", kind)
                (known[value],) = writer.append(b"arith.addf", [kind], [known[value], zero])
    writer.copy(body[last:], known)
    return block
