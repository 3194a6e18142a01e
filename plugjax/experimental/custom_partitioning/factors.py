"""The factors of the axes of arrays, by a sharding rule and the arrays' shapes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from plugjax.experimental.custom_partitioning.sharding_rule import (
    BATCHING,
    ArrayMapping,
    SdyShardingRule,
)

Shape = Sequence[int]


@dataclass(frozen=True)
class Factors:
    """Factors of several arrays.

    Attributes:
        sizes: by factor, in the order in which they appear.
        operands: for each operand, the factors of each axis, the one with the greatest stride first.
        results: the same for the results.
    """

    sizes: dict[str, int]
    operands: list[list[tuple[str, ...]]]
    results: list[list[tuple[str, ...]]]


def factors_of(
    rule: SdyShardingRule, operands: Sequence[Shape], results: Sequence[Shape]
) -> Factors:
    """The factors of arrays of given shapes.

    Raises:
        ValueError: the rule is for other numbers of operands, results or axes, or sizes differ.
    """
    sides = (
        ("operand", rule.operand_mappings, operands),
        ("result", rule.result_mappings, results),
    )
    ranks: dict[str, int] = {}
    found: list[list[list[tuple[str, ...]]]] = []
    for word, mappings, shapes in sides:
        if len(mappings) != len(shapes):
            raise ValueError(
                f"Sharding rule has {len(mappings)} {word}s, but the operation has {len(shapes)} {word}s"
            )
        pairs = enumerate(zip(mappings, shapes, strict=True))
        found.append([_axes(f"{i}th {word}", m, len(s), ranks) for i, (m, s) in pairs])
    sizes: dict[str, int] = {}
    for axes, shape in zip((*found[0], *found[1]), (*operands, *results), strict=True):
        for names, size in zip(axes, shape, strict=True):
            for name in names:
                known = rule.factor_sizes.get(name) if len(names) > 1 else size
                _set_size(sizes, name, known)
    for i, (axes, shape) in enumerate(
        zip((*found[0], *found[1]), (*operands, *results), strict=True)
    ):
        for names, size in zip(axes, shape, strict=True):
            product = math.prod(sizes[name] for name in names)
            if len(names) > 1 and product != size:
                word = f"{i}th operand" if i < len(operands) else f"{i - len(operands)}th result"
                raise ValueError(
                    f"{word} actual size {size} doesn't match the size {product} derived from the compound factors {names}"
                )
    return Factors(sizes, *found)


# The size of a factor whose axis comes later.
_UNKNOWN = -1


def _set_size(sizes: dict[str, int], name: str, size: int | None) -> None:
    held = sizes.setdefault(name, _UNKNOWN)
    if size is None or held == size:
        return
    if held != _UNKNOWN and name.startswith(BATCHING):
        raise ValueError(
            f"Batching dimension {name[1:]} corresponds to two sizes: {held} and {size}"
        )
    sizes[name] = size if held == _UNKNOWN else min(held, size)


def _axes(
    word: str, mapping: ArrayMapping, ndim: int, ranks: dict[str, int]
) -> list[tuple[str, ...]]:
    """The factors of each axis of an array; ``ranks`` holds how many axes each ellipsis stands for."""
    own, leading = list(mapping), list[tuple[str, ...]]()
    first = own[0] if own else ""
    if isinstance(first, str) and first.startswith(BATCHING):
        group = first[1:] or "0"
        del own[0]
        count = max(ndim - len(own), 0)
        if ranks.setdefault(group, count) != count:
            raise ValueError(
                f"Ellipsis represents different number of leading dimensions {ranks[group]} and {count}"
            )
        leading = [(f"{BATCHING}{group}_{i}",) for i in range(count)]
    if len(leading) + len(own) != ndim:
        raise ValueError(
            f"Sharding rule {word} has rank {len(leading) + len(own)}, but the operation {word} has rank {ndim}"
        )
    return [*leading, *((axis,) if isinstance(axis, str) else tuple(axis) for axis in own)]


def _symbols() -> Iterator[str]:
    yield from "ijklmnopqrstuvwxyz"
    number = 1
    while True:
        yield f"z_{number}"
        number += 1


def shardy_text(rule: SdyShardingRule, operands: Sequence[Shape], results: Sequence[Shape]) -> str:
    """A rule for arrays of given shapes as an attribute of Shardy.

    Raises:
        ValueError: as :func:`factors_of`.

    Example:
        >>> from plugjax.experimental.custom_partitioning.sharding_rule import parsed
        >>> shardy_text(parsed("a b -> a", reduction_factors=("b",)), [(4, 2)], [(4,)])
        '#sdy.op_sharding_rule<([i, j])->([i]) {i=4, j=2} reduction={j}, custom>'
    """
    found = factors_of(rule, operands, results)
    symbols = dict(zip(found.sizes, _symbols(), strict=False))
    sides = [
        ", ".join(
            f"[{', '.join(''.join(symbols[name] for name in axis) for axis in axes)}]"
            for axes in side
        )
        for side in (found.operands, found.results)
    ]
    sizes = ", ".join(f"{symbols[name]}={size}" for name, size in found.sizes.items())
    kinds = {
        "reduction": rule.reduction_factors,
        "need_replication": rule.need_replication_factors,
        "permutation": rule.permutation_factors,
    }
    special = "".join(
        f" {kind}={{{', '.join(sorted((symbols[n] for n in names), key=list(symbols.values()).index))}}}"
        for kind, names in kinds.items()
        if names
    )
    return f"#sdy.op_sharding_rule<({sides[0]})->({sides[1]}) {{{sizes}}}{special}, custom>"
