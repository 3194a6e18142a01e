"""How LLVM's code goes through the loops of a kernel, once IREE has chosen it: tiles, by their level."""

import re
from collections.abc import Iterator, Mapping, Sequence

from plugjax_iree.mlir.generics import maps_of
from plugjax_iree.mlir.interface import Mlir
from plugjax_iree.mlir.kernels import scheduled
from plugjax_iree.mlir.reading import (
    in_all,
    named,
    operands,
    operations,
    printed,
    written_type,
)
from plugjax_iree.mlir.rewriting import set_parsed_attribute

# Levels: what a worker computes, what is computed in vectors at a time, and how many terms of sums are.
SHARE, TILE, TERMS = "distribution", "vector_common_parallel", "vector_reduction"
PRODUCTS = (b"linalg.matmul", b"linalg.batch_matmul")
# The sizes of tiles, by the name of their level.
Tiles = Mapping[str, Sequence[int]]

_CONFIGURED, _TRANSLATED = b"lowering_config", b"translation_info"
_LEVEL = re.compile(r"(\w+) = \[([\d, ]*)\]")
_VECTOR = re.compile(r"native_vector_size = (\d+)")
_PIPELINE = re.compile(r"(#iree_codegen\.translation_info<pipeline = #iree_cpu\.pipeline<(\w+)>)>")
_BYTES = {"f32": 4, "f64": 8, "i32": 4, "i64": 8}


def tiled_functions(mlir: Mlir, module: int) -> Iterator[tuple[int, int]]:
    """The functions of the kernels for x86 processors, and the bytes of their vectors."""
    for executable in scheduled(mlir, module):
        for variant in operations(mlir, executable):
            target = printed(mlir, variant, b"target")
            vector = _VECTOR.search(target)
            if vector and '"llvm-cpu"' in target and "x86_64" in target:
                for function in named(mlir, variant, b"func.func"):
                    yield function, int(vector[1])


def tiled(mlir: Mlir, function: int) -> dict[int, Tiles]:
    """The operations of a function that have tiles, and their tiles."""
    found: dict[int, Tiles] = {}
    for operation in in_all(mlir, function):
        levels = _LEVEL.findall(printed(mlir, operation, _CONFIGURED))
        if levels:
            found[operation] = {
                name: [int(n) for n in sizes.split(",") if n] for name, sizes in levels
            }
    return found


def set_tiles(mlir: Mlir, operation: int, levels: Tiles) -> None:
    """Replace the tiles of an operation."""
    text = ", ".join(f"{level} = {list(sizes)}" for level, sizes in levels.items())
    set_parsed_attribute(mlir, operation, _CONFIGURED, f"#iree_cpu.lowering_config<{text}>")


def pipeline_of(mlir: Mlir, function: int) -> str:
    """The name of the passes that translate a function, if they have no options; else empty."""
    found = _PIPELINE.fullmatch(printed(mlir, function, _TRANSLATED))
    return found[2] if found else ""


def peel_borders(mlir: Mlir, function: int) -> None:
    """Let what is left at the borders of tiles have code of its own; the passes of the function have no options yet."""
    found = _PIPELINE.fullmatch(printed(mlir, function, _TRANSLATED))
    assert found is not None
    set_parsed_attribute(mlir, function, _TRANSLATED, f"{found[1]}, {{enable_loop_peeling}}>")


def lanes_of(mlir: Mlir, operation: int, vector: int) -> int:
    """How many numbers a vector has, if all operands of an operation have numbers of one type; 0 if not, or if they are narrow."""
    kinds = {
        written_type(mlir, mlir.element_type(mlir.type_of(v))) for v in operands(mlir, operation)
    }
    size = _BYTES.get(kinds.pop()) if len(kinds) == 1 else None
    return vector // size if size else 0


def is_transposed(mlir: Mlir, product: int) -> bool:
    """Whether the elements of a column of the second factor lie side by side."""
    maps = maps_of(mlir, product)
    return bool(maps) and maps[1][-1] != maps[2][-1]
