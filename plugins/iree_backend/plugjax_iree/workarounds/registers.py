"""A register for each reference that a branch passes on.

IREE 3.13 loses references. If a branch of its virtual machine passes one reference twice, and one of the two is already in its target
register, the move for the other one leaves that register null ("indirect buffer reference ... is out range", "ref is null"; iree-org/iree
pull request 24781 describes the mechanism). Several results of one computation share a buffer, so a loop or branch that passes two of
them on is such a branch; whether the registers coincide is chance. Between the compiler's last phase and its bytecode, each
repetition gets a copy of the reference (no memory is copied) in a register of its own.
"""

from plugjax_iree.mlir import Mlir, blocks, create, name_of, operations

_BRANCHES = (b"vm.br", b"vm.cond_br", b"vm.br_table")


def apply(mlir: Mlir, module: int) -> int:
    """Copy repeated references; returns the number of copies."""
    return sum(
        _separate(mlir, block)
        for unit in operations(mlir, module)
        for function in operations(mlir, unit)
        for block in blocks(mlir, function)
    )


def _separate(mlir: Mlir, block: int) -> int:
    """In the branch that ends a block."""
    branch = mlir.terminator(block)
    if branch is None or not (successors := mlir.successor_count(branch)):
        return 0
    if name_of(mlir, branch) not in _BRANCHES:
        return 0
    counts = [mlir.argument_count(mlir.successor(branch, i)) for i in range(successors)]
    # A condition, if there is one, stands before what is passed on.
    position = mlir.operand_count(branch) - sum(counts)
    copies = 0
    for count in counts:
        seen = set()
        for i in range(position, position + count):
            value = mlir.operand(branch, i)
            if value not in seen:
                seen.add(value)
            elif _is_reference(mlir, value):
                mlir.set_operand(branch, i, _copy(mlir, block, branch, value))
                copies += 1
        position += count
    return copies


def _copy(mlir: Mlir, block: int, branch: int, value: int) -> int:
    """The reference in another register, before the branch."""
    kind = mlir.type_of(value)
    operation = create(mlir, b"vm.assign.ref", mlir.location(branch), [kind], [value])
    mlir.insert_before(block, branch, operation)
    return mlir.result(operation, 0)


def _is_reference(mlir: Mlir, value: int) -> bool:
    kind = mlir.type_of(value)
    return not (mlir.is_integer(kind) or mlir.is_float(kind))
