"""Unit quaternions ``(x, y, z, w)`` along the last axis, and conversions to matrices, vectors and parameters.

A rotation by an angle about a unit vector n is the quaternion (n sin(angle/2), cos(angle/2)), or its negative.
"""

from __future__ import annotations

from typing import Any

import plugjax.numpy as jnp

# Below this angle, in radians, series replace quotients that become 0 / 0.
_SMALL = 1e-3


def composed(p: Any, q: Any) -> Any:
    """The product: first ``q``, then ``p``."""
    (a, b, c, d), (x, y, z, w) = _parts(p), _parts(q)
    return jnp.stack(
        [
            d * x + w * a + (b * z - c * y),
            d * y + w * b + (c * x - a * z),
            d * z + w * c + (a * y - b * x),
            d * w - a * x - b * y - c * z,
        ],
        -1,
    )


def normalized(q: Any) -> Any:
    """Quaternions of length 1."""
    return q / jnp.sqrt((q * q).sum(-1, keepdims=True))


def conjugated(q: Any) -> Any:
    """The inverse of unit quaternions."""
    return jnp.concatenate([-q[..., :3], q[..., 3:]], -1)


def canonical(q: Any) -> Any:
    """The quaternion or its negative, whichever has a positive first nonzero component in the order w, x, y, z."""
    x, y, z, w = _parts(q)
    negative = z < 0
    for part in (y, x, w):
        negative = (part < 0) | ((part == 0) & negative)
    return jnp.where(negative[..., None], -q, q)


def magnitude(q: Any) -> Any:
    """The angle, in radians, between 0 and pi."""
    vector = q[..., :3]
    return 2 * jnp.arctan2(jnp.sqrt((vector * vector).sum(-1)), abs(q[..., 3]))


def to_matrix(q: Any) -> Any:
    """Matrices ``[..., 3, 3]``."""
    x, y, z, w = _parts(q)
    rows = [
        [x * x - y * y - z * z + w * w, 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), y * y - x * x - z * z + w * w, 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), z * z - x * x - y * y + w * w],
    ]
    return jnp.stack([jnp.stack(row, -1) for row in rows], -2)


def from_matrix(m: Any) -> Any:
    """Quaternions of orthogonal matrices ``[..., 3, 3]`` with determinant 1.

    The products of components, four times each, are sums of entries. The row of the matrix of products that has the largest square is
    divided by it, so no digits are lost (Shepperd 1978).
    """
    trace = m[..., 0, 0] + m[..., 1, 1] + m[..., 2, 2]
    squares = [1 - trace + 2 * m[..., i, i] for i in range(3)]
    squares.append(1 + trace)
    xy, xz, yz = (m[..., i, j] + m[..., j, i] for i, j in ((0, 1), (0, 2), (1, 2)))
    xw, yw, zw = (m[..., i, j] - m[..., j, i] for i, j in ((2, 1), (0, 2), (1, 0)))
    rows = [
        [squares[0], xy, xz, xw],
        [xy, squares[1], yz, yw],
        [xz, yz, squares[2], zw],
        [xw, yw, zw, squares[3]],
    ]
    products = jnp.stack([jnp.stack(row, -1) for row in rows], -2)
    largest = jnp.argmax(jnp.stack(squares, -1), -1)
    row = jnp.take_along_axis(products, largest[..., None, None], -2)
    return normalized(row[..., 0, :])


def to_rotvec(q: Any) -> Any:
    """Vectors along the axis whose length is the angle, at most pi."""
    q = jnp.where(q[..., 3:] < 0, -q, q)
    vector, w = q[..., :3], q[..., 3:]
    square = (vector * vector).sum(-1, keepdims=True)
    small = square <= (_SMALL / 2) ** 2
    sine = jnp.sqrt(jnp.where(small, 1, square))
    series = 2 + square / 3 + 3 * square * square / 20
    return jnp.where(small, series, 2 * jnp.arctan2(sine, w) / sine) * vector


def from_rotvec(v: Any) -> Any:
    """The inverse of :func:`to_rotvec`."""
    square = (v * v).sum(-1, keepdims=True)
    small = square <= _SMALL**2
    angle = jnp.sqrt(jnp.where(small, 1, square))
    scale = jnp.where(small, 0.5 - square / 48 + square * square / 3840, jnp.sin(angle / 2) / angle)
    cosine = jnp.where(small, 1 - square / 8 + square * square / 384, jnp.cos(angle / 2))
    return jnp.concatenate([scale * v, cosine], -1)


def to_mrp(q: Any) -> Any:
    """Modified Rodrigues parameters: vectors along the axis of length tan(angle / 4)."""
    q = jnp.where(q[..., 3:] < 0, -q, q)
    return q[..., :3] / (1 + q[..., 3:])


def from_mrp(m: Any) -> Any:
    """The inverse of :func:`to_mrp`."""
    square = (m * m).sum(-1, keepdims=True)
    return jnp.concatenate([2 * m, 1 - square], -1) / (1 + square)


def _parts(q: Any) -> tuple[Any, Any, Any, Any]:
    return q[..., 0], q[..., 1], q[..., 2], q[..., 3]
