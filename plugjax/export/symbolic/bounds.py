"""Bounds of polynomials: what follows from what is known of variables and operations.

All that is known is a set of facts ``p >= 0``. A lower bound of ``q`` is found by elimination: if ``q`` has the greatest
term ``t`` and a fact has it with the same sign, then for positive ``a`` and ``b`` with ``a*q - b*p`` free of ``t``, ``q`` is at
least the bound of ``a*q - b*p``, over ``a``. Bounds found are right, but need not be the best.

Reference:
    Fourier-Motzkin elimination, with terms in the place of variables.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from plugjax.export.symbolic.polynomial import (
    FLOORDIV,
    MAX,
    MIN,
    MOD,
    Atom,
    Polynomial,
    Term,
)
from plugjax.extend.errors import InconclusiveDimensionOperation

# Numbers and infinities, which Python compares and multiplies as they should be.
Bound = float | int

_DEEPEST = 12


class Facts:
    """What is known of variables and operations. Variables are at least 1."""

    def __init__(self) -> None:
        self._facts: dict[Term, list[Polynomial]] = {}
        self._known: set[Polynomial] = set()
        self._seen: set[Term] = set()

    def copy(self) -> Facts:
        """Facts that may grow apart from these."""
        new = Facts()
        new._facts = {term: list(facts) for term, facts in self._facts.items()}
        new._known, new._seen = set(self._known), set(self._seen)
        return new

    def state(self, fact: Polynomial, words: str) -> None:
        """Add that a polynomial is at least 0, and what follows of this and a fact that is known.

        Raises:
            ValueError: nothing can satisfy it.
        """
        self.learn(fact)
        self._add(fact, words)
        for other in list(itertools.chain.from_iterable(self._facts.values())):
            for combined in _combinations(fact, other):
                self._add(combined, words)

    def _add(self, fact: Polynomial, words: str = "") -> None:
        fact = _tightened(fact)
        value = fact.value
        if value is not None:
            if value < 0:
                raise ValueError(
                    f"SymbolicScope: Unsatisfiable constraint{f': {words}' if words else ''}."
                )
        elif fact not in self._known:
            self._known.add(fact)
            self._facts.setdefault(fact.terms[0][0], []).append(fact)

    def learn(self, polynomial: Polynomial) -> None:
        """Add what holds of the variables and operations in a polynomial."""
        for term, _ in polynomial.terms:
            if term and term not in self._seen:
                self._seen.add(term)
                self._learn_term(term)

    def _learn_term(self, term: Term) -> None:
        itself = Polynomial({term: 1})
        if len(term) > 1 or term[0][1] > 1:
            ranges = []
            for atom, power in term:
                self.learn(Polynomial.atom(atom))
                low, high = self._range(Polynomial.atom(atom))
                ranges.append((low**power, high**power))
            corners = [math.prod(corner) for corner in itertools.product(*ranges)]
            self._between(itself, min(corners), max(corners))
            return
        atom = term[0][0]
        if not atom.operands:
            self._between(itself, 1, math.inf)
            return
        left, right = atom.operands
        self.learn(left)
        self.learn(right)
        _LEARN[atom.label](self, itself, left, right)

    def _learn_mod(self, itself: Polynomial, left: Polynomial, right: Polynomial) -> None:
        low, high = self._range(right)
        if low > 0:
            self._between(itself, 0, high - 1)
            self._add(right.plus(itself, -1).plus(Polynomial.constant(-1)))
        elif high < 0:
            self._between(itself, low + 1, 0)
            self._add(itself.plus(right, -1).plus(Polynomial.constant(-1)))

    def _learn_floordiv(self, itself: Polynomial, left: Polynomial, right: Polynomial) -> None:
        (low, high), (by_low, by_high) = self._range(left), self._range(right)
        if by_low <= 0 <= by_high:
            raise InconclusiveDimensionOperation(f"Possible division by 0 in division by {right}.")
        corners = [_floor(a, b) for a in (low, high) for b in (by_low, by_high)]
        self._between(itself, min(corners), max(corners))
        if by_low > 0:
            rest = Polynomial.atom(Atom(MOD, left, right))
            self.learn(rest)
            difference = left.plus(right.times(itself), -1).plus(rest, -1)
            for sign in (1, -1):
                self.state(difference.scaled(sign), "")

    def _learn_max(self, itself: Polynomial, left: Polynomial, right: Polynomial) -> None:
        (low, high), (low2, high2) = self._range(left), self._range(right)
        self._between(itself, max(low, low2), max(high, high2))
        for operand in (left, right):
            self.state(itself.plus(operand, -1), "")

    def _learn_min(self, itself: Polynomial, left: Polynomial, right: Polynomial) -> None:
        (low, high), (low2, high2) = self._range(left), self._range(right)
        self._between(itself, min(low, low2), min(high, high2))
        for operand in (left, right):
            self.state(operand.plus(itself, -1), "")

    def _between(self, polynomial: Polynomial, low: Bound, high: Bound) -> None:
        if low > -math.inf:
            self._add(polynomial.plus(Polynomial.constant(int(low)), -1))
        if high < math.inf:
            self._add(Polynomial.constant(int(high)).plus(polynomial, -1))

    def bounds(self, polynomial: Polynomial) -> tuple[Bound, Bound]:
        """A number that a polynomial is never below, and one that it is never above.

        Raises:
            InconclusiveDimensionOperation: it holds a division by what may be 0.
        """
        self.learn(polynomial)
        return self._range(polynomial)

    def _range(self, polynomial: Polynomial) -> tuple[Bound, Bound]:
        return self._lower(polynomial, _DEEPEST), -self._lower(polynomial.scaled(-1), _DEEPEST)

    def _lower(self, polynomial: Polynomial, depth: int) -> Bound:
        value = polynomial.value
        if value is not None:
            return value
        best: Bound = -math.inf
        if depth == 0:
            return best
        term, k = polynomial.terms[0]
        for fact in self._facts.get(term, ()):
            other = fact.terms[0][1]
            if other * k > 0:
                shared = math.gcd(k, other)
                a, b = abs(other) // shared, abs(k) // shared
                rest = polynomial.scaled(a).plus(fact, -b)
                found = self._lower(rest, depth - 1)
                if found > -math.inf:
                    best = max(best, -(-int(found) // a))
        atom = term[0][0]
        if len(term) == 1 and term[0][1] == 1 and atom.label in (MAX, MIN) and atom.operands:
            rest = polynomial.plus(Polynomial({term: k}), -1)
            sides = [self._lower(rest.plus(each, k), depth - 1) for each in atom.operands]
            best = max(best, max(sides) if (atom.label == MAX) == (k > 0) else min(sides))
        return best


_LEARN = {
    MOD: Facts._learn_mod,
    FLOORDIV: Facts._learn_floordiv,
    MAX: Facts._learn_max,
    MIN: Facts._learn_min,
}


def _combinations(fact: Polynomial, other: Polynomial) -> Sequence[Polynomial]:
    """Facts that follow from two, in which a term of both is gone."""
    found = []
    others = dict(other.terms)
    for term, k in fact.terms:
        j = others.get(term, 0)
        if term and j * k < 0:
            found.append(fact.scaled(abs(j)).plus(other, abs(k)))
    return found


def _tightened(fact: Polynomial) -> Polynomial:
    """The strongest fact of integers that a fact is: ``2*n - 3 >= 0`` is ``n - 2 >= 0``."""
    shared = math.gcd(*[k for term, k in fact.terms if term])
    if shared <= 1:
        return fact
    return Polynomial({term: k // shared for term, k in fact.terms})


def _floor(a: Bound, b: Bound) -> Bound:
    """``a // b``, or its limit where one of them is infinite."""
    same = (a >= 0) == (b >= 0)
    if not math.isinf(a) and not math.isinf(b):
        return int(a) // int(b)
    if math.isinf(a):
        return math.inf if same else -math.inf
    return 0 if same else -1
