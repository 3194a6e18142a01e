"""Updates in place of values that are still read: ``x.at[0].add(v), jnp.pad(x, 1)``.

IREE 3.13 leaves out the copy before an update (``flow.tensor.clone``) although the value has other users, and runs them concurrently with
the update: whether they read the old or the new elements is chance. So the lowering updates a copy (`updated_values`), and here, where all
users are known, needless copies are removed: users that the update itself waits for have read before it.

In a loop, such copies are removed only of values that change from step to step. A loop-invariant value IREE would copy once, before
the loop, and each step would update the result of the step before: ``x.at[i].add(v)`` of an ``x`` from outside of the loop. There
the copies of the lowering stay (``tests/test_overwriting.py``).
"""

from typing import NamedTuple

from plugjax_iree.mlir import (
    MOVES,
    Mlir,
    defining_op,
    is_copy,
    name_of,
    operands,
    operations,
    shape_of,
    users,
)
from plugjax_iree.mlir.loops import WHILE, varying

_CLONE = b"flow.tensor.clone"

# Operations that may give their operand's buffer, for operands of any shape.
_VIEWS = (_CLONE, b"stablehlo.bitcast_convert", b"stablehlo.reshape")


def apply(mlir: Mlir, module: int) -> int:
    """Remove needless copies; returns how many are left."""
    copies: dict[int, _Copy] = {}
    _find(mlir, module, copies, None)
    needless = [copy for copy, found in copies.items() if _is_needless(mlir, copy, found)]
    for copy in needless:
        _drop(mlir, copy)
    return len(copies) - len(needless)


class _Copy(NamedTuple):
    """A choice between a value and itself behind a barrier.

    Attributes:
        clones: the clones of it, which are updated.
        changing: values that change from step to step in the innermost enclosing loop; ``None`` outside of loops.
    """

    clones: list[int]
    changing: set[int] | None


def _find(mlir: Mlir, program: int, copies: dict[int, _Copy], changing: set[int] | None) -> None:
    """Add the copies in the regions of an operation to ``copies``."""
    for operation in operations(mlir, program):
        if mlir.region_count(operation):
            is_loop = name_of(mlir, operation) == WHILE
            _find(mlir, operation, copies, varying(mlir, operation) if is_loop else changing)
        elif name_of(mlir, operation) == _CLONE:
            copy = _source(mlir, operation)
            if copy is not None and is_copy(mlir, copy):
                copies.setdefault(copy, _Copy([], changing)).clones.append(operation)


def _is_needless(mlir: Mlir, copy: int, found: _Copy) -> bool:
    if found.changing is not None and mlir.operand(copy, 1) not in found.changing:
        return False
    return not _has_late_users(mlir, copy, found.clones)


def _source(mlir: Mlir, clone: int) -> int | None:
    """The operation that defines the cloned value."""
    source = defining_op(mlir, mlir.operand(clone, 0))
    if source is not None and name_of(mlir, source) == b"stablehlo.bitcast_convert":
        source = defining_op(mlir, mlir.operand(source, 0))
    return source


def _drop(mlir: Mlir, copy: int) -> None:
    _, value, again = operands(mlir, copy)
    barrier = defining_op(mlir, again)
    mlir.replace(mlir.result(copy, 0), value)
    mlir.destroy(copy)
    if barrier is not None and not users(mlir, again):
        mlir.destroy(barrier)


def _has_late_users(mlir: Mlir, copy: int, clones: list[int]) -> bool:
    """Whether the value that is copied has a user that the updates of its clone do not wait for."""
    if len(users(mlir, mlir.result(copy, 0))) > 1:
        return True
    before = _needed_for(mlir, users(mlir, mlir.result(clones[0], 0)))
    value = mlir.operand(copy, 1)
    while True:
        if any(user not in before for user in users(mlir, value)):
            return True
        step = defining_op(mlir, value)
        if step is None or not _is_view(mlir, step):
            return False
        value = mlir.operand(step, 0)


def _is_view(mlir: Mlir, step: int) -> bool:
    """Whether the result of an operation may be its operand's buffer: movements of axes of length 1 become reshapes."""
    name = name_of(mlir, step)
    if name in _VIEWS:
        return True
    return name in MOVES and _long_axes(mlir, mlir.result(step, 0)) == _long_axes(
        mlir, mlir.operand(step, 0)
    )


def _long_axes(mlir: Mlir, value: int) -> list[int]:
    return [length for length in shape_of(mlir, value) if length != 1]


def _needed_for(mlir: Mlir, updates: list[int]) -> set[int]:
    """All operations that the updates wait for."""
    found: set[int] = set()
    pending = list(updates)
    while pending:
        for value in operands(mlir, pending.pop()):
            operation = defining_op(mlir, value)
            if operation is not None and operation not in found:
                found.add(operation)
                pending.append(operation)
    return found
