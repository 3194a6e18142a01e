"""What control-flow functions share: tracing of the user's functions, and comparison of carries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from plugjax.core import dtypes, pytree
from plugjax.core.array import as_array
from plugjax.core.aval import ShapedArray
from plugjax.core.config import config
from plugjax.core.errors import StructureError
from plugjax.core.jaxpr import ClosedJaxpr, eval_closed
from plugjax.core.trace import Tracer
from plugjax.core.transforms.staging import open_constants, stage
from plugjax.core.vocabulary import convert_element_type_p


def trace_body(
    fun: Callable[..., Any], in_tree: Any, avals: Sequence[ShapedArray], who: str
) -> tuple[ClosedJaxpr, list[Any], Any]:
    """Trace a function of pytrees.

    Returns:
        The program with its constants as leading inputs, their values, and the structure of its result.
    """
    out_tree: Any = None

    def flat(*xs: Any) -> list[Any]:
        nonlocal out_tree
        outs, out_tree = pytree.flatten(fun(*pytree.unflatten(in_tree, xs)))
        return [as_array(y, who) for y in outs]

    program = stage(flat, avals, f"{who} of {getattr(fun, '__name__', 'a function')}")
    opened, constants = open_constants(program)
    return opened, constants, out_tree


def is_concrete(x: Any) -> bool:
    """Whether Python can see the value: an array, or a tracer that knows its own."""
    return not isinstance(x, Tracer) or x._concrete() is not None


def runs_as_python() -> bool:
    """Whether control flow runs as Python loops on concrete arrays: ``disable_jit``, outside of staging."""
    return config.disable_jit


def promote_weak_carry(
    carry: Sequence[Any], found: Sequence[ShapedArray]
) -> tuple[list[Any], bool]:
    """Promote initial carries of weak type where the body gives another dtype.

    Carries that differ in weakness only stay: tracing the body again for them would double the work at every level of nested
    loops.

    Returns:
        The carries, and whether any changed: the body must then be traced again.
    """
    changed = False
    result = []
    for x, aval in zip(carry, found, strict=True):
        own = x.aval
        if own.weak_type and own.shape == aval.shape and own.dtype != aval.dtype:
            dtype, _ = dtypes.promote([(own.dtype, True), (aval.dtype, aval.weak_type)])
            if dtype != own.dtype:
                x = convert_element_type_p.bind(x, new_dtype=dtype, weak_type=False)
                changed = True
        result.append(x)
    return result, changed


def fixpoint(start: Sequence[bool], step: Callable[[Sequence[bool]], Sequence[bool]]) -> list[bool]:
    """The least flags above ``start`` that a loop body keeps."""
    flags = list(start)
    while True:
        found = [a or b for a, b in zip(flags, step(flags), strict=True)]
        if found == flags:
            return flags
        flags = found


def taking(
    keep: Sequence[bool],
    avals: Sequence[ShapedArray],
    program: ClosedJaxpr,
    read: Sequence[bool],
) -> ClosedJaxpr:
    """A pruned program that takes more inputs than it reads.

    Args:
        keep: which of the inputs before pruning it is to take; all that it reads are among them.
        avals: of the inputs before pruning.
        program: the pruned program.
        read: which of the inputs before pruning it takes.
    """
    if list(keep) == list(read):
        return program
    taken = [(a, r) for a, k, r in zip(avals, keep, read, strict=True) if k]

    def call(*xs: Any) -> list[Any]:
        return eval_closed(program, *(x for x, (_, r) in zip(xs, taken, strict=True) if r))

    return stage(call, [a for a, _ in taken], program.jaxpr.debug_name)


def check_carry(
    who: str,
    in_tree: Any,
    out_tree: Any,
    expected: Sequence[ShapedArray],
    found: Sequence[ShapedArray],
    paths: Sequence[str],
) -> None:
    """Raise ``TypeError`` unless a body gives what it takes."""
    if in_tree != out_tree:
        raise TypeError(
            f"{who}: the carry that it returns has another structure than the carry that it takes:\n"
            f"{pytree.first_difference(in_tree, out_tree)}.\n"
            "Return the carry as it came, with new leaves."
        )
    wrong = [
        f"  * carry{path}: takes {a.str_short()}, returns {b.str_short()}"
        for path, a, b in zip(paths, expected, found, strict=True)
        if (a.shape, a.dtype) != (b.shape, b.dtype)
    ]
    if wrong:
        raise TypeError(
            f"{who}: the carry that it returns has other shapes or dtypes than the carry that it takes:\n"
            + "\n".join(wrong)
            + "\nReturn each array with the shape and dtype that it came with."
        )


def check_tree(who: str, like: str, found: Any, expected: Any, has_aux: bool) -> None:
    """Raise unless a user's function gives the structure of something else, paired with anything if ``has_aux``.

    Raises:
        TypeError: the structure differs.
        ValueError: it gives no pair.
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
