"""How the elements of an array lie in memory: the names ``Layout`` and ``Format`` of JAX.

Arrays lie row by row between programs, on every backend; a compiler lays out what is within a program. So a ``Format`` says where an
array is, and asks for nothing else.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from plugjax.core.aval import Shape
from plugjax.core.device import Device, Sharding


class AutoLayout:
    """The mark of a layout that the compiler chooses: ``Layout.AUTO``."""

    def __repr__(self) -> str:
        return "AUTO"


class Layout:
    """The order of an array's axes in memory.

    Args:
        major_to_minor: the axes, the one with the greatest stride first.
        tiling: sizes of tiles within which elements lie together, outermost tiles first; ``None`` if there are none.
        sub_byte_element_size_in_bits: size of an element that is smaller than a byte; 0 for others.

    Example:
        >>> from plugjax.experimental.layout import Layout
        >>> Layout((1, 0)).update(major_to_minor=(0, 1))
        Layout(major_to_minor=(0, 1), tiling=None, sub_byte_element_size_in_bits=0)
    """

    AUTO = AutoLayout()

    def __init__(
        self,
        major_to_minor: Sequence[int],
        tiling: Sequence[Sequence[int]] | None = None,
        sub_byte_element_size_in_bits: int = 0,
    ) -> None:
        self.major_to_minor = tuple(major_to_minor)
        self.tiling = None if tiling is None else tuple(map(tuple, tiling))
        self.sub_byte_element_size_in_bits = sub_byte_element_size_in_bits

    @property
    def _key(self) -> tuple[Any, ...]:
        return self.major_to_minor, self.tiling, self.sub_byte_element_size_in_bits

    def __repr__(self) -> str:
        return (
            f"Layout(major_to_minor={self.major_to_minor}, tiling={self.tiling}, "
            f"sub_byte_element_size_in_bits={self.sub_byte_element_size_in_bits})"
        )

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Layout) and self._key == other._key

    def update(self, **changes: Any) -> Layout:
        """The layout with some of its arguments replaced."""
        names = ("major_to_minor", "tiling", "sub_byte_element_size_in_bits")
        return Layout(*[changes.get(name, getattr(self, name)) for name in names])

    def check_compatible_aval(self, aval_shape: Shape) -> None:
        """Refuse a shape of another rank.

        Raises:
            ValueError: the ranks differ.
        """
        if len(self.major_to_minor) != len(aval_shape):
            raise ValueError(
                "Length of major_to_minor and the rank of the value should match. Got "
                f"major_to_minor={self.major_to_minor} and shape={aval_shape}."
            )


def row_by_row(shape: Shape) -> Layout:
    """The layout of every array between programs."""
    return Layout(range(len(shape)), ())


class Format:
    """The layout of an array and where it is.

    Args:
        layout: a ``Layout``, ``Layout.AUTO`` for one that the compiler chooses, or ``None`` for that of the device.
        sharding: where the array is; required beside a ``Layout``.

    Raises:
        ValueError: a ``Layout`` without a sharding.
        TypeError: an argument is of another type.

    Differs from JAX:
        Arrays lie row by row between programs, and a format with another layout gives a warning.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.zeros((2, 3)).format.layout
        Layout(major_to_minor=(0, 1), tiling=(), sub_byte_element_size_in_bits=0)
    """

    __slots__ = ("layout", "sharding")

    def __init__(
        self, layout: Layout | AutoLayout | None = None, sharding: Sharding | None = None
    ) -> None:
        if isinstance(layout, Layout) and sharding is None:
            raise ValueError(
                f"Format: Sharding has to be concrete when layout is of type {type(layout)}. Give the sharding of an array, "
                "x.sharding."
            )
        if not isinstance(layout, (Layout, AutoLayout, type(None))):
            raise TypeError(
                f"Format: Invalid value received for the layout argument: {layout!r} of type {type(layout)}. Give a Layout, "
                "Layout.AUTO or None."
            )
        if not isinstance(sharding, (Sharding, type(None))):
            raise TypeError(
                f"Format: Invalid value received for the sharding argument: {sharding!r} of type {type(sharding)}. Give a "
                "sharding or None."
            )
        self.layout = layout
        self.sharding = sharding

    @property
    def single_device(self) -> Device | None:
        """The device of the sharding, if it has one."""
        device: Device | None = getattr(sharding_of(self, "device_put"), "device", None)
        return device

    def __repr__(self) -> str:
        return f"Format(layout={self.layout}, sharding={self.sharding})"

    def __hash__(self) -> int:
        return hash((self.layout, self.sharding))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Format)
            and self.layout == other.layout
            and self.sharding == other.sharding
        )


def sharding_of(wanted: Any, who: str) -> Any:
    """What is asked for, a sharding in place of a format."""
    if not isinstance(wanted, Format):
        return wanted
    layout = wanted.layout
    if isinstance(layout, Layout) and layout.major_to_minor != tuple(
        range(len(layout.major_to_minor))
    ):
        warnings.warn(
            f"{who}: arrays lie row by row between programs; {layout} is not kept.",
            stacklevel=3,
        )
    return wanted.sharding
