"""Programs without any fusion: the last resort for those that IREE refuses.

IREE 3.13 refuses some of its own fusions ("LLVM Translation failed", "invalid accumulator/result vector shape"). With a barrier after
each operation nothing is fused: slow, but right.
"""

from plugjax_iree.mlir import PROGRAMS, Mlir, insert_barrier, name_of, walk

# Behind a barrier the compiler would not see that these are constants, copies or barriers.
_LEFT = (b"stablehlo.constant", b"stablehlo.optimization_barrier", b"flow.tensor.clone")


def apply(mlir: Mlir, module: int) -> int:
    """Insert a barrier behind each operation; returns their number."""
    count = 0
    for operation in list(walk(mlir, module)):
        name = name_of(mlir, operation)
        if name.startswith((b"stablehlo.", b"chlo.")) and name not in (*PROGRAMS, *_LEFT):
            for i in range(mlir.result_count(operation)):
                insert_barrier(mlir, operation, mlir.result(operation, i))
                count += 1
    return count
