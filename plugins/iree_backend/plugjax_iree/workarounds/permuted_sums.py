"""Sums along axes on Vulkan devices: their loops are in the order of the axes of the result.

IREE 3.13 divides a sum, and the operation that fills its result with zeros before, among the threads of a workgroup, each in the order of its own loops.
If the orders differ, one thread fills what another has added to already.
"""

from plugjax_iree.mlir import Mlir, in_all, is_for_vulkan, name_of, named, set_parsed_attribute
from plugjax_iree.mlir.generics import GENERIC, PARALLEL, REDUCTION, Loops, loops_of


def apply(mlir: Mlir, module: int) -> int:
    """Order loops; returns the number of operations."""
    if not is_for_vulkan(mlir, module):
        return 0
    return sum(_order(mlir, generic) for generic in list(named(mlir, module, GENERIC)))


def _order(mlir: Mlir, generic: int) -> bool:
    """Order the loops of an operation; whether they were in another order."""
    loops = loops_of(mlir, generic)
    if loops is None or mlir.result_count(generic) != 1 or _counts(mlir, generic):
        return False
    *_, result = loops.maps
    inner = [i for i, kind in enumerate(loops.kinds) if kind == REDUCTION]
    order = (*result, *inner)
    if not inner or len(order) != len(loops.kinds) or list(result) == sorted(result):
        return False
    _write(mlir, generic, loops, {loop: place for place, loop in enumerate(order)})
    return True


def _counts(mlir: Mlir, generic: int) -> bool:
    """Whether the numbers of loops are read by what is computed."""
    return any(name_of(mlir, o) == b"linalg.index" for o in in_all(mlir, generic))


def _write(mlir: Mlir, generic: int, loops: Loops, places: dict[int, int]) -> None:
    names = ", ".join(f"d{i}" for i in range(len(places)))
    maps = [", ".join(f"d{places[loop]}" for loop in axes) for axes in loops.maps]
    written = ", ".join(f"affine_map<({names}) -> ({axes})>" for axes in maps)
    set_parsed_attribute(mlir, generic, b"indexing_maps", f"[{written}]")
    outer = sum(kind == PARALLEL for kind in loops.kinds)
    kinds = [PARALLEL] * outer + [REDUCTION] * (len(places) - outer)
    written = ", ".join(f"#linalg.iterator_type<{kind}>" for kind in kinds)
    set_parsed_attribute(mlir, generic, b"iterator_types", f"[{written}]")
