"""Loops and branches over functions that meet mutable values: what the values hold is carried, and written back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from plugjax.extend import pytree
from plugjax.extend.transforms import MutableValueError, Opened, is_mutable, with_opened


def scan_opened(
    met: MutableValueError,
    scan: Callable[[Callable[..., Any], Any], Any],
    f: Callable[[Any, Any], Any],
    init: Any,
) -> Any:
    """A scan whose body meets mutable values.

    Args:
        met: what was raised without them.
        scan: ``(body, init) -> (carry, ys)``.
        f: the body.
        init: the first carry.
    """

    def attempt(opened: Opened) -> Any:
        def body(carry: Any, x: Any) -> Any:
            own, held = carry
            found, held = opened.run(lambda *_: f(own, x), held)
            opened.check_unchanged("lax.scan")
            if not (isinstance(found, (tuple, list)) and len(found) == 2):
                raise TypeError(
                    f"lax.scan: scan body output must be a pair (carry, y), got {type(found)}."
                )
            return (found[0], held), found[1]

        (own, held), ys = scan(body, (init, opened.held))
        opened.write(held)
        return own, ys

    return with_opened(met, attempt)


def while_opened(
    met: MutableValueError,
    loop: Callable[[Callable[..., Any], Callable[..., Any], Any], Any],
    cond_fun: Callable[[Any], Any],
    body_fun: Callable[[Any], Any],
    init: Any,
) -> Any:
    """A loop whose body changes mutable values, and whose condition may read them.

    Args:
        met: what was raised without them.
        loop: ``(cond_fun, body_fun, init) -> carry``.
        cond_fun: the condition.
        body_fun: the body.
        init: the first carry.
    """

    def attempt(opened: Opened) -> Any:
        def condition(carry: Any) -> Any:
            own, held = carry
            return opened.run(lambda *_: cond_fun(own), held)[0]

        def body(carry: Any) -> Any:
            own, held = carry
            found = opened.run(lambda *_: body_fun(own), held)
            opened.check_unchanged("lax.while_loop")
            return found

        own, held = loop(condition, body, (init, opened.held))
        opened.final = opened.states
        opened.write(held)
        return own

    return with_opened(met, attempt)


def branches_opened(
    met: MutableValueError,
    bind: Callable[[tuple[Callable[..., Any], ...], tuple[Any, ...]], Any],
    functions: Sequence[Callable[..., Any]],
    operands: tuple[Any, ...],
    who: str,
) -> Any:
    """Branches that meet mutable values.

    Args:
        met: what was raised without them.
        bind: ``(functions, operands) -> result`` of the one that is chosen.
        functions: the branches.
        operands: of each.
        who: name of the function, for messages.

    Raises:
        TypeError: branches leave a value in different states.
    """

    def attempt(opened: Opened) -> Any:
        finals: list[list[Any]] = []

        def branch(f: Callable[..., Any]) -> Callable[..., Any]:
            def run(held: Any, *own: Any) -> Any:
                found = opened.run(lambda *_: f(*own), held)
                finals.append(opened.final)
                if opened.final != finals[0]:
                    raise TypeError(
                        f"{who}: branches leave a mutable value in different states: {finals[0]} and {opened.final}. Set it to values "
                        "of the same types in each."
                    )
                return found

            return run

        result, held = bind(tuple(map(branch, functions)), (opened.held, *operands))
        opened.write(held)
        return result

    return with_opened(met, attempt)


def closing_over_mutables(
    functions: Sequence[Callable[..., Any]], operands: tuple[Any, ...]
) -> tuple[tuple[Callable[..., Any], ...], tuple[Any, ...]]:
    """Branches that close over mutable values among their operands, and the other operands."""
    leaves, tree = pytree.flatten(operands)
    places = [is_mutable(x) for x in leaves]
    if not any(places):
        return tuple(functions), operands

    def closing(f: Callable[..., Any]) -> Callable[..., Any]:
        def run(*own: Any) -> Any:
            rest = iter(own)
            filled = [x if m else next(rest) for x, m in zip(leaves, places, strict=True)]
            return f(*pytree.unflatten(tree, filled))

        return run

    others = tuple(x for x, m in zip(leaves, places, strict=True) if not m)
    return tuple(map(closing, functions)), others
