"""Memory that the threads of a kernel for a Vulkan device share: they wait before one reads what another has written.

IREE 3.13 keeps tiles there, and lets each thread read the numbers that it needs, also those that another thread writes: sums whose result is
transposed, or factors of products that are filled with a number. The threads do not wait for one another.
"""

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TypeAlias

from plugjax_iree.mlir import (
    Builder,
    Mlir,
    blocks,
    defining_op,
    in_all,
    is_for_vulkan,
    name_of,
    named,
    operands,
    operations,
    printed,
    written_type,
)
from plugjax_iree.mlir.spirv import CODE

_FUNCTION, _ACCESS = b"spirv.func", b"spirv.AccessChain"
_LOAD, _STORE = b"spirv.Load", b"spirv.Store"
_ADDRESS, _VARIABLE = b"spirv.mlir.addressof", b"variable"
_BARRIER = b"spirv.ControlBarrier"
_SHARED = ", Workgroup>"
_SCOPE = "#spirv.scope<Workgroup>"
_ATTRIBUTES = {
    b"execution_scope": _SCOPE,
    b"memory_scope": _SCOPE,
    b"memory_semantics": "#spirv.memory_semantics<AcquireRelease|WorkgroupMemory>",
}

# An element of a shared array, as a thread computes its place.
Element: TypeAlias = tuple[int, ...]


@dataclass
class _Accesses:
    """What is done to shared arrays, by their names."""

    read: dict[str, set[Element]] = field(default_factory=lambda: defaultdict(set))
    written: dict[str, set[Element]] = field(default_factory=lambda: defaultdict(set))

    def clashes_with(self, after: "_Accesses") -> bool:
        """Whether what is done afterwards may be to what another thread has written or still reads."""
        return any(
            _differ(self.written[name], after.read[name] | after.written[name])
            or _differ(self.read[name], after.written[name])
            for name in (*after.read, *after.written)
        )

    def add(self, other: "_Accesses") -> None:
        """Count what another step does as well."""
        for mine, others in ((self.read, other.read), (self.written, other.written)):
            for name, elements in list(others.items()):
                mine[name] |= elements


def _differ(before: set[Element], after: set[Element]) -> bool:
    return bool(before and after) and len(before | after) > 1


def apply(mlir: Mlir, module: int) -> int:
    """Insert barriers; returns their number."""
    if not is_for_vulkan(mlir, module):
        return 0
    functions = [f for code in named(mlir, module, CODE) for f in named(mlir, code, _FUNCTION)]
    return sum(_insert(mlir, function) for function in functions)


def _insert(mlir: Mlir, function: int) -> int:
    """Insert barriers between the steps of a kernel; returns their number."""
    count, done = 0, _Accesses()
    body, *others = blocks(mlir, function)
    if others:
        # Not all threads may come to a barrier.
        return 0
    for step in list(operations(mlir, function)):
        within = [step, *in_all(mlir, step)]
        if any(name_of(mlir, o) == _BARRIER for o in within):
            done = _Accesses()
            continue
        accesses = _accesses(mlir, within)
        if done.clashes_with(accesses):
            barrier = Builder(mlir, step).operation(_BARRIER, [], [], _ATTRIBUTES)
            mlir.insert_before(body, step, barrier)
            count, done = count + 1, _Accesses()
        done.add(accesses)
    return count


def _accesses(mlir: Mlir, step: list[int]) -> _Accesses:
    """What the operations of a step do to shared arrays."""
    found = _Accesses()
    for operation in step:
        name = name_of(mlir, operation)
        if name not in (_LOAD, _STORE):
            continue
        chain = defining_op(mlir, mlir.operand(operation, 0))
        if chain is None or name_of(mlir, chain) != _ACCESS:
            continue
        base, *element = operands(mlir, chain)
        address = defining_op(mlir, base)
        if address is None or name_of(mlir, address) != _ADDRESS:
            continue
        if written_type(mlir, mlir.type_of(base)).endswith(_SHARED):
            kept = found.read if name == _LOAD else found.written
            kept[printed(mlir, address, _VARIABLE)].add(tuple(element))
    return found
