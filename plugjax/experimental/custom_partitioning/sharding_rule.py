"""Sharding rules: which axes of operands and results belong together.

Each axis has a factor, or several (a compound factor); axes with equal factors are split alike. ``"... i, i j -> ... j"`` says it in
words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

# Stands for any number of axes in front.
BATCHING = "…"

_TOKEN = re.compile(rf"\s*({BATCHING}\d*|\w+|[(),]|\S)")


def _is_batching(factor: str) -> bool:
    return re.fullmatch(rf"{BATCHING}\d*", factor) is not None


def _check_name(factor: str) -> None:
    if not factor[:1].isalpha():
        raise ValueError(f"Factor names have to start with a letter, but got {factor[:1]!r}.")
    wrong = [c for c in factor if not (c == "_" or c.isalnum())]
    if wrong:
        raise ValueError(f"Unknown character {wrong[0]!r} in the factor {factor!r}.")


class CompoundFactor(tuple[str, ...]):
    """Factors of one axis, the one with the greatest stride first.

    Raises:
        ValueError: there are fewer than two, or one is no name.

    Example:
        >>> from plugjax.experimental.custom_partitioning import CompoundFactor
        >>> CompoundFactor("b", "c")
        ('b', 'c')
    """

    __slots__ = ()

    def __new__(cls, *factors: str) -> CompoundFactor:
        """Check the factors."""
        if len(factors) < 2:
            raise ValueError("A compound factor should contain at least two factors.")
        for factor in factors:
            if not isinstance(factor, str):
                raise ValueError(
                    f"Each element of CompoundFactor must be a str, but got {type(factor)}."
                )
            if _is_batching(factor):
                raise ValueError("Ellipsis can't be used in a compound factor.")
            _check_name(factor)
        return tuple.__new__(cls, factors)


class ArrayMapping(tuple[str | CompoundFactor, ...]):
    """The factors of the axes of an operand or a result; the first may be ``BATCHING``.

    Raises:
        ValueError: an entry is neither a name nor a :class:`CompoundFactor`, or ``BATCHING`` is not the first.

    Example:
        >>> from plugjax.experimental.custom_partitioning import ArrayMapping, CompoundFactor
        >>> ArrayMapping("a", CompoundFactor("b", "c"))
        ('a', ('b', 'c'))
    """

    __slots__ = ()

    def __new__(cls, *axes: str | CompoundFactor) -> ArrayMapping:
        """Check the factors."""
        for position, axis in enumerate(axes):
            if isinstance(axis, CompoundFactor):
                continue
            if not isinstance(axis, str):
                raise ValueError(
                    f"Each element of ArrayMapping must be a str or CompoundFactor, but got {type(axis)}."
                )
            if not _is_batching(axis):
                _check_name(axis)
            elif position:
                raise ValueError("Ellipsis can only be used at the beginning of a dimension.")
        return tuple.__new__(cls, axes)


class SdyShardingRule:
    """Which axes of operands and results belong together, for Shardy.

    Args:
        operand_mappings: an :class:`ArrayMapping` for each operand.
        result_mappings: the same for the results.
        reduction_factors: factors over which results are summed.
        need_replication_factors: factors whose axes are whole on each device.
        permutation_factors: factors whose axes need exchanges between neighbours.
        **factor_sizes: sizes of the factors that stand in compound factors only.

    Raises:
        ValueError: a factor is not used, lacks its size or has one that follows from an axis, or is of two kinds.

    Example:
        >>> from plugjax.experimental.custom_partitioning import ArrayMapping, SdyShardingRule
        >>> print(SdyShardingRule((ArrayMapping("i", "j"),), (ArrayMapping("i"),), reduction_factors=("j",)))
        SdyShardingRule((('i', 'j'),), (('i',),), {} reduction_factors=('j',))
    """

    def __init__(
        self,
        operand_mappings: tuple[ArrayMapping, ...],
        result_mappings: tuple[ArrayMapping, ...],
        *,
        reduction_factors: tuple[str, ...] = (),
        need_replication_factors: tuple[str, ...] = (),
        permutation_factors: tuple[str, ...] = (),
        **factor_sizes: int,
    ) -> None:
        self.operand_mappings = operand_mappings
        self.result_mappings = result_mappings
        self.factor_sizes = factor_sizes
        self.reduction_factors = reduction_factors
        self.need_replication_factors = need_replication_factors
        self.permutation_factors = permutation_factors
        self._check_sizes()
        self._check_kinds()

    def _axes(self) -> Iterator[str | CompoundFactor]:
        for mapping in (*self.operand_mappings, *self.result_mappings):
            yield from mapping

    def _factors(self) -> dict[str, bool]:
        """By factor, whether it is that of a whole axis, from which its size follows."""
        found: dict[str, bool] = {}
        for axis in self._axes():
            if isinstance(axis, str):
                found[axis] = True
            else:
                for factor in axis:
                    found.setdefault(factor, False)
        return found

    def _check_sizes(self) -> None:
        factors = self._factors()
        for factor in self.factor_sizes:
            if factor not in factors:
                raise ValueError(f"Factor {factor} is not used in the rule, but size is provided.")
        for factor, whole in factors.items():
            if factor in self.factor_sizes and whole:
                raise ValueError(
                    f"Factor {factor} represents a whole dimension; do not specify its size."
                )
            if factor not in self.factor_sizes and not whole:
                raise ValueError(
                    f"Factor {factor} is only used in compound factors; must specify its size."
                )

    def _kinds(self) -> dict[str, tuple[str, ...]]:
        return {
            "reduction_factors": self.reduction_factors,
            "need_replication_factors": self.need_replication_factors,
            "permutation_factors": self.permutation_factors,
        }

    def _check_kinds(self) -> None:
        known, seen = self._factors(), set[str]()
        for kind, factors in self._kinds().items():
            if not isinstance(factors, tuple):
                raise ValueError(f"{kind} must be a tuple of factors, got {factors!r}.")
            if len(factors) != len(set(factors)):
                raise ValueError(f"{kind} contains duplicated factors: {factors}.")
            for factor in factors:
                if factor not in known:
                    raise ValueError(f"Factor {factor} in {kind} is not used in the rule.")
                if factor in seen:
                    raise ValueError(
                        f"Factor {factor} can only be in one of the reduction, need replication, or permutation factor sets."
                    )
                seen.add(factor)

    def __str__(self) -> str:
        special = "".join(
            f" {kind}={factors}" for kind, factors in self._kinds().items() if factors
        )
        return f"SdyShardingRule({self.operand_mappings}, {self.result_mappings}, {self.factor_sizes}{special})"

    __repr__ = __str__


def parsed(
    rule: str,
    *,
    reduction_factors: tuple[str, ...] = (),
    need_replication_factors: tuple[str, ...] = (),
    permutation_factors: tuple[str, ...] = (),
    **factor_sizes: int,
) -> SdyShardingRule:
    """The rule that a text like ``"... i j -> ... i"`` says; operands and results are separated by commas.

    Raises:
        TypeError: ``rule`` is no text, or a size no integer.
        ValueError: the text cannot be read, or its factors do not fit (:class:`SdyShardingRule`).
    """
    if not isinstance(rule, str):
        raise TypeError(f"rule must be a str, but got {type(rule)}.")
    if not all(isinstance(size, int) for size in factor_sizes.values()):
        raise TypeError(f"factor_sizes must be a dict of str to int, but got {factor_sizes}.")
    if BATCHING in rule:
        raise ValueError(f"Unknown character {BATCHING!r}.")
    text = rule.replace("...", BATCHING)
    if "." in text:
        raise ValueError("Character '.' must be used inside ellipsis '...'.")
    sides = text.split("->")
    if len(sides) != 2:
        raise ValueError(f"There is no -> in rule, or there are several: {rule!r}.")
    operands, results = map(_mappings, sides)
    return SdyShardingRule(
        operands,
        results,
        reduction_factors=reduction_factors,
        need_replication_factors=need_replication_factors,
        permutation_factors=permutation_factors,
        **factor_sizes,
    )


def _mappings(side: str) -> tuple[ArrayMapping, ...]:
    arrays: list[list[str | CompoundFactor]] = [[]]
    compound: list[str] | None = None
    for token in _TOKEN.findall(side):
        if token == "(":
            if compound is not None:
                raise ValueError(
                    "Compound factors should be one level, nested brackets are not allowed."
                )
            compound = []
        elif token == ")":
            if compound is None:
                raise ValueError(f"Brackets are not balanced in {side!r}.")
            if len(compound) < 2:
                raise ValueError("Brackets should contain at least two factors.")
            arrays[-1].append(CompoundFactor(*compound))
            compound = None
        elif token == ",":
            arrays.append([])
        elif _is_batching(token):
            if compound is not None or arrays[-1]:
                raise ValueError("Ellipsis can only be used at the beginning of a dimension.")
            arrays[-1].append(f"{BATCHING}{int(token[1:] or 0)}")
        else:
            _check_name(token)
            (arrays[-1] if compound is None else compound).append(token)
    if compound is not None:
        raise ValueError(f"Brackets are not balanced in {side!r}.")
    return tuple(ArrayMapping(*axes) for axes in arrays)


__all__: Sequence[str] = ["BATCHING", "ArrayMapping", "CompoundFactor", "SdyShardingRule", "parsed"]
