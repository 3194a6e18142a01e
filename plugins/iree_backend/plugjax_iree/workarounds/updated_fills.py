"""Updates of what turns out to be an array of one number: ``y = abs(jnp.sum(jnp.broadcast_to(x, (0, 5, 2)), 0)) + 2; y.at[:, i].add(1), lax.cumsum(y, 1)``.

IREE 3.13 takes two arrays of as many bytes for one if it fills them with the same number, even if their shapes differ, and updates the one in
place while the other is read. The update gets a copy. What is such an array from the beginning is copied by `updated_values`.
"""

from plugjax_iree.mlir import Mlir, name_of, named
from plugjax_iree.mlir.generics import FILL, GENERIC, VIEWS, Writer
from plugjax_iree.mlir.products import sources

_CLONE = b"flow.tensor.clone"


def apply(mlir: Mlir, module: int) -> int:
    """Copy arrays before they are updated; returns their number."""
    found = [o for o in named(mlir, module, _CLONE) if _is_filled(mlir, mlir.operand(o, 0))]
    for clone in found:
        mlir.set_operand(clone, 0, Writer(mlir, clone).copied(mlir.operand(clone, 0)))
    return len(found)


def _is_filled(mlir: Mlir, value: int) -> bool:
    # The first that is no view; arguments have no operation.
    return any(
        name_of(mlir, o) == FILL or (name_of(mlir, o) == GENERIC and mlir.operand_count(o) == 1)
        for o in sources(mlir, value, VIEWS)
    )
