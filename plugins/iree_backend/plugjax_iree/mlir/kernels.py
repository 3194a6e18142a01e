"""The kernels of a program for a processor, between their division and their translation."""

from collections.abc import Iterator, Mapping, Sequence

from plugjax_iree.mlir.generics import GENERIC
from plugjax_iree.mlir.interface import Mlir
from plugjax_iree.mlir.reading import (
    defining_op,
    is_for_processor,
    name_of,
    named,
    operations,
    users,
)
from plugjax_iree.mlir.rewriting import set_parsed_attribute

CODE = b"flow.executable"
LOADED = b"iree_tensor_ext.dispatch.tensor.load"
STORED = b"iree_tensor_ext.dispatch.tensor.store"


def kernels(mlir: Mlir, module: int) -> list[int]:
    """What kernels are in, before IREE schedules them."""
    return [o for o in operations(mlir, module) if name_of(mlir, o) == CODE]


def in_kernels(mlir: Mlir, module: int, name: bytes) -> list[list[int]]:
    """The operations of a name in each kernel; nothing if the program is for another device."""
    if not is_for_processor(mlir, module):
        return []
    return [list(named(mlir, kernel, name)) for kernel in kernels(mlir, module)]


def alone_in_kernels(mlir: Mlir, module: int) -> list[int]:
    """The operations on whole arrays that are the only ones of their kernels."""
    return [found[0] for found in in_kernels(mlir, module, GENERIC) if len(found) == 1]


def scheduled(mlir: Mlir, module: int) -> Iterator[int]:
    """What kernels are in, once IREE schedules them."""
    return (o for o in operations(mlir, module) if name_of(mlir, o) == b"hal.executable")


def exports(mlir: Mlir, module: int) -> Iterator[int]:
    """How kernels are called, once IREE schedules them."""
    for executable in scheduled(mlir, module):
        yield from named(mlir, executable, b"hal.executable.export", b"builtin.module")


def is_loaded(mlir: Mlir, value: int) -> bool:
    """Whether a kernel reads a value from memory."""
    origin = defining_op(mlir, value)
    return origin is not None and name_of(mlir, origin) == LOADED


def is_stored_only(mlir: Mlir, operation: int) -> bool:
    """Whether a kernel writes the result of an operation to memory, and does nothing else with it."""
    return [name_of(mlir, user) for user in users(mlir, mlir.result(operation, 0))] == [STORED]


def tile(mlir: Mlir, operation: int, tiles: Mapping[str, Sequence[int]]) -> None:
    """Say how LLVM's code goes through the loops of an operation, for each level of tiles; 0 leaves a loop whole."""
    levels = ", ".join(f"{level} = {list(sizes)}" for level, sizes in tiles.items())
    text = (
        f"#iree_codegen.compilation_info<lowering_config = #iree_cpu.lowering_config<{levels}>, "
        "translation_info = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>>"
    )
    set_parsed_attribute(mlir, operation, b"compilation_info", text)


def longest_tile(size: int, at_most: int, at_a_time: int) -> int:
    """The longest tile that divides a loop without remainder; ``at_a_time`` divides the loop."""
    return next(n for n in range(at_most, 0, -at_a_time) if size % n == 0)
