"""``jax._src.api_util``: positions and names of arguments from one another."""

from __future__ import annotations

import inspect
from collections.abc import Iterable

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def infer_argnums_and_argnames(
    sig: inspect.Signature,
    argnums: int | Iterable[int] | None,
    argnames: str | Iterable[str] | None,
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Both of positions and names of arguments, of which one is given.

    Args:
        sig: of the function.
        argnums: positions; ``None`` to take those of the names.
        argnames: names; ``None`` to take those of the positions.

    Example:
        >>> import inspect
        >>> infer_argnums_and_argnames(inspect.signature(lambda x, y: x), None, "y")
        ((1,), ('y',))
    """
    numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums or ())
    names = (argnames,) if isinstance(argnames, str) else tuple(argnames or ())
    positional = [name for name, p in sig.parameters.items() if p.kind in _POSITIONAL]
    if argnums is None:
        numbers = tuple(i for i, name in enumerate(positional) if name in names)
    elif argnames is None:
        names = tuple(positional[i] for i in numbers if -len(positional) <= i < len(positional))
    return numbers, names
