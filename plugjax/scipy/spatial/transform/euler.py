"""Euler angles: rotations as up to three rotations about coordinate axes.

Lower case letters are rotations about fixed axes (extrinsic), upper case ones about axes that rotate along (intrinsic).
A sequence of intrinsic rotations is the reversed sequence of extrinsic ones.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import plugjax.numpy as jnp
from plugjax.scipy.spatial.transform.quaternions import composed

_DEGENERATE = 1e-7


def axes_of(seq: str) -> tuple[list[int], bool]:
    """Axes of a sequence such as ``"xyz"`` or ``"ZX"``, and whether it is extrinsic.

    Raises:
        ValueError: the sequence is not of this form.
    """
    if not 1 <= len(seq) <= 3:
        raise ValueError(f"Rotation: a sequence of axes has one letter to three, got {seq}.")
    extrinsic = set(seq) <= set("xyz")
    if not extrinsic and not set(seq) <= set("XYZ"):
        raise ValueError(
            f"Rotation: a sequence of axes consists of x, y, z, or of X, Y, Z; got {seq}."
        )
    axes = ["xyz".index(letter) for letter in seq.lower()]
    if any(a == b for a, b in pairwise(axes)):
        raise ValueError(f"Rotation: neighbors in a sequence of axes need to differ, got {seq}.")
    return axes, extrinsic


def from_euler(angles: Any, axes: list[int], extrinsic: bool) -> Any:
    """Quaternions of angles ``[..., len(axes)]``, in radians.

    Raises:
        ValueError: another number of angles.
    """
    if angles.shape[-1] != len(axes):
        raise ValueError(
            f"Rotation: {len(axes)} axes need as many angles along the last axis, got shape {angles.shape}."
        )
    result: Any = None
    for place, axis in enumerate(axes):
        half = angles[..., place] / 2
        zero, sine = jnp.zeros_like(half), jnp.sin(half)
        turn = jnp.stack([*(sine if i == axis else zero for i in range(3)), jnp.cos(half)], -1)
        if result is None:
            result = turn
        else:
            result = composed(turn, result) if extrinsic else composed(result, turn)
    return result


def to_euler(q: Any, axes: list[int], extrinsic: bool) -> Any:
    """Angles ``[..., 3]``, in radians, by the formulas of Bernardes and Viollet 2022.

    In gimbal lock the last angle is zero.
    """
    i, j, k = axes if extrinsic else axes[::-1]
    symmetric = i == k
    k = 3 - i - j
    sign = (i - j) * (j - k) * (k - i) // 2
    x, y, z, w = q[..., i], q[..., j], q[..., k] * sign, q[..., 3]
    a, b, c, d = (w, x, y, z) if symmetric else (w - y, x + z, y + w, z - x)
    middle = 2 * jnp.arctan2(jnp.hypot(c, d), jnp.hypot(a, b))
    half_sum, half_difference = jnp.arctan2(b, a), jnp.arctan2(d, c)
    low, high = abs(middle) <= _DEGENERATE, abs(middle - math.pi) <= _DEGENERATE
    alone = jnp.where(low, 2 * half_sum, 2 * half_difference * (-1 if extrinsic else 1))
    outer = [half_sum - half_difference, half_sum + half_difference]
    first, last = outer if extrinsic else outer[::-1]
    first = jnp.where(low | high, alone, first)
    last = jnp.where(low | high, 0, last)
    if not symmetric:
        first, last = (first, last * sign) if extrinsic else (first * sign, last)
        middle = middle - math.pi / 2
    angles = jnp.stack([first, middle, last], -1)
    return (angles + math.pi) % (2 * math.pi) - math.pi
