"""Numbers of 16 bits that the host reads once and needs in several loops: ``x.max(initial=h)``, and loops that pad with ``h``.

IREE 3.13 fills arrays on the host, whose virtual machine has no numbers of 16 bits. It reads their bits where a number is read and needed in the
same block; elsewhere it refuses the program ("failed to legalize unresolved materialization from ('i64') to ('index')"). The number is read in
each block that needs it.
"""

from plugjax_iree.mlir import Mlir, defining_op, named, operands, users, written_type
from plugjax_iree.mlir.kernels import CODE

_READ_BACK = b"flow.tensor.load"
_HALVES = ("f16", "bf16")


def apply(mlir: Mlir, module: int) -> int:
    """Read such numbers again; returns how often."""
    found = [
        (read, user)
        for read in named(mlir, module, _READ_BACK, outside=CODE)
        if written_type(mlir, mlir.type_of(mlir.result(read, 0))) in _HALVES
        for user in dict.fromkeys(users(mlir, mlir.result(read, 0)))
        if mlir.block_of(user) != mlir.block_of(read)
    ]
    for read, user in found:
        again = mlir.clone(read)
        mlir.insert_before(mlir.block_of(user), user, again)
        for i, value in enumerate(operands(mlir, user)):
            if defining_op(mlir, value) == read:
                mlir.set_operand(user, i, mlir.result(again, 0))
    return len(found)
