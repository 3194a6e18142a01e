"""What a compiler made of a program: which equations run together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from plugjax.extend.execution import CompiledFunction, Wrapped, jit
from plugjax.extend.pytree import leaves
from plugjax.visualize.compiled_text import (
    Kernel,
    kernels_of_hlo,
    kernels_of_python,
    operations_of_stablehlo,
)
from plugjax.visualize.elements import (
    CHARACTER,
    LINE,
    drawing,
    folded,
    note,
    plain_text,
    preformatted,
    rectangle,
    shortened,
    table,
)
from plugjax.visualize.flow_text import kernels_of_flow
from plugjax.visualize.palette import kind_class
from plugjax.visualize.picture import Picture

_WIDTH, _PAD = 760.0, 8.0
# Kernels that are drawn and written, and equations of one that are drawn.
_DRAWN, _WRITTEN, _EQUATIONS = 60, 400, 24


def explain(f: Callable[..., Any] | CompiledFunction, /, *args: Any, **kwargs: Any) -> Picture:
    """Which equations of a function run as one kernel, after compilation for the device of its arguments.

    On XLA each box is a kernel, with the equations that were fused into it and the user's lines; what XLA added by itself has XLA's
    name. On IREE each box is a dispatch, read from the program after the phase of the compiler that forms them. On NumPy each equation is a
    call of its kernel; those that write into memory which dies there say so. Of another backend's text the picture counts the operations.

    Args:
        f: a function, jitted or not; or a compiled one (``jit(f).lower(...).compile()``), without arguments.
        *args: arguments of the function.
        **kwargs: its keyword arguments.

    Raises:
        TypeError: ``f`` is no function; or it is compiled, and there are arguments.

    Example:
        >>> import numpy as np, plugjax, plugjax.numpy as jnp
        >>> with plugjax.default_device(plugjax.devices("numpy")[0]):
        ...     plugjax.visualize.explain(lambda x: jnp.sin(x) * 2, np.ones(3, np.float32))
        Picture('<lambda>: 2 equations in 2 kernels')
    """
    if isinstance(f, CompiledFunction):
        if args or kwargs:
            raise TypeError("visualize.explain: a compiled function takes no arguments here.")
        return picture_of_text(f.as_text(), "compiled function")
    if not callable(f):
        raise TypeError(f"visualize.explain: expected a function, got {f!r} of type {type(f).__name__}.")  # fmt: skip
    name = getattr(f, "__name__", type(f).__name__)
    lowered = (f if isinstance(f, Wrapped) else jit(f)).lower(*args, **kwargs)
    compiled = lowered.compile()
    if compiled.as_text().startswith("HloModule"):
        # Compiled once more, with the places of equations in the program.
        compiled = lowered.compile({"debug_info": True})
    elif not compiled.as_text().startswith("def ") and _is_for(compiled, "iree"):
        # Its usual text is the program before the compiler.
        compiled = lowered.compile({"phase": "flow"})
    return picture_of_text(compiled.as_text(), name)


def _is_for(compiled: CompiledFunction, backend: str) -> bool:
    return any(
        sharding.devices[0].backend.name == backend
        for sharding in leaves(compiled.output_shardings)
    )


def picture_of_text(text: str, name: str) -> Picture:
    """The kernels of a compiled program's text."""
    source = folded("text of the compiled program", preformatted(text, 60_000))
    if text.startswith("HloModule"):
        about = "Operations have the names of the equations that they come from; what XLA adds has XLA's."
        return _picture(kernels_of_hlo(text), name, "operations", about, source)
    if "flow.executable" in text:
        about = "Operations have the names of the equations that they come from; those that IREE adds have IREE's."
        return _picture(kernels_of_flow(text), name, "operations", about, source)
    if text.lstrip().startswith("def "):
        about = "NumPy runs one kernel for each equation and fuses nothing."
        return _picture(kernels_of_python(text), name, "equations", about, source)
    return _without_kernels(text, name, source)


def _picture(kernels: Sequence[Kernel], name: str, parts: str, about: str, source: str) -> Picture:
    count = sum(len(k.equations) for k in kernels)
    title = f"{name}: {count:,} {parts} in {len(kernels):,} kernels"
    svg = drawing(*_boxes(kernels[:_DRAWN], len(kernels)), title)
    rows = [
        (
            k.name,
            k.kind,
            k.makes or k.detail,
            " ".join(k.equations[:200]),
            ", ".join(k.lines),
            k.within,
        )
        for k in kernels[:_WRITTEN]
    ]
    written = table(("kernel", "kind", "result", parts, "lines", "within"), rows)
    left = len(kernels) - _WRITTEN
    more = note(f"… {left:,} more kernels") if left > 0 else ""
    return Picture(title, svg, svg + note(about) + written + more + source)


def _without_kernels(text: str, name: str, source: str) -> Picture:
    counts = Counter(operations_of_stablehlo(text)).most_common()
    total = sum(n for _, n in counts)
    title = f"{name}: {total:,} operations, kernels not known"
    about = (
        "This backend forms its kernels within its compiler, and the compiled program does not tell which."
        if counts
        else "This backend does not tell what it compiled."
    )
    most = max((n for _, n in counts), default=1)
    shapes = [plain_text(_PAD, 16, about)]
    for row, (operation, n) in enumerate(counts[:_DRAWN]):
        y = 26 + row * (LINE + 4)
        shapes.append(plain_text(230, y + 12, operation, anchor="end"))
        width = max((_WIDTH - 320) * n / most, 2)
        shapes.append(rectangle(236, y, width, LINE, kind_class("kernel")))
        shapes.append(plain_text(240 + width, y + 12, f"{n:,}", css="pj-small"))
    height = 32 + min(len(counts), _DRAWN) * (LINE + 4)
    return Picture(title, svg := drawing(_WIDTH, height, shapes, title), svg + source)


def _boxes(kernels: Sequence[Kernel], count: int) -> tuple[float, float, list[str]]:
    """Width, height and shapes: a box for each kernel, and within it one for each equation."""
    shapes: list[str] = []
    y = 2.0
    for kernel in kernels:
        inner, height = _equations(kernel, y + LINE + 6)
        words = " ".join(w for w in (kernel.name, kernel.makes, kernel.detail) if w)
        hint = "\n".join([words, *kernel.lines, f"within {kernel.within}" if kernel.within else ""])
        css = kind_class(kernel.kind)
        shapes.append(rectangle(2, y, _WIDTH - 4, LINE + 6 + height, css, hint.strip(), 5))
        title = shortened(words, int((_WIDTH - 30) / CHARACTER))
        shapes += [plain_text(2 + _PAD, y + 14, title, css="pj-small"), *inner]
        y += LINE + 6 + height + 6
    if count > len(kernels):
        shapes.append(plain_text(_PAD, y + 14, f"… {count - len(kernels):,} more kernels"))
        y += LINE + 4
    return _WIDTH, max(y, 4.0), shapes


def _equations(kernel: Kernel, top: float) -> tuple[list[str], float]:
    shown = kernel.equations[:_EQUATIONS]
    if len(kernel.equations) > len(shown):
        shown = [*shown, f"… {len(kernel.equations) - len(shown):,} more"]
    shapes: list[str] = []
    x, y = 2 + _PAD, top
    for text in shown:
        label = shortened(text, 40)
        width = len(label) * CHARACTER + 12
        if x + width > _WIDTH - _PAD and x > 2 + _PAD:
            x, y = 2 + _PAD, y + LINE + 8
        shapes.append(rectangle(x, y, width, LINE + 4, "pj-frame", text))
        shapes.append(plain_text(x + width / 2, y + 14, label, anchor="middle"))
        x += width + 6
    return shapes, y - top + LINE + 12


__all__ = ["explain", "picture_of_text"]
