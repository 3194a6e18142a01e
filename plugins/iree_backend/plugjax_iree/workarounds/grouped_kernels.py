"""Kernels for processors, each in an executable of its own: a few executables take them all.

IREE 3.13 sets up its passes anew for each executable, which takes longer than to run them on a small kernel. It links all executables into one, which LLVM
compiles on one core; in helper processes it does not, and LLVM compiles the groups side by side.
"""

from plugjax_iree.mlir import (
    Mlir,
    is_for_processor,
    name_of,
    named,
    operations,
    rename_outer_symbols,
    symbol_of,
)
from plugjax_iree.mlir.kernels import CODE

_EXPORT = b"flow.executable.export"
_MODULE = b"builtin.module"
_FUNCTION = b"func.func"
_END = b"flow.executable_end"
_KERNEL = b"flow.dispatch"
# The functions of mathematics are compiled with each group, in 0.15 s.
_SMALLEST_GROUP = 32
_MOST_GROUPS = 8


def apply(mlir: Mlir, module: int) -> int:
    """Move kernels into the executables of others; returns how many moved."""
    if not is_for_processor(mlir, module):
        return 0
    found = list(operations(mlir, module))
    kernels = [o for o in found if name_of(mlir, o) == CODE and _is_plain(mlir, o)]
    count = max(1, min(_MOST_GROUPS, len(kernels) // _SMALLEST_GROUP))
    homes = [(symbol_of(mlir, kernel), _parts(mlir, kernel)) for kernel in kernels[:count]]
    names = {}
    for i, kernel in enumerate(kernels[count:]):
        home, (export, code) = homes[i % count]
        names[symbol_of(mlir, kernel)] = home
        _move(mlir, kernel, export, code)
    for call in list(named(mlir, module, _KERNEL, outside=CODE)):
        rename_outer_symbols(mlir, call, b"entry_points", names)
    return len(names)


def _is_plain(mlir: Mlir, kernel: int) -> bool:
    """Whether an executable has one export and a module of functions."""
    parts = _parts(mlir, kernel)
    names = [name_of(mlir, o) for o in parts]
    return names == [_EXPORT, _MODULE] and all(
        name_of(mlir, o) == _FUNCTION for o in operations(mlir, parts[1])
    )


def _parts(mlir: Mlir, kernel: int) -> list[int]:
    """The exports of an executable, and its code."""
    return [o for o in operations(mlir, kernel) if name_of(mlir, o) != _END]


def _move(mlir: Mlir, kernel: int, export: int, code: int) -> None:
    """Move what is in an executable behind the export and the first function of another one."""
    its_export, its_code = _parts(mlir, kernel)
    mlir.move_after(its_export, export)
    first = next(operations(mlir, code))
    for function in list(operations(mlir, its_code)):
        mlir.move_after(function, first)
    mlir.destroy(kernel)
