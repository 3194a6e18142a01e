"""Tracing of the user's functions and comparison of carries, for all control flow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from plugjax.extend import pytree
from plugjax.extend.core import (
    ClosedJaxpr,
    ShapedArray,
    Tracer,
    aval_of,
    config,
    convert_element_type_p,
)
from plugjax.extend.errors import StructureError
from plugjax.extend.transforms import HighType, cached_trace, flat_call, stage
from plugjax.lax.promotion import promote


def trace_body(
    fun: Callable[..., Any], in_tree: Any, avals: Sequence[ShapedArray], who: str
) -> tuple[ClosedJaxpr, list[Any], Any]:
    """Trace a function of pytrees, once for each signature.

    Returns:
        The program with its constants as leading inputs, their values, and the structure of its result.
    """
    name = f"{who} of {getattr(fun, '__name__', 'a function')}"
    return cached_trace(
        fun,
        (who, in_tree, *avals),
        lambda out: stage(flat_call(fun, in_tree, out, who), avals, name),
    )


def is_concrete(x: Any) -> bool:
    """Whether Python can see the value: an array, or a tracer with a known value."""
    return not isinstance(x, Tracer) or x._concrete() is not None


def runs_as_python() -> bool:
    """Whether control flow runs as Python loops on concrete arrays: under ``disable_jit``, outside of staging."""
    return config.disable_jit


def promote_weak_carry(
    carry: Sequence[Any], found: Sequence[ShapedArray]
) -> tuple[list[Any], bool]:
    """Promote initial carries of weak type where the body returns another dtype.

    Carries that differ only in weakness stay: tracing the body again for them would double the work at every level of
    nested loops.

    Returns:
        The carries, and whether any changed: the body must then be traced again.
    """
    changed = False
    result = []
    for x, aval in zip(carry, found, strict=True):
        own = aval_of(x)
        if own.weak_type and own.shape == aval.shape and own.dtype != aval.dtype:
            dtype, _ = promote([(own.dtype, True), (aval.dtype, aval.weak_type)])
            if dtype != own.dtype:
                x = convert_element_type_p.bind(x, new_dtype=dtype, weak_type=False)
                changed = True
        result.append(x)
    return result, changed


def fixpoint(start: Sequence[bool], step: Callable[[Sequence[bool]], Sequence[bool]]) -> list[bool]:
    """The least flags above ``start`` that a loop body preserves."""
    flags = list(start)
    while True:
        found = [a or b for a, b in zip(flags, step(flags), strict=True)]
        if found == flags:
            return flags
        flags = found


def check_carry(
    who: str,
    in_tree: Any,
    out_tree: Any,
    expected: Sequence[ShapedArray],
    found: Sequence[ShapedArray],
    paths: Sequence[str],
) -> None:
    """Raise ``TypeError`` unless a body returns the types that it takes."""
    if in_tree != out_tree:
        raise TypeError(
            f"{who}: carry input and carry output must have the same pytree structure, but they differ:\n"
            f"{pytree.first_difference(in_tree, out_tree)}.\n"
            "Return the carry as it came, with new leaves."
        )
    wrong = [
        f"  * carry{path}: takes {a.str_short()}, returns {b.str_short()}"
        for path, a, b in zip(paths, expected, found, strict=True)
        if not same_type(a, b)
    ]
    differs = [
        f"  * carry{path}: takes {a.str_short()}, returns {b.str_short()}"
        for path, a, b in zip(paths, expected, found, strict=True)
        if not _varies_as(a, b)
    ]
    if differs and not wrong:
        raise TypeError(
            f"{who}: carry input and carry output must have equal types, but the manual axis types do not match:\n"
            + "\n".join(differs)
            + "\nApply plugjax.lax.pcast(x, axes, to='varying') to the first carry, for axes along which the result varies."
        )
    if wrong:
        raise TypeError(
            f"{who}: carry input and carry output must have equal types, but they differ:\n"
            + "\n".join(wrong)
            + "\nReturn each array with the shape and dtype that it came with."
        )


def same_type(a: Any, b: Any) -> bool:
    """Whether values of the types can take each other's place in a carry: weakness apart."""
    if isinstance(a, HighType) or isinstance(b, HighType):
        return bool(a == b)
    return (a.shape, a.dtype, getattr(a, "spread", None)) == (
        b.shape,
        b.dtype,
        getattr(b, "spread", None),
    )


def _varies_as(a: Any, b: Any) -> bool:
    """Whether a value differs between devices only along the axes along which the carry does."""
    names: frozenset[Any] = frozenset()
    return bool(getattr(b, "vma", names) <= getattr(a, "vma", names))


def check_tree(who: str, like: str, found: Any, expected: Any, has_aux: bool) -> None:
    """Raise unless a user's function returns the expected structure, in a pair if ``has_aux``.

    Raises:
        TypeError: the structure differs.
        ValueError: the result is not a pair.
    """
    if has_aux:
        children = found.children()
        if len(children) != 2:
            raise ValueError(
                f"{who}() must return a pair (result, aux) with has_aux=True, got structure {found}."
            )
        found = children[0]
    if found != expected:
        raise StructureError(
            f"{who}() must return the structure of {like}: {pytree.first_difference(expected, found)}."
        )
