"""Products of matrices: how LLVM's code goes through their rows, columns and sums.

IREE 3.13 unrolls as many terms of the sums as a vector has elements, which makes no product faster and is a third of the time that LLVM takes. So one
term is added after the other, unless the second factor is transposed: its columns are read as vectors.

For processors with AVX-512 IREE also wants tiles that divide a matrix, which those of a prime size are not but for single numbers. So tiles are
whole vectors, and what is left at the borders has code of its own.
"""

import re
from collections.abc import Mapping, Sequence

from plugjax_iree.mlir import (
    Mlir,
    in_all,
    name_of,
    operands,
    printed,
    set_parsed_attribute,
    shape_of,
    written_type,
)
from plugjax_iree.mlir.kernels import translated_functions

_PRODUCTS = (b"linalg.matmul", b"linalg.batch_matmul")
_CONFIGURED = b"lowering_config"
_TRANSLATED = b"translation_info"
_WHOLE = (
    "#iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DoubleTilingExpert>{options}>"
)
_LEVEL = re.compile(r"(\w+) = \[([\d, ]*)\]")
_MAP = re.compile(r"-> \(([^)]*)\)")
_VECTOR = re.compile(r"native_vector_size = (\d+)")
_PARALLEL, _SUMS = "vector_common_parallel", "vector_reduction"
_BYTES = {"f32": 4, "f64": 8, "i32": 4}
_ROWS = 8
# Of the columns of a transposed factor, where tiles do not divide it: whole vectors would take twice as long to compile.
_TERMS = 4


def apply(mlir: Mlir, module: int) -> int:
    """Choose the tiles of products; returns their number."""
    changes = 0
    for target, function in translated_functions(mlir, module):
        vector = _VECTOR.search(target)
        if vector and '"llvm-cpu"' in target and "x86_64" in target:
            changes += _is_tiled(mlir, function, int(vector[1]))
    return changes


def _is_tiled(mlir: Mlir, function: int, vector: int) -> bool:
    configured = [o for o in in_all(mlir, function) if printed(mlir, o, _CONFIGURED)]
    products = [o for o in configured if name_of(mlir, o) in _PRODUCTS]
    if len(products) != 1:
        return False
    (product,) = products
    levels = _levels(mlir, product)
    kinds = {
        written_type(mlir, mlir.element_type(mlir.type_of(v))) for v in operands(mlir, product)
    }
    kind = kinds.pop()
    if kinds or kind not in _BYTES or not {_PARALLEL, _SUMS} <= levels.keys():
        return False
    lanes = vector // _BYTES[kind]
    transposed = _is_transposed(mlir, product)
    *tile, _ = levels[_PARALLEL]
    *batch, rows, columns = tile
    many = shape_of(mlir, operands(mlir, product)[-1])[-2] >= _ROWS
    if columns % lanes == 0 and (rows % _ROWS == 0 or not many):
        if not transposed:
            _configure(mlir, product, {**levels, _SUMS: [*levels[_SUMS][:-1], 1]})
        return not transposed
    others = {o: _levels(mlir, o) for o in configured if o != product}
    plain = printed(mlir, function, _TRANSLATED) == _WHOLE.format(options="")
    if not plain or any(found.get(_PARALLEL) != tile for found in others.values()):
        return False
    tile = [*batch, _ROWS, lanes]
    terms = _TERMS if transposed else 1
    sums = [*levels[_SUMS][:-1], terms]
    _configure(mlir, product, {**levels, _PARALLEL: [*tile, 0], _SUMS: sums})
    for other, found in others.items():
        _configure(mlir, other, {**found, _PARALLEL: tile})
    options = ", {enable_loop_peeling}"
    set_parsed_attribute(mlir, function, _TRANSLATED, _WHOLE.format(options=options))
    return True


def _levels(mlir: Mlir, operation: int) -> dict[str, list[int]]:
    """The tiles of an operation, by their level."""
    found = _LEVEL.findall(printed(mlir, operation, _CONFIGURED))
    return {level: [int(n) for n in sizes.split(",") if n] for level, sizes in found}


def _configure(mlir: Mlir, operation: int, levels: Mapping[str, Sequence[int]]) -> None:
    text = ", ".join(f"{level} = {list(sizes)}" for level, sizes in levels.items())
    set_parsed_attribute(mlir, operation, _CONFIGURED, f"#iree_cpu.lowering_config<{text}>")


def _is_transposed(mlir: Mlir, product: int) -> bool:
    """Whether the elements of a column of the second factor lie side by side."""
    maps = [axes.split(", ") for axes in _MAP.findall(printed(mlir, product, b"indexing_maps"))]
    return bool(maps) and maps[1][-1] != maps[2][-1]
