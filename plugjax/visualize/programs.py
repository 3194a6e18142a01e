"""Pictures of programs: a graph, and the equations as text that folds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from plugjax.extend.core import ClosedJaxpr, Jaxpr
from plugjax.extend.execution import make_jaxpr
from plugjax.visualize.elements import escaped, folded, note
from plugjax.visualize.graph import graph
from plugjax.visualize.outline import Program, Step, outline
from plugjax.visualize.picture import Picture

# Equations in the text, in the drawing, and in the graph of a program that unfolds.
_WRITTEN, _DRAWN, _UNFOLDED = 1000, 120, 40
# Programs within programs whose graphs unfold too; those further inside are text.
_DEPTH = 3


def jaxpr(f: Callable[..., Any] | ClosedJaxpr | Jaxpr, /, *args: Any, **kwargs: Any) -> Picture:
    """The program of a function as a graph, and as equations that fold.

    The drawing has nested programs (bodies of loops, branches, calls) within the boxes of their equations. In the HTML they
    are folded. Pointing at an equation shows all of it, with the user's line. Of a long program the beginning is shown, and how
    much is missing.

    Args:
        f: a function, or a program of ``plugjax.make_jaxpr``.
        *args: arguments of the function: arrays or structs with shape and dtype.
        **kwargs: its keyword arguments.

    Returns:
        The picture.

    Raises:
        TypeError: ``f`` is neither; or it is a program, and there are arguments.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> picture = plugjax.visualize.jaxpr(lambda x: jnp.sin(x) * 2.0, 1.0)
        >>> "sin" in picture.svg, "mul" in picture.svg
        (True, True)
    """
    program, title = program_of("jaxpr", f, args, kwargs)
    return picture_of_program(program, f"jaxpr of {title}")


def program_of(
    who: str, f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[ClosedJaxpr | Jaxpr, str]:
    """The program that a public function was given, with its name.

    Raises:
        TypeError: it was given none.
    """
    if isinstance(f, (ClosedJaxpr, Jaxpr)):
        if args or kwargs:
            raise TypeError(f"visualize.{who}: a program takes no arguments here; leave them out.")
        inner = f.jaxpr if isinstance(f, ClosedJaxpr) else f
        return f, inner.debug_name or "a program"
    if not callable(f):
        raise TypeError(
            f"visualize.{who}: expected a function or a program, got {f!r} of type {type(f).__name__}."
        )
    name = getattr(f, "__name__", type(f).__name__)
    return make_jaxpr(f)(*args, **kwargs), name


def picture_of_program(program: ClosedJaxpr | Jaxpr, title: str) -> Picture:
    """A program as a picture with this title."""
    found = outline(program, _WRITTEN)
    svg = graph(found, _DRAWN, nested=True, label=title)
    top = graph(found, _DRAWN, nested=False, label=title)
    return Picture(title, svg, top + listing(found, depth=1))


def listing(program: Program, depth: int) -> str:
    """The equations as HTML; programs within them are folded."""
    binders = " ".join(
        f"{v.name}:{v.kind}" for v in (*program.constants, *program.inputs)[:_WRITTEN]
    )
    lines = [f"<div>λ {escaped(binders)}</div>", *(_line(step, depth) for step in program.steps)]
    if program.omitted:
        lines.append(note(f"… {program.omitted:,} more equations"))
    lines.append(f"<div>in ({escaped(', '.join(program.outputs[:_WRITTEN]))})</div>")
    return "".join(lines)


def _line(step: Step, depth: int) -> str:
    if not step.programs:
        return f'<div title="{escaped(step.source)}">{escaped(step.text)}</div>'
    inner = "".join(_unfolding(key, program, depth) for key, program in step.programs)
    where = note(step.source) if step.source else ""
    return folded(" ".join(step.text.split()), where + inner)


def _unfolding(key: str, program: Program, depth: int) -> str:
    title = f"{key}: {program.size:,} equations"
    drawn = graph(program, _UNFOLDED, nested=False, label=key) if depth <= _DEPTH else ""
    return folded(title, drawn + listing(program, depth + 1), opened=True)


__all__ = ["jaxpr", "listing", "picture_of_program", "program_of"]
