"""Scatters of rows: ``x.at[i].add(rows)``.

IREE 3.13 reads the place of a row again for each of its elements, since the row may have overwritten it, and so adds number by number. Written as a loop over
the rows, which reads a place once, they are added by vector instructions. Each workgroup would run the whole loop: so nothing else may be in the kernel, or there
would be several.
"""

from plugjax_iree.mlir import Mlir, name_of, operands, printed, shape_of, written_type
from plugjax_iree.mlir.generics import Writer, body_of
from plugjax_iree.mlir.kernels import in_kernels, is_loaded, is_stored_only

_SCATTER = b"iree_linalg_ext.scatter"
# Elements of a row, a power of 2.
_SHORTEST, _LONGEST = 4, 64
_TYPES = ("i32", "i64", "f32", "f64")

_ROW = {b"in_bounds": "[true]", b"permutation_map": "affine_map<(d0, d1) -> (d1)>"}
_READ = {**_ROW, b"operandSegmentSizes": "array<i32: 1, 2, 1, 0>"}
_WRITTEN = {**_ROW, b"operandSegmentSizes": "array<i32: 1, 1, 2, 0>"}


def apply(mlir: Mlir, module: int) -> int:
    """Write them as loops; returns their number."""
    kernels = in_kernels(mlir, module, _SCATTER)
    found = [scatter for kernel in kernels for scatter in kernel if _is_of_rows(mlir, scatter)]
    for scatter in found:
        _write_loop(mlir, scatter)
    return len(found)


def _is_of_rows(mlir: Mlir, scatter: int) -> bool:
    """Whether one number is the place of a short row, and one operation combines the two numbers of each element, or the new one stays."""
    updates, places, target = operands(mlir, scatter)
    shape = shape_of(mlir, updates)
    if (
        len(shape) != 2
        or len(shape_of(mlir, places)) != 1
        or shape[1:] != shape_of(mlir, target)[1:]
    ):
        return False
    kind = written_type(mlir, mlir.element_type(mlir.type_of(target)))
    width = shape[1]
    arguments, body = body_of(mlir, scatter)
    simple = len(body) == 1 or (len(body) == 2 and set(operands(mlir, body[0])) == set(arguments))
    apart = is_stored_only(mlir, scatter) and all(
        is_loaded(mlir, value) for value in (updates, places, target)
    )
    return (
        simple
        and apart
        and printed(mlir, scatter, b"dimension_map") == "array<i64: 0>"
        and min(*shape, *shape_of(mlir, target)) > 0
        and kind in _TYPES
        and _SHORTEST <= width <= _LONGEST
        and width & (width - 1) == 0
    )


def _write_loop(mlir: Mlir, scatter: int) -> None:
    updates, places, target = operands(mlir, scatter)
    count, width = shape_of(mlir, updates)
    writer = Writer(mlir, scatter)
    kind = mlir.type_of(target)
    element = mlir.element_type(kind)
    index, row = writer.type("index"), writer.type(f"vector<{width}x{written_type(mlir, element)}>")
    zero, one, last = (writer.number(str(n), index) for n in (0, 1, count))
    nothing = writer.number("0.0" if mlir.is_float(element) else "0", element)
    block = writer.block([index, kind])
    writer.into = block
    step, rows = writer.arguments(block, 2)

    def read(array: int, place: int) -> int:
        return writer.append(
            b"vector.transfer_read", [row], [array, place, zero, nothing], attributes=_READ
        )[0]

    integer = mlir.element_type(mlir.type_of(places))
    (found,) = writer.append(b"tensor.extract", [integer], [places, step])
    (place,) = writer.append(b"arith.index_cast", [index], [found])
    new = read(updates, step)
    arguments, body = body_of(mlir, scatter)
    (result,) = operands(mlir, body[-1])
    known = {arguments[0]: new}
    if result not in known:
        known[arguments[1]] = read(rows, place)
        if result not in known:
            values = [known[v] for v in operands(mlir, body[0])]
            known[result] = writer.append(name_of(mlir, body[0]), [row], values)[0]
    (written,) = writer.append(
        b"vector.transfer_write", [kind], [known[result], rows, place, zero], attributes=_WRITTEN
    )
    writer.append(b"scf.yield", [], [written])
    loop = writer.put(writer.operation(b"scf.for", [kind], [zero, last, one, target], {}, [block]))
    mlir.replace(mlir.result(scatter, 0), loop)
    mlir.destroy(scatter)
