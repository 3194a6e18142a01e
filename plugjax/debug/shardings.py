"""Pictures of how arrays are spread over devices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rich.align import Align
from rich.box import SQUARE
from rich.console import Console
from rich.padding import Padding
from rich.style import Style
from rich.table import Table

from plugjax.extend import pytree
from plugjax.extend.core import Sharding, as_array
from plugjax.extend.meshes import check_compatible_aval
from plugjax.lax.inspection import inspect_sharding

_COLOURS = ("blue", "green", "magenta", "cyan", "yellow", "red", "bright_blue", "bright_green")


def visualize_sharding(
    shape: Sequence[int],
    sharding: Sharding,
    *,
    use_color: bool = True,
    scale: float = 1.0,
    min_width: int = 9,
    max_width: int = 80,
    color_map: Any = None,
) -> None:
    """Print how an array of one or two axes is cut, with the devices that hold each part.

    Args:
        shape: of the array.
        sharding: how it is spread.
        use_color: whether parts have colours, where the terminal has them.
        scale: factor of the size of the picture.
        min_width: least width of a part, in characters.
        max_width: greatest width of the picture.
        color_map: from a number between 0 and 1 to a colour (r, g, b, a); the terminal's colours, if left out.

    Raises:
        ValueError: the array has no axes or more than two, or cannot be cut so.

    Example:
        >>> import plugjax
        >>> mesh = plugjax.make_mesh((1,), ("x",), devices=plugjax.devices("numpy"))
        >>> sharding = plugjax.NamedSharding(mesh, plugjax.P("x"))
        >>> plugjax.debug.visualize_sharding((4,), sharding, use_color=False)
        ┌───────┐
        │ CPU 0 │
        └───────┘
    """
    if not 1 <= len(shape) <= 2:
        raise ValueError("`visualize_sharding` only works for shapes with 1 and 2 dimensions.")
    check_compatible_aval(sharding, tuple(shape))
    rows, columns = (1, *sharding.counts(len(shape)))[-2:]
    holders: dict[tuple[int, int], list[Any]] = {}
    for device, position in zip(sharding.devices, sharding.positions(len(shape)), strict=True):
        row, column = (0, *position)[-2:]
        holders.setdefault((row, column), []).append(device)
    console = Console(width=max_width)
    coloured = use_color and console.color_system is not None
    table = Table(
        show_header=False,
        show_lines=not coloured,
        padding=0,
        highlight=not coloured,
        pad_edge=False,
        box=None if coloured else SQUARE,
    )
    width, height = _part_size(shape, rows, columns, scale)
    width = min(max(width, min_width), max_width)
    platform = sharding.devices[0].platform.upper()
    for row in range(rows):
        cells = []
        for column in range(columns):
            label = f"{platform} {','.join(map(str, sorted(d.id for d in holders[row, column])))}"
            number = row * columns + column
            style = _style(number, rows * columns, color_map) if coloured else Style()
            cells.append(_cell(label, width, height, style, int(coloured)))
        table.add_row(*cells)
    console.print(table, end="\n\n")


# Rows of a picture of scale 1, and how many characters are as wide as a row is high.
_ROWS, _CHARACTERS_PER_ROW = 10, 2.5


def _part_size(shape: Sequence[int], rows: int, columns: int, scale: float) -> tuple[int, int]:
    """Width and height of a part in characters; the picture has the proportions of the array."""
    whole_height = int(_ROWS * scale)
    whole_width = int(whole_height * ((shape[1] if len(shape) == 2 else 1) / shape[0]))
    width = int(1 / columns * whole_width * _CHARACTERS_PER_ROW)
    return width, 1 if len(shape) == 1 else int(1 / rows * whole_height)


def _cell(label: str, width: int, height: int, style: Style, margin: int) -> Padding:
    """A label in the middle of a rectangle; cells without lines between them have a margin."""
    left, more = divmod(width - len(label) - 2, 2)
    top, lower = divmod(height - 2, 2)
    around = (top, left + more, top + lower, left)
    return Padding(
        Align(label, "center", vertical="middle"),
        tuple(max(n + margin, 0) for n in around),  # type: ignore[arg-type]  # four numbers
        style=style,
    )


def _style(number: int, count: int, color_map: Any) -> Style:
    if color_map is None:
        return Style(bgcolor=_COLOURS[number % len(_COLOURS)], color="white", bold=True)
    r, g, b = (int(255 * v) for v in color_map(number / count)[:3])
    return Style(bgcolor=f"rgb({r},{g},{b})", bold=True)


def visualize_array_sharding(arr: Any, **kwargs: Any) -> None:
    """Print how an array is spread; arguments as for :func:`visualize_sharding`.

    Example:
        >>> import numpy as np, plugjax
        >>> mesh = plugjax.make_mesh((1,), ("x",), devices=plugjax.devices("numpy"))
        >>> x = plugjax.device_put(np.ones(4), plugjax.NamedSharding(mesh, plugjax.P("x")))
        >>> plugjax.debug.visualize_array_sharding(x, use_color=False)
        ┌───────┐
        │ CPU 0 │
        └───────┘
    """
    inspect_array_sharding(arr, callback=lambda s: visualize_sharding(arr.shape, s, **kwargs))


def inspect_array_sharding(value: Any, *, callback: Callable[[Any], None]) -> None:
    """Call a function with the sharding of each array of a pytree.

    In a traced function the call happens when it is compiled, with the sharding that the compiler chose.

    Args:
        value: pytree of arrays.
        callback: gets the sharding.

    Raises:
        TypeError: a leaf is no array.

    Differs from JAX:
        In a program of one device the function gets a ``SingleDeviceSharding``, when the program is compiled.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> def f(x):
        ...     y = jnp.sin(x)
        ...     plugjax.debug.inspect_array_sharding(y, callback=lambda s: print(s.num_devices))
        ...     return y
        >>> plugjax.jit(f)(0.0)
        1
        Array(0., dtype=float32, weak_type=True)
    """
    for leaf in pytree.leaves(value):
        inspect_sharding(as_array(leaf, "inspect_array_sharding"), callback)
