"""Parts that are set to one number, the later one just before the earlier one: ``x.at[2].set(0).at[1].set(0)``.

IREE 3.13 makes one fill of two such fills, and computes the place of the first one's from that of the second one's wrongly: "start > end", or "start + length != end". Where the later part
comes behind the earlier one it is right. So an update with the number of the one before, at a place before that, reads it from behind a barrier, and is a copy.
"""

from collections.abc import Sequence

from plugjax_iree.mlir import UTIL_BARRIER, Mlir, insert_operand_barrier, name_of, named, printed
from plugjax_iree.mlir.products import sources

_UPDATE, _CONSTANT = b"flow.tensor.update", b"arith.constant"
_VIEWS = (b"flow.tensor.reshape", b"flow.tensor.clone")


def apply(mlir: Mlir, module: int) -> int:
    """Insert barriers; returns their number."""
    found = [o for o in named(mlir, module, _UPDATE) if _is_before(mlir, o)]
    for operation in found:
        insert_operand_barrier(mlir, operation, _value(mlir, operation), UTIL_BARRIER)
    return len(found)


def _is_before(mlir: Mlir, update: int) -> bool:
    """Whether an update may be joined with the one of its target, and is at a place before it."""
    number, place = _number(mlir, update), _place(mlir, update)
    return bool(number) and any(
        name_of(mlir, target) == _UPDATE
        and _number(mlir, target) == number
        and _is_smaller(place, _place(mlir, target))
        for target in sources(mlir, mlir.operand(update, 0), _VIEWS)
    )


def _is_smaller(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether a place, as constants, is before another one; a size that is not known may be anything."""
    return all(one) and all(other) and list(map(int, one)) < list(map(int, other))


def _value(mlir: Mlir, update: int) -> int:
    """The position of the operand with what is written."""
    return mlir.operand_count(update) - 1


def _place(mlir: Mlir, update: int) -> list[str]:
    """Where an update begins, along each axis; empty where it is not a constant."""
    return [
        _constant(mlir, mlir.operand(update, i)).split(" : ")[0]
        for i in range(1, _value(mlir, update))
    ]


def _number(mlir: Mlir, update: int) -> str:
    """The number that is written to all elements; empty if there is none."""
    text = _constant(mlir, mlir.operand(update, _value(mlir, update)))
    head, _, kind = text.partition(" : ")
    return "" if "[" in head else f"{head} {kind.rpartition('x')[2].removeprefix('tensor<')}"


def _constant(mlir: Mlir, value: int) -> str:
    """A constant as MLIR writes it, through views; empty for other values."""
    for origin in sources(mlir, value, _VIEWS):
        if name_of(mlir, origin) == _CONSTANT:
            return printed(mlir, origin, b"value")
    return ""
