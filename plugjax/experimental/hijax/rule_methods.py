"""Primitives whose methods are their rules: the older form of operations on values of a program's own types."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from plugjax.experimental.hijax.mutable_types import AvalMutableQDD, AvalQDD, MutableState
from plugjax.extend.calls import define
from plugjax.extend.core import Primitive, aval_of
from plugjax.extend.rules import (
    abstract_eval,
    expand_rule,
    jvp_rule,
    opened_rule,
    transpose_rule,
)
from plugjax.extend.transforms import current, current_state, is_mutable, stands_for


class HiPrimitive(Primitive):
    """A primitive with its rules as methods.

    A subclass has ``abstract_eval``, which gives the type of the result and a set of effects, and ``to_lojax``, which computes it;
    ``jvp`` and ``transpose`` for derivatives; and ``multiple_results = True`` if it gives a list.

    Args:
        name: in programs.

    Differs from JAX:
        Effects are not recorded: what ``to_lojax`` does is.

    Example:
        >>> import plugjax
        >>> from plugjax.experimental.hijax import HiPrimitive
        >>> class Twice(HiPrimitive):
        ...     def abstract_eval(self, x):
        ...         return x, set()
        ...     def to_lojax(self, x):
        ...         return x + x
        ...     def jvp(self, primals, tangents):
        ...         return twice_p.bind(*primals), twice_p.bind(*tangents)
        ...     def transpose(self, ct, x):
        ...         return [twice_p.bind(ct)]
        >>> twice_p = Twice("twice")
        >>> plugjax.grad(twice_p.bind)(3.0)
        Array(2., dtype=float32, weak_type=True)
    """

    multiple_results = False

    def __init__(self, name: str) -> None:
        # Equations that stand for a function have a list of results.
        super().__init__(name, multiple_results=True, structured=True)
        define(abstract_eval, self, self._avals)
        define(expand_rule, self, self._expand)
        define(jvp_rule, self, self._jvp)
        define(transpose_rule, self, self._transpose)
        define(opened_rule, self, self._opened)

    def bind(self, *args: Any, **params: Any) -> Any:
        """The result of the operation."""
        found = super().bind(*args, **params)
        return found if type(self).multiple_results else found[0]

    def is_high(self, *avals: Any, **params: Any) -> bool:
        """Whether it is expanded before programs are compiled: always."""
        return True

    def is_effectful(self, params: Any) -> bool:
        """Whether it does something beside its results."""
        return False

    def abstract_eval(self, *arg_avals: Any, **params: Any) -> Any:
        """The type of the result, and effects."""
        raise self._lacking("abstract_eval")

    def to_lojax(self, *values: Any, **params: Any) -> Any:
        """The result, computed by operations on arrays."""
        raise self._lacking("to_lojax")

    def jvp(self, primals: Any, tangents: Any, **params: Any) -> Any:
        """The result and its tangent."""
        raise self._lacking("jvp")

    def transpose(self, *args: Any, **params: Any) -> Any:
        """The cotangents of the operands, given that of the result and the operands."""
        raise self._lacking("transpose")

    def _lacking(self, method: str) -> NotImplementedError:
        return NotImplementedError(f"{type(self).__name__} must implement `{method}`")

    def _listed(self, found: Any) -> list[Any]:
        return list(found) if type(self).multiple_results else [found]

    def _avals(self, *avals: Any, **params: Any) -> list[Any]:
        found, _ = self.abstract_eval(*avals, **params)
        return self._listed(found)

    def _expand(self, **params: Any) -> Callable[..., list[Any]]:
        return lambda *values: self._listed(self.to_lojax(*values, **params))

    def _opened(self, trace: Any, args: Sequence[Any], **params: Any) -> list[Any] | None:
        """Run the operation on what stands in for mutable operands, if there are any, or results are mutable."""
        given = [
            AvalMutableQDD(aval_of(x), MutableState(current_state(x)))
            if is_mutable(x)
            else aval_of(x)
            for x in args
        ]
        found, _ = self.abstract_eval(*given, **params)
        if not any(
            isinstance(a, (AvalMutableQDD, AvalQDD)) for a in (*given, *self._listed(found))
        ):
            return None
        results = self._listed(
            self.to_lojax(*(current(x) if is_mutable(x) else x for x in args), **params)
        )
        for y in filter(is_mutable, results):
            stands_for(trace, y, y)
        return results

    def _jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[list[Any], list[Any]]:
        out, out_dot = self.jvp(primals, tangents, **params)
        return self._listed(out), self._listed(out_dot)

    def _transpose(self, cotangents: Sequence[Any], *operands: Any, **params: Any) -> Any:
        given = cotangents if type(self).multiple_results else cotangents[0]
        return self.transpose(given, *operands, **params)
