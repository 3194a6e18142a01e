"""Updates of what turns out to be an array of one number: ``y = abs(jnp.sum(jnp.broadcast_to(x, (0, 5, 2)), 0)) + 2; y.at[:, i].add(1), lax.cumsum(y, 1)``.

IREE 3.13 takes two arrays of as many bytes for one if it fills them with the same number, even if their shapes differ, and updates the one in
place while the other is read. The update gets a copy. What is such an array from the beginning is copied by `updated_values`.
"""

from collections.abc import Callable

from plugjax_iree.mlir import Mlir, name_of, named
from plugjax_iree.mlir.generics import FILL, GENERIC, VIEWS, Writer
from plugjax_iree.mlir.products import sources

_CLONE = b"flow.tensor.clone"


def apply(mlir: Mlir, module: int) -> int:
    """Copy arrays before they are updated; returns their number."""
    return copy_before_updates(mlir, module, _is_filled)


def copy_before_updates(mlir: Mlir, module: int, is_concerned: Callable[[Mlir, int], bool]) -> int:
    """Copy what is cloned for an update and comes, through views, from such an operation; returns the number of copies."""
    found = [
        clone
        for clone in named(mlir, module, _CLONE)
        if any(is_concerned(mlir, o) for o in sources(mlir, mlir.operand(clone, 0), VIEWS))
    ]
    for clone in found:
        mlir.set_operand(clone, 0, Writer(mlir, clone).copied(mlir.operand(clone, 0)))
    return len(found)


def _is_filled(mlir: Mlir, operation: int) -> bool:
    name = name_of(mlir, operation)
    return name == FILL or (name == GENERIC and mlir.operand_count(operation) == 1)
