"""Values and places of a scatter that are computed: ``x.at[i % 10].add(y * 2)``.

With optimization level O2, IREE 3.13 computes them in the kernel of the scatter, all on the stack of a thread, and refuses the program if they are large:
"exceeded stack allocation limit". So large ones are read from behind barriers.
"""

from plugjax_iree.mlir import Mlir, defining_op, insert_operand_barrier, named, size_of

_SCATTER = b"stablehlo.scatter"
# Of all operands together; the limit is 32 KiB.
_FEW = 2048


def apply(mlir: Mlir, module: int) -> int:
    """Insert barriers; returns their number."""
    scatters = list(named(mlir, module, _SCATTER))
    return sum(_read_from_behind(mlir, scatter) for scatter in scatters)


def _read_from_behind(mlir: Mlir, scatter: int) -> int:
    # Arrays, places, and values for each array.
    positions = range(mlir.result_count(scatter), mlir.operand_count(scatter))
    if sum(size_of(mlir, mlir.operand(scatter, i)) for i in positions) <= _FEW:
        return 0
    computed = [i for i in positions if defining_op(mlir, mlir.operand(scatter, i)) is not None]
    for i in computed:
        insert_operand_barrier(mlir, scatter, i)
    return len(computed)
