"""Updates in place of values that are still read: ``x.at[0].add(v), jnp.pad(x, 1)``.

IREE 3.13 leaves out the copy before an update (``flow.tensor.clone``) although the value has other readers, and runs them at the same time
as the update: whether they see what was or what is written is chance. So the lowering updates a buffer of its own
(``lowering/copies.py: to_update``), and here, where all readers are known, the copies go that nothing needs: the readers that an update
itself waits for have read before it. In loops all of them go: what does not change in a loop IREE would copy before it, once, and there
its own copies are right (``tests/test_overwriting.py``).
"""

from typing import Any

from plugjax_iree.mlir import BARRIER, Mlir, borrowed, maker, name_of, operands, operations, readers

_CLONE = b"flow.tensor.clone"

_SELECT = b"stablehlo.select"
# What may give its operand's buffer.
_VIEWS = (_CLONE, b"stablehlo.bitcast_convert", b"stablehlo.reshape")


def drop_copies(invocation: Any) -> int:
    """Mends a StableHLO program that an invocation has parsed and inlined; returns how many copies are left.

    Args:
        invocation: IREE's handle (``Invocation._inv_p``), before its own phases.
    """
    with borrowed(invocation) as (mlir, module):
        copies: dict[int, list[int]] = {}
        needless = _collect(mlir, module, copies, False)
        for copy, clones in copies.items():
            if copy not in needless and not _is_read_late(mlir, copy, clones):
                needless.add(copy)
        for copy in needless:
            _drop(mlir, copy)
        return len(copies) - len(needless)


def _collect(mlir: Mlir, program: int, copies: dict[int, list[int]], is_in_loop: bool) -> set[int]:
    """Find choices between a value and itself behind a barrier, with the clones of them that are updated; returns those in loops."""
    found = set()
    for operation in operations(mlir, program):
        name = name_of(mlir, operation)
        if mlir.region_count(operation):
            inner = is_in_loop or name == b"stablehlo.while"
            found |= _collect(mlir, operation, copies, inner)
        elif name == _CLONE:
            copy = _source(mlir, operation)
            if copy is not None and _is_copy(mlir, copy):
                copies.setdefault(copy, []).append(operation)
                if is_in_loop:
                    found.add(copy)
    return found


def _source(mlir: Mlir, clone: int) -> int | None:
    """What made the value that is cloned."""
    source = maker(mlir, mlir.operand(clone, 0))
    if source is not None and name_of(mlir, source) == b"stablehlo.bitcast_convert":
        source = maker(mlir, mlir.operand(source, 0))
    return source


def _is_copy(mlir: Mlir, operation: int) -> bool:
    if name_of(mlir, operation) != _SELECT:
        return False
    _, value, again = operands(mlir, operation)
    barrier = maker(mlir, again)
    return (
        barrier is not None
        and name_of(mlir, barrier) == BARRIER
        and operands(mlir, barrier) == [value]
    )


def _drop(mlir: Mlir, copy: int) -> None:
    _, value, again = operands(mlir, copy)
    barrier = maker(mlir, again)
    mlir.replace(mlir.result(copy, 0), value)
    mlir.destroy(copy)
    if barrier is not None and not readers(mlir, again):
        mlir.destroy(barrier)


def _is_read_late(mlir: Mlir, copy: int, clones: list[int]) -> bool:
    """Whether the value that is copied has a reader that the updates of its clone do not wait for."""
    if len(readers(mlir, mlir.result(copy, 0))) > 1:
        return True
    before = _needed_for(mlir, readers(mlir, mlir.result(clones[0], 0)))
    value = mlir.operand(copy, 1)
    while True:
        if any(reader not in before for reader in readers(mlir, value)):
            return True
        step = maker(mlir, value)
        if step is None or name_of(mlir, step) not in _VIEWS:
            return False
        value = mlir.operand(step, 0)


def _needed_for(mlir: Mlir, updates: list[int]) -> set[int]:
    """All operations that the updates wait for."""
    found: set[int] = set()
    pending = list(updates)
    while pending:
        for value in operands(mlir, pending.pop()):
            operation = maker(mlir, value)
            if operation is not None and operation not in found:
                found.add(operation)
                pending.append(operation)
    return found
