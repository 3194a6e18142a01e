"""A register for each reference that a branch passes on.

IREE 3.13 loses references ("indirect buffer reference ... is out range", "ref is null"). A branch of its virtual machine may move a reference into
the register of what it is passed as, which leaves the other register null. It does so though the reference has a second use:

* it is passed twice, and one of the two is already in its target register (iree-org/iree pull request 24781 describes the mechanism);
* what comes after the branch reads it.

Several results of one computation share a buffer, and a branch may give back what it got, so loops with branches have such
references; whether the registers coincide is chance. Between the compiler's last phase and its bytecode, what is passed on gets a
copy of the reference (no memory is copied) in a register of its own.
"""

from plugjax_iree.mlir import Mlir, blocks, create, defining_op, name_of, operations, users

_BRANCHES = (b"vm.br", b"vm.cond_br", b"vm.br_table")


def apply(mlir: Mlir, module: int) -> int:
    """Copy references that have a second use; returns the number of copies."""
    return sum(
        _separate(mlir, block)
        for unit in operations(mlir, module)
        for function in operations(mlir, unit)
        for block in blocks(mlir, function)
    )


def _separate(mlir: Mlir, block: int) -> int:
    """In the branch that ends a block."""
    branch = mlir.terminator(block)
    if branch is None or name_of(mlir, branch) not in _BRANCHES:
        return 0
    counts = [mlir.argument_count(target) for target in _successors(mlir, block)]
    # A condition, if there is one, stands before what is passed on.
    position = mlir.operand_count(branch) - sum(counts)
    copies = 0
    for count in counts:
        seen = set()
        for i in range(position, position + count):
            value = mlir.operand(branch, i)
            if _is_reference(mlir, value) and (
                value in seen or _is_read_behind(mlir, block, value)
            ):
                mlir.set_operand(branch, i, _copy(mlir, block, branch, value))
                copies += 1
            seen.add(value)
        position += count
    return copies


def _is_read_behind(mlir: Mlir, block: int, value: int) -> bool:
    """Whether a value is read, as itself, by what comes after a block."""
    definition = defining_op(mlir, value)
    home = mlir.owning_block(value) if definition is None else mlir.block_of(definition)
    readers = {mlir.block_of(user) for user in users(mlir, value)} - {home}
    if not readers:
        return False
    reached = {home}
    pending = [block]
    while pending:
        for target in _successors(mlir, pending.pop()):
            if target not in reached:
                if target in readers:
                    return True
                reached.add(target)
                pending.append(target)
    return False


def _successors(mlir: Mlir, block: int) -> list[int]:
    """The blocks that may come next."""
    last = mlir.terminator(block)
    return (
        [] if last is None else [mlir.successor(last, i) for i in range(mlir.successor_count(last))]
    )


def _copy(mlir: Mlir, block: int, branch: int, value: int) -> int:
    """The reference in another register, before the branch."""
    kind = mlir.type_of(value)
    operation = create(mlir, b"vm.assign.ref", mlir.location(branch), [kind], [value])
    mlir.insert_before(block, branch, operation)
    return mlir.result(operation, 0)


def _is_reference(mlir: Mlir, value: int) -> bool:
    kind = mlir.type_of(value)
    return not (mlir.is_integer(kind) or mlir.is_float(kind))
