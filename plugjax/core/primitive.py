"""Primitives: the rows of the matrix of rules."""

from __future__ import annotations

from typing import Any

from plugjax.core.trace import state


class Primitive:
    """An operation that transformations and backends know by its rules only.

    Args:
        name: name in jaxprs and in messages.
        multiple_results: whether ``bind`` gives a list.
        structured: whether parameters hold jaxprs; such a primitive is run by a backend as a whole program, and its
            abstract evaluation is not memoised.

    Example:
        >>> from plugjax.core import Primitive
        >>> Primitive("twice")
        twice
    """

    __slots__ = ("__weakref__", "multiple_results", "name", "structured")

    def __init__(
        self, name: str, *, multiple_results: bool = False, structured: bool = False
    ) -> None:
        self.name = name
        self.multiple_results = multiple_results
        self.structured = structured

    def bind(self, *args: Any, **params: Any) -> Any:
        """Hand the operation to the current trace.

        Args:
            *args: arrays, tracers, NumPy arrays or Python scalars.
            **params: hashable parameters.

        Returns:
            An array or tracer; a list of them if ``multiple_results``.
        """
        return state.trace.process(self, args, params)

    def __repr__(self) -> str:
        return self.name
