"""Dimensions: sizes that are expressions of variables, and the scope in which these have a meaning.

A dimension behaves as an integer where the answer holds for all values of its variables, and raises
``InconclusiveDimensionOperation`` where it does not. Variables are positive, and satisfy the constraints of their scope.
"""

from __future__ import annotations

import functools
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, TypeGuard

import numpy as np

from plugjax.export.symbolic.bounds import Bound, Facts
from plugjax.export.symbolic.parsing import ShapeParser
from plugjax.export.symbolic.polynomial import FLOORDIV, MAX, MIN, MOD, Atom, Polynomial, Term
from plugjax.export.symbolic.values import size_as_value
from plugjax.extend.errors import InconclusiveDimensionOperation

_OPERATIONS = (FLOORDIV, MOD, MAX, MIN)
_CONSTRAINT = re.compile(r"(.*?)(==|>=|<=)(.*)", re.DOTALL)


class SymbolicScope:
    """The variables of dimensions that may meet, and what is known of them.

    Args:
        constraints_str: constraints such as ``"n >= 3"``, ``"a <= b"`` or ``"mod(n, 2) == 0"``.

    Raises:
        ValueError: a constraint cannot be read, or nothing satisfies them all.
        NotImplementedError: two equations have the same left side.

    Example:
        >>> from plugjax import export
        >>> scope = export.SymbolicScope(["n >= 4"])
        >>> (n,) = export.symbolic_shape("n", scope=scope)
        >>> n >= 4
        True
    """

    def __init__(self, constraints_str: Sequence[str] = ()) -> None:
        if isinstance(constraints_str, str):
            raise ValueError(
                f"SymbolicScope: The symbolic constraints should be a sequence of strings, got {constraints_str!r}."
            )
        self._constraints: list[str] = []
        self._differences: list[tuple[bool, Polynomial]] = []
        self._rules: dict[Term, tuple[Polynomial, int]] = {}
        self._facts = Facts()
        self._bounds: dict[Polynomial, tuple[Bound, Bound]] = {}
        for text in constraints_str:
            self._constrain(text)

    def _constrain(self, text: str) -> None:
        if not isinstance(text, str):
            raise ValueError(f"SymbolicScope: a constraint must be a string, got {text!r}.")
        found = _CONSTRAINT.fullmatch(text)
        if found is None:
            raise ValueError(
                f"SymbolicScope: Constraint parsing error in {text!r}: it must contain one of '==' or '>=' or '<='."
            )
        left, relation, right = found.groups()
        first, second = self._one(left), self._one(right)
        if relation == "<=":
            first, second = second, first
        difference = first.plus(second, -1)
        value = difference.value
        if value is not None:
            if value < 0 or (relation == "==" and value):
                raise ValueError(f"SymbolicScope: Unsatisfiable explicit constraint: {text}.")
            return
        if relation == "==":
            self._equate(first, second, text)
        self._facts.state(difference, text)
        if relation == "==":
            self._facts.state(difference.scaled(-1), text)
        self._constraints.append(text)
        self._differences.append((relation == "==", difference))
        self._bounds.clear()

    def constraints(self) -> list[tuple[str, bool, Size]]:
        """The constraints: their text, whether they are equations, and the left side less the right one."""
        # A rule of the scope would make the difference of an equation 0.
        return [
            (text, equal, Dimension(difference, self))
            for text, (equal, difference) in zip(self._constraints, self._differences, strict=True)
        ]

    def variable(self, name: str) -> Size:
        """A variable as a size."""
        return self._variable(name)

    def _one(self, text: str) -> Polynomial:
        sizes = self._parse(text, None)
        if len(sizes) != 1:
            raise ValueError(
                f"SymbolicScope: a side of a constraint is one expression, got {text!r}."
            )
        return as_polynomial(sizes[0])

    def _equate(self, first: Polynomial, second: Polynomial, text: str) -> None:
        if first.value is not None or len(first.terms) != 1:
            raise ValueError(
                f"SymbolicScope: Invalid equality constraint: {text}. The left-hand-side must be of the form "
                "`term * coefficient`."
            )
        ((term, k),) = first.terms
        if term in self._rules:
            raise NotImplementedError(
                f"SymbolicScope: Found multiple equality constraints with the same left-hand-side: {text}."
            )
        self._rules[term] = (second, k)
        atom = term[0][0]
        if k == 1 and second.value == 0 and len(term) == 1 and atom.label == MOD and atom.operands:
            by = atom.operands[1].value
            if by is not None:
                # What is divisible is its quotient times the divisor.
                whole = ((Atom(FLOORDIV, *atom.operands), 1),)
                self._rules.setdefault(whole, (atom.operands[0], by))

    def _parse(self, text: str, like: Sequence[Any] | None) -> tuple[Any, ...]:
        return ShapeParser(text, self._variable, self._operation, _OPERATIONS, like).shape()

    def _variable(self, name: str) -> Size:
        return self.dimension(Polynomial.atom(Atom(name)))

    def _operation(self, name: str, left: Size, right: Size) -> Size:
        if name == MAX:
            return max_dim(left, right)
        if name == MIN:
            return min_dim(left, right)
        return self.dimension(
            Polynomial.atom(Atom(name, as_polynomial(left), as_polynomial(right)))
        )

    def dimension(self, polynomial: Polynomial) -> Size:
        """A polynomial as a size: a number if it is one."""
        if self._rules:
            polynomial = polynomial.rewritten(self._rules)
        value = polynomial.value
        return Dimension(polynomial, self) if value is None else value

    def bounds(self, polynomial: Polynomial) -> tuple[Bound, Bound]:
        """The least and the greatest value that a polynomial may have, as far as it is known."""
        found = self._bounds.get(polynomial)
        if found is None:
            found = self._bounds[polynomial] = self._facts.copy().bounds(polynomial)
        return found

    def check_same(self, other: Dimension, when: str) -> None:
        """Refuse a dimension of another scope."""
        if other.scope is not self:
            raise ValueError(
                f"Invalid mixing of symbolic scopes {when}: expected {self}, and found for '{other}' {other.scope}. Make both "
                "shapes with one SymbolicScope: symbolic_shape(..., scope=scope)."
            )

    def __repr__(self) -> str:
        constraints = (
            f" with constraints: {', '.join(self._constraints)}" if self._constraints else ""
        )
        return f"scope {id(self)}{constraints}"


class Dimension:
    """A size that is no number: a polynomial in its scope."""

    __slots__ = ("_hash", "polynomial", "scope")
    # Avals keep sizes of such a class.
    symbolic_size = True
    # NumPy's numbers leave arithmetic to this class.
    __array_priority__ = 1000

    def __init__(self, polynomial: Polynomial, scope: SymbolicScope) -> None:
        self.polynomial = polynomial
        self.scope = scope
        self._hash = hash((polynomial, id(scope)))

    def __repr__(self) -> str:
        return str(self.polynomial)

    def __hash__(self) -> int:
        return self._hash

    def _other(self, other: Any, name: str) -> Polynomial | None:
        if isinstance(other, Dimension):
            self.scope.check_same(other, f"for {name}")
            return other.polynomial
        if hasattr(other, "dtype") and not isinstance(other, np.integer):
            return None
        try:
            return Polynomial.constant(operator.index(other))
        except TypeError:
            return None

    def _made(
        self, other: Any, name: str, make: Callable[[Polynomial], Any], value: Callable[[Any], Any]
    ) -> Any:
        """A size, or a value if the other operand is none."""
        found = self._other(other, name)
        if found is not None:
            return make(found)
        if hasattr(other, "aval"):
            # An array takes a size as its operand.
            return NotImplemented
        return value(self.__jax_array__())

    def __add__(self, other: Any) -> Any:
        return self._made(
            other, "addition",
            lambda p: self.scope.dimension(self.polynomial.plus(p)), lambda v: v + other,
        )  # fmt: skip

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self._made(
            other, "subtraction",
            lambda p: self.scope.dimension(self.polynomial.plus(p, -1)), lambda v: v - other,
        )  # fmt: skip

    def __rsub__(self, other: Any) -> Any:
        return self._made(
            other, "subtraction",
            lambda p: self.scope.dimension(p.plus(self.polynomial, -1)), lambda v: other - v,
        )  # fmt: skip

    def __neg__(self) -> Any:
        return self.scope.dimension(self.polynomial.scaled(-1))

    def __mul__(self, other: Any) -> Any:
        return self._made(
            other, "multiplication",
            lambda p: self.scope.dimension(self.polynomial.times(p)), lambda v: v * other,
        )  # fmt: skip

    __rmul__ = __mul__

    def __rpow__(self, base: Any) -> Any:
        return base ** self.__jax_array__()

    def __pow__(self, power: Any) -> Any:
        if isinstance(power, Dimension):
            return self.__jax_array__() ** power.__jax_array__()
        if hasattr(power, "aval"):
            return NotImplemented
        number = operator.index(power) if not isinstance(power, float) else power
        if number != int(number):
            raise ValueError(
                f"Symbolic dimension cannot be raised to non-integer powers: '{self}' ** '{power}'"
            )
        if number < 0:
            raise ValueError(
                f"Symbolic dimension cannot be raised to negative powers: '{self}' ** '{power}'"
            )
        return functools.reduce(operator.mul, [self] * int(number), 1)

    def _divmod(self, dividend: Polynomial, divisor: Polynomial) -> tuple[Any, Any]:
        found = dividend.divided(divisor)
        if found is not None:
            return self.scope.dimension(found[0]), found[1]
        quotient, rest = (
            Polynomial.atom(Atom(name, dividend, divisor)) for name in (FLOORDIV, MOD)
        )
        return self.scope.dimension(quotient), self.scope.dimension(rest)

    def __divmod__(self, other: Any) -> Any:
        return self._made(
            other, "division",
            lambda p: self._divmod(self.polynomial, p), lambda v: (v // other, v % other),
        )  # fmt: skip

    def __rdivmod__(self, other: Any) -> Any:
        return self._made(
            other, "division",
            lambda p: self._divmod(p, self.polynomial), lambda v: (other // v, other % v),
        )  # fmt: skip

    def __floordiv__(self, other: Any) -> Any:
        found = self.__divmod__(other)
        return found if found is NotImplemented else found[0]

    def __rfloordiv__(self, other: Any) -> Any:
        found = self.__rdivmod__(other)
        return found if found is NotImplemented else found[0]

    def __mod__(self, other: Any) -> Any:
        found = self.__divmod__(other)
        return found if found is NotImplemented else found[1]

    def __rmod__(self, other: Any) -> Any:
        found = self.__rdivmod__(other)
        return found if found is NotImplemented else found[1]

    def max(self, other: Size) -> Size:
        """The greater one of two sizes."""
        return max_dim(self, other)

    def min(self, other: Size) -> Size:
        """The smaller one of two sizes."""
        return min_dim(self, other)

    def __jax_array__(self) -> Any:
        """The size as a value of the program under construction."""
        return size_as_value(self)

    def __truediv__(self, other: Any) -> Any:
        return self.__jax_array__() / _operand(other)

    def __rtruediv__(self, other: Any) -> Any:
        return _operand(other) / self.__jax_array__()

    def __int__(self) -> int:
        raise InconclusiveDimensionOperation(
            f"Symbolic dimension '{self}' used in a context that requires a constant: its value is not known while tracing."
        )

    def __eq__(self, other: object) -> bool:
        if hasattr(other, "aval"):
            return NotImplemented
        if isinstance(other, Dimension):
            return self.scope is other.scope and self.polynomial == other.polynomial
        return False

    def __ge__(self, other: Any) -> Any:
        return self._compared(
            other,
            lambda: self._at_least(self, other, f"'{self}' >= '{other}'"),
            lambda v: v >= other,
        )

    def __le__(self, other: Any) -> Any:
        return self._compared(
            other,
            lambda: self._at_least(other, self, f"'{self}' <= '{other}'"),
            lambda v: v <= other,
        )

    def __gt__(self, other: Any) -> Any:
        return self._compared(
            other,
            lambda: not self._at_least(other, self, f"'{self}' > '{other}'"),
            lambda v: v > other,
        )

    def __lt__(self, other: Any) -> Any:
        return self._compared(
            other,
            lambda: not self._at_least(self, other, f"'{self}' < '{other}'"),
            lambda v: v < other,
        )

    def _compared(self, other: Any, decide: Callable[[], bool], value: Callable[[Any], Any]) -> Any:
        """What is known of two sizes; a comparison with another number is a value."""
        if hasattr(other, "aval"):
            return NotImplemented
        if isinstance(other, (float, np.ndarray, np.inexact)):
            return value(self.__jax_array__())
        return decide()

    def _at_least(self, left: Any, right: Any, words: str) -> bool:
        for side in (left, right):
            if self._other(side, f"the comparison {words}") is None:
                raise TypeError(f"a symbolic dimension is compared with sizes, got {words}.")
        low, high = self.scope.bounds(as_polynomial(left).plus(as_polynomial(right), -1))
        if low >= 0:
            return True
        if high < 0:
            return False
        known = f" Using symbolic {self.scope}." if self.scope._constraints else ""
        raise InconclusiveDimensionOperation(
            f"Symbolic dimension comparison {words} is inconclusive: it holds for some sizes and not for others.{known} "
            "State what you know: symbolic_shape(..., constraints=[...])."
        )

    def larger(self, other: Size) -> Size:
        """The greater of this size and another one."""
        return max_dim(self, other)

    def smaller(self, other: Size) -> Size:
        """The smaller of this size and another one."""
        return min_dim(self, other)

    def evaluate(
        self,
        sizes: Mapping[str, Any],
        operations: Mapping[str, Callable[[Any, Any], Any]] | None = None,
    ) -> Any:
        """The value for values of the variables.

        Args:
            sizes: values by name.
            operations: what ``floordiv``, ``mod``, ``max`` and ``min`` do, by name; by default what they do to integers.

        Raises:
            KeyError: a variable has none.
        """
        known = _OF_SIZES if operations is None else operations
        return self.polynomial.evaluate(
            sizes.__getitem__, lambda name, left, right: known[name](left, right)
        )


Size: TypeAlias = int | Dimension


def _operand(value: Any) -> Any:
    return value.__jax_array__() if isinstance(value, Dimension) else value


def as_polynomial(size: Size) -> Polynomial:
    """A size as a polynomial."""
    if isinstance(size, Dimension):
        return size.polynomial
    return Polynomial.constant(operator.index(size))


def is_symbolic_dim(p: Any) -> TypeGuard[Dimension]:
    """Whether a size is an expression of variables, and not a number.

    Example:
        >>> from plugjax import export
        >>> [export.is_symbolic_dim(d) for d in export.symbolic_shape("n, 3")]
        [True, False]
    """
    return isinstance(p, Dimension)


def max_dim(left: Size, right: Size) -> Size:
    """The greater of two sizes."""
    return _extreme(MAX, left, right)


def min_dim(left: Size, right: Size) -> Size:
    """The smaller of two sizes."""
    return _extreme(MIN, left, right)


def _extreme(name: str, left: Size, right: Size) -> Size:
    symbolic = left if isinstance(left, Dimension) else right
    if not isinstance(symbolic, Dimension):
        return max(left, right) if name == MAX else min(left, right)
    if isinstance(left, Dimension) and isinstance(right, Dimension):
        left.scope.check_same(right, f"for {name}")
    first, second = as_polynomial(left), as_polynomial(right)
    low, high = symbolic.scope.bounds(first.plus(second, -1))
    if low >= 0:
        return left if name == MAX else right
    if high <= 0:
        return right if name == MAX else left
    return symbolic.scope.dimension(Polynomial.atom(Atom(name, first, second)))


_OF_SIZES: Mapping[str, Callable[[Any, Any], Any]] = {
    FLOORDIV: operator.floordiv, MOD: operator.mod, MAX: max_dim, MIN: min_dim,
}  # fmt: skip


def symbolic_shape(
    shape_spec: str | None,
    *,
    constraints: Sequence[str] = (),
    scope: SymbolicScope | None = None,
    like: Sequence[int | None] | None = None,
) -> tuple[Any, ...]:
    """A shape with sizes that are not known.

    Args:
        shape_spec: sizes such as ``"b, 2*n, 3"``, of ``+``, ``-``, ``*``, ``^``, ``floordiv``, ``mod``, ``max``, ``min``; ``_`` is the size
            that ``like`` has there, and ``...`` are all of its further ones. ``None`` is ``"..."``.
        constraints: what is known of the sizes, as for :class:`SymbolicScope`.
        scope: the scope of the variables; by default a new one.
        like: a shape for the placeholders.

    Raises:
        ValueError: the text is no shape or does not fit ``like``, or both ``scope`` and ``constraints`` are given.

    Example:
        >>> from plugjax import export
        >>> b, n = export.symbolic_shape("b, 2*n")
        >>> b * n
        2*b*n
    """
    if shape_spec is None:
        shape_spec = "..."
    elif not isinstance(shape_spec, str):
        raise ValueError(
            f"symbolic_shape: polymorphic shape spec should be None or a string, got {shape_spec!r}."
        )
    if scope is None:
        scope = SymbolicScope(constraints)
    elif constraints:
        raise ValueError("symbolic_shape: Cannot specify both a `scope` and `constraints`.")
    return scope._parse(shape_spec, like)
