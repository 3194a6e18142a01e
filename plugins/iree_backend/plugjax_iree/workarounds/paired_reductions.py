"""Reductions whose result one operation reads along different axes: ``r[:, None] - r[None, :]``.

IREE 3.13 fuses such a user with the reduction, tile by tile, and reads elements of another tile from the current one: the
differences above are all 0, with every tuning (its ``hasCompatibleOuterParallelLoops`` takes an axis that the reduction does not have
for a constant). Squared distances, Gram matrices divided by norms and Laplacians of graphs are of this kind. Elementwise operations
in between, slices of the result and further users make no difference. Where one operation reads a result in two such ways, in any
function or loop, a barrier separates the reduction from its users.

The compiler inlines functions before this is looked for, and lowerings have become operations: `apply` walks the StableHLO program
once, and follows each result through what keeps, stretches, permutes or merges its axes.
"""

from plugjax_iree.mlir import PROGRAMS, Mlir, insert_barrier, name_of, numbers, operands, walk

#: For each axis of a result, the axis of another value that it runs along; negative if that is not an axis of its own.
Axes = tuple[int, ...]

_REDUCTIONS = (
    b"stablehlo.reduce",
    b"stablehlo.reduce_window",
    b"stablehlo.convolution",
    b"stablehlo.dot_general",
)
# They are never merged with what computed their operands.
_APART = (b"stablehlo.optimization_barrier", b"stablehlo.gather", b"stablehlo.custom_call")
_UNIT = -1


def apply(mlir: Mlir, module: int) -> int:
    """Insert barriers; returns their number."""
    reductions = _Users(mlir)
    reductions.find(module)
    for value, reduction in reductions.met.items():
        insert_barrier(mlir, reduction, value)
    return len(reductions.met)


class _Users:
    """The users of the results of reductions, and along which axes they read.

    Attributes:
        met: results of which two readings came together, with their reductions.
    """

    def __init__(self, mlir: Mlir) -> None:
        self.mlir = mlir
        self.met: dict[int, int] = {}
        self._reductions: dict[int, int] = {}
        # Of each value: the results that it was made of, and how it was read.
        self._made_of: dict[int, dict[int, Axes]] = {}

    def find(self, program: int) -> None:
        for operation in walk(self.mlir, program):
            name = name_of(self.mlir, operation)
            if name in _REDUCTIONS:
                self._begin(operation)
            elif name not in (*PROGRAMS, *_APART) and self.mlir.result_count(operation) == 1:
                self._follow(name, operation)

    def _begin(self, reduction: int) -> None:
        for i in range(self.mlir.result_count(reduction)):
            value = self.mlir.result(reduction, i)
            axes = tuple(_UNIT if n == 1 else a for a, n in enumerate(self._shape(value)))
            if set(axes) - {_UNIT}:
                self._reductions[value] = reduction
                self._made_of[value] = {value: axes}

    def _follow(self, name: bytes, operation: int) -> None:
        read = [v for v in operands(self.mlir, operation) if v in self._made_of]
        if not read:
            return
        result = self.mlir.result(operation, 0)
        together: dict[int, Axes] = {}
        for value in read:
            steps = self._steps(name, operation, value, result)
            if steps is None:
                continue
            for source, axes in self._made_of[value].items():
                moved = tuple(steps[a] if a >= 0 else a for a in axes)
                if together.setdefault(source, moved) != moved:
                    self.met[source] = self._reductions[source]
        if together:
            self._made_of[result] = together

    def _steps(self, name: bytes, operation: int, value: int, result: int) -> list[int] | None:
        """For each axis of an operand the axis of the result that runs along it; ``None`` if they have nothing in common."""
        before, after = self._shape(value), self._shape(result)
        if name == b"stablehlo.broadcast_in_dim":
            return numbers(self.mlir, operation, b"broadcast_dimensions")
        if name == b"stablehlo.transpose":
            order = numbers(self.mlir, operation, b"permutation")
            return [order.index(axis) for axis in range(len(order))]
        if name == b"stablehlo.reshape":
            return self._reshaped(before, after, result)
        return list(range(len(before))) if len(before) == len(after) else None

    def _reshaped(self, before: list[int], after: list[int], result: int) -> list[int]:
        places = [a for a, n in enumerate(after) if n != 1]
        if [n for n in before if n != 1] == [after[a] for a in places]:
            following = iter(places)
            return [_UNIT if n == 1 else next(following) for n in before]
        # Axes were merged or split. Arrays of one type have one handle of it.
        return [-self.mlir.type_of(result)] * len(before)

    def _shape(self, value: int) -> list[int]:
        kind = self.mlir.type_of(value)
        if not self.mlir.is_array(kind):
            return []
        return [self.mlir.size(kind, axis) for axis in range(self.mlir.rank(kind))]
