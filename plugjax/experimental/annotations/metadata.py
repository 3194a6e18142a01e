"""Metadata of operations: ``set_xla_metadata``, as a block, around a function, or on values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

from plugjax.experimental.annotations.identity import define_identity
from plugjax.extend import pytree
from plugjax.extend.core import Primitive, as_array
from plugjax.extend.rules import (
    RuleSet,
    batching_rule,
    transpose_rule,
)
from plugjax.extend.transforms import Axis, Marks, marking, resemble

rules = RuleSet(__name__)

xla_metadata_value_p = Primitive("xla_metadata_value")
define_identity(rules, xla_metadata_value_p)


def text_of(value: Any) -> str:
    """A value as XLA has it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


class Metadata:
    """A block within which operations get metadata; also a decorator."""

    def __init__(self, updates: dict[str, Any]) -> None:
        self._updates = updates
        self._open: list[Any] = []

    def _changed(self, marks: Marks) -> Marks:
        known = dict(marks.results)
        for name, value in self._updates.items():
            if value is None:
                known.pop(name, None)
            else:
                known[name] = text_of(value)
        return marks._replace(results=tuple(sorted(known.items())))

    def __enter__(self) -> None:
        block = marking(self._changed)
        block.__enter__()
        self._open.append(block)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._open.pop().__exit__(kind, error, trace)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, within the block."""
        return _WithMetadata(function, self._updates)


class _WithMetadata:
    """A function that runs within the block, and whose methods (``lower`` of a jitted function) do so too."""

    def __init__(self, function: Callable[..., Any], updates: dict[str, Any]) -> None:
        resemble(self, function)
        self._function = function
        self._updates = updates

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        with Metadata(self._updates):
            return self._function(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._function, name)
        return _WithMetadata(found, self._updates) if callable(found) else found


def set_xla_metadata(x: Any = None, **kwargs: Any) -> Any:
    """Give operations metadata, which XLA's compiler reads as ``frontend_attributes``.

    Args:
        x: pytree of arrays: the operations that compute them get the metadata. Left out, the result is a context manager, and a decorator:
            the operations within the block do.
        **kwargs: names and values; ``None`` takes a name away that an outer block has set.

    Returns:
        The arrays, or the context manager.

    Differs from JAX:
        On backends other than XLA it changes nothing.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> from plugjax.experimental.xla_metadata import set_xla_metadata
        >>> @plugjax.jit
        ... def f(x):
        ...     with set_xla_metadata(stage="first"):
        ...         return jnp.sin(x)
        >>> 'mhlo.frontend_attributes = {stage = "first"}' in f.lower(1.0).as_text("stablehlo")
        True
    """
    if x is None:
        return Metadata(kwargs)
    pairs = tuple(sorted(kwargs.items()))
    return pytree.tree_map(
        lambda v: xla_metadata_value_p.bind(
            as_array(v, "set_xla_metadata"), xla_metadata_kvs=pairs
        ),
        x,
    )


@rules.define(transpose_rule, xla_metadata_value_p)
def _transpose(y_bar: Any, _: Any, **__: Any) -> tuple[Any]:
    return (y_bar,)


@rules.define(batching_rule, xla_metadata_value_p)
def _batching(
    axis: Axis, args: Sequence[Any], dims: Sequence[int | None], **params: Any
) -> tuple[Any, int | None]:
    return xla_metadata_value_p.bind(*args, **params), dims[0]
