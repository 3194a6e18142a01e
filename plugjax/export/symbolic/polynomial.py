"""Polynomials with integer coefficients, whose atoms are variables and operations that no polynomial expresses.

``2*n*mod(m, 3) + 1`` has the terms ``n*mod(m, 3)`` with coefficient 2 and the empty term with coefficient 1. Terms are
ordered by their size, then by their factors, the greatest first; so equal polynomials have equal tuples of terms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property, total_ordering
from typing import Any, TypeAlias

FLOORDIV, MOD, MAX, MIN = "floordiv", "mod", "max", "min"


@total_ordering
class Atom:
    """A variable, or an operation of two polynomials.

    Attributes:
        label: name of the variable or of the operation.
        operands: of the operation; none for a variable.
        key: by which atoms are compared.
    """

    __slots__ = ("_hash", "key", "label", "operands")

    def __init__(self, label: str, *operands: Polynomial) -> None:
        self.label = label
        self.operands = operands
        size = 1 + sum(operand.size for operand in operands)
        self.key: tuple[Any, ...] = (size, label, *[operand.key for operand in operands])
        self._hash = hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Atom) and self.key == other.key

    def __lt__(self, other: Atom) -> bool:
        return self.key < other.key

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        if not self.operands:
            return self.label
        return f"{self.label}({', '.join(map(str, self.operands))})"


Term: TypeAlias = tuple[tuple[Atom, int], ...]
ONE: Term = ()


def _size(term: Term) -> int:
    return sum(1 + power * int(atom.key[0]) for atom, power in term)


def _order(term: Term) -> tuple[Any, ...]:
    return _size(term), tuple((atom.key, power) for atom, power in term)


def product(left: Term, right: Term) -> Term:
    """The product of two terms."""
    return _multiplied(left, right, 1)


def quotient(left: Term, right: Term) -> Term | None:
    """The term whose product with ``right`` is ``left``, if there is one."""
    found = _multiplied(left, right, -1)
    return found if all(power > 0 for _, power in found) else None


def _multiplied(left: Term, right: Term, sign: int) -> Term:
    powers = dict(left)
    for atom, power in right:
        powers[atom] = powers.get(atom, 0) + sign * power
    return tuple(sorted(((a, p) for a, p in powers.items() if p), reverse=True))


def _term_text(term: Term) -> str:
    return "*".join(
        f"{atom}^{power}" if power != 1 else str(atom) for atom, power in reversed(term)
    )


class Polynomial:
    """A sum of terms with coefficients, immutable.

    Attributes:
        terms: pairs of a term and its coefficient, the greatest term first.
    """

    def __init__(self, coefficients: Mapping[Term, int]) -> None:
        kept = [(term, k) for term, k in coefficients.items() if k]
        self.terms: tuple[tuple[Term, int], ...] = tuple(
            sorted(kept, key=lambda pair: _order(pair[0]), reverse=True)
        )

    @staticmethod
    def constant(value: int) -> Polynomial:
        """A number."""
        return Polynomial({ONE: value})

    @staticmethod
    def atom(atom: Atom) -> Polynomial:
        """An atom."""
        return Polynomial({((atom, 1),): 1})

    @cached_property
    def size(self) -> int:
        """The measure by which polynomials are ordered first."""
        return sum(1 + abs(k) * _size(term) for term, k in self.terms) or 1

    @cached_property
    def key(self) -> tuple[Any, ...]:
        """By which polynomials are compared and ordered."""
        pairs = self.terms or ((ONE, 0),)
        return self.size, tuple((_order(term), k) for term, k in pairs)

    @cached_property
    def _hash(self) -> int:
        return hash(self.key)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Polynomial) and self.terms == other.terms

    @property
    def value(self) -> int | None:
        """The number that it is, or ``None`` if it has variables."""
        if not self.terms:
            return 0
        term, k = self.terms[0]
        return None if term else k

    @property
    def variables(self) -> frozenset[str]:
        """Names of the variables in it."""
        found: set[str] = set()
        for term, _ in self.terms:
            for atom, _ in term:
                if not atom.operands:
                    found.add(atom.label)
                for operand in atom.operands:
                    found |= operand.variables
        return frozenset(found)

    def plus(self, other: Polynomial, scale: int = 1) -> Polynomial:
        """The sum with a multiple of another one."""
        found = dict(self.terms)
        for term, k in other.terms:
            found[term] = found.get(term, 0) + scale * k
        return Polynomial(found)

    def times(self, other: Polynomial) -> Polynomial:
        """The product."""
        found: dict[Term, int] = {}
        for left, j in self.terms:
            for right, k in other.terms:
                term = product(left, right)
                found[term] = found.get(term, 0) + j * k
        return Polynomial(found)

    def scaled(self, factor: int) -> Polynomial:
        """The product with a number."""
        return Polynomial({term: k * factor for term, k in self.terms})

    def divided(self, divisor: Polynomial) -> tuple[Polynomial, int] | None:
        """The quotient and a number that remains, or ``None`` if the quotient is no polynomial.

        The remainder is 0 unless the divisor is a number.

        Raises:
            ZeroDivisionError: the divisor is 0.
        """
        if not divisor.terms:
            raise ZeroDivisionError("division of a dimension by zero")
        leading, by = divisor.terms[0]
        rest, found = self, Polynomial({})
        while rest.value is None:
            term, k = rest.terms[0]
            step = quotient(term, leading)
            if step is None or k % by:
                return None
            part = Polynomial({step: k // by})
            found, rest = found.plus(part), rest.plus(part.times(divisor), -1)
        number = rest.value
        if leading:
            return None if number else (found, 0)
        whole, remainder = divmod(number, by)
        return found.plus(Polynomial.constant(whole)), remainder

    def rewritten(self, rules: Mapping[Term, tuple[Polynomial, int]]) -> Polynomial:
        """The polynomial with one term replaced: ``rules[term] = (other, k)`` says that ``k`` times the term equals ``other``."""
        for term, k in self.terms:
            for part in (term, *[(factor,) for factor in term if len(term) > 1]):
                found = rules.get(part)
                if found is not None and k % found[1] == 0:
                    others = _multiplied(term, part, -1)
                    put = found[0].times(Polynomial({others: k // found[1]}))
                    return self.plus(Polynomial({term: k}), -1).plus(put)
        return self

    def evaluate(self, variable: Callable[[str], Any], operation: Callable[..., Any]) -> Any:
        """The value for values of the variables.

        Args:
            variable: the value of a variable, by name.
            operation: ``(name, left, right)`` gives the value of an operation.
        """
        total: Any = 0
        for term, k in self.terms:
            value: Any = k
            for atom, power in term:
                if atom.operands:
                    operands = [each.evaluate(variable, operation) for each in atom.operands]
                    base = operation(atom.label, *operands)
                else:
                    base = variable(atom.label)
                for _ in range(power):
                    value = base if isinstance(value, int) and value == 1 else value * base
            total = value if isinstance(total, int) and total == 0 else total + value
        return total

    def __str__(self) -> str:
        return _joined(_signed(term, k) for term, k in self.terms) or "0"


def _signed(term: Term, k: int) -> str:
    sign, size = "+" if k > 0 else "-", abs(k)
    if not term:
        return f"{sign} {size}"
    return f"{sign} {_term_text(term)}" if size == 1 else f"{sign} {size}*{_term_text(term)}"


def _joined(parts: Iterable[str]) -> str:
    return " ".join(parts).removeprefix("+ ")
