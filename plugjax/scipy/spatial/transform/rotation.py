"""``Rotation``: rotations of space, one or an array of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import plugjax.numpy as jnp
from plugjax import random
from plugjax.extend.core import Array
from plugjax.extend.dtypes import DTypeLike
from plugjax.numpy.promotion import ArrayLike, convert, to_inexact
from plugjax.scipy.spatial.transform import quaternions
from plugjax.scipy.spatial.transform.euler import axes_of, from_euler, to_euler


def _floating(x: ArrayLike) -> Any:
    found = to_inexact("Rotation", jnp.asarray(x))
    return convert(found, found.dtype)


def _in_radians(x: ArrayLike, degrees: Any) -> Any:
    angles = _floating(x)
    if isinstance(degrees, bool):
        return jnp.deg2rad(angles) if degrees else angles
    return jnp.where(degrees, jnp.deg2rad(angles), angles)


def _in_units(x: Any, degrees: Any) -> Any:
    if isinstance(degrees, bool):
        return jnp.rad2deg(x) if degrees else x
    return jnp.where(degrees, jnp.rad2deg(x), x)


class Rotation(NamedTuple):
    """A rotation of space, or an array of rotations. It is a pytree.

    Attributes:
        quat: ``[4]`` or ``[n, 4]``: unit quaternions ``(x, y, z, w)``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.spatial.transform import Rotation
        >>> turn = Rotation.from_euler("z", 90.0, degrees=True)
        >>> turn.apply(jnp.array([1.0, 0.0, 0.0])).round(3)
        Array([0., 1., 0.], dtype=float32)
        >>> (turn * turn).as_euler("xyz", degrees=True).round(3) + 0.0
        Array([   0.,    0., -180.], dtype=float32)
    """

    quat: Any

    @classmethod
    def concatenate(cls, rotations: Sequence[Rotation]) -> Rotation:
        """Several rotations, or arrays of them, as one array."""
        return cls(jnp.concatenate([jnp.atleast_2d(rotation.quat) for rotation in rotations]))

    @classmethod
    def from_euler(cls, seq: str, angles: ArrayLike, degrees: bool = False) -> Rotation:
        """Rotations about coordinate axes, in sequence.

        Args:
            seq: up to three axes: of ``xyz`` for fixed axes, of ``XYZ`` for axes that rotate along.
            angles: as many along the last axis.
            degrees: whether angles are in degrees, not in radians.

        Raises:
            ValueError: another sequence, or another number of angles.
        """
        axes, extrinsic = axes_of(seq)
        return cls(from_euler(jnp.atleast_1d(_in_radians(angles, degrees)), axes, extrinsic))

    @classmethod
    def from_matrix(cls, matrix: ArrayLike) -> Rotation:
        """From orthogonal matrices ``[..., 3, 3]`` with determinant 1."""
        return cls(quaternions.from_matrix(_floating(matrix)))

    @classmethod
    def from_mrp(cls, mrp: ArrayLike) -> Rotation:
        """From modified Rodrigues parameters: see :meth:`as_mrp`."""
        return cls(quaternions.from_mrp(_floating(mrp)))

    @classmethod
    def from_quat(cls, quat: ArrayLike) -> Rotation:
        """From quaternions ``(x, y, z, w)`` of any length but 0."""
        return cls(quaternions.normalized(_floating(quat)))

    @classmethod
    def from_rotvec(cls, rotvec: ArrayLike, degrees: bool = False) -> Rotation:
        """From vectors along the axis whose length is the angle."""
        return cls(quaternions.from_rotvec(_in_radians(rotvec, degrees)))

    @classmethod
    def identity(cls, num: int | None = None, dtype: DTypeLike = float) -> Rotation:
        """The identity, or ``num`` identities."""
        quat = jnp.array([0.0, 0.0, 0.0, 1.0], dtype=dtype)
        return cls(quat if num is None else jnp.broadcast_to(quat, (num, 4)))

    @classmethod
    def random(cls, random_key: ArrayLike, num: int | None = None) -> Rotation:
        """A random rotation, or ``num`` of them, uniformly distributed.

        Differs from JAX:
            It is implemented.
        """
        # Normal numbers have no preferred direction in four dimensions.
        return cls.from_quat(random.normal(random_key, (4,) if num is None else (num, 4)))

    def __getitem__(self, indexer: Any) -> Rotation:
        """Some of the rotations of an array.

        Raises:
            TypeError: the object is a single rotation.
        """
        if self.single:
            raise TypeError("a single Rotation has no items.")
        return Rotation(self.quat[indexer])

    def __len__(self) -> int:
        """Number of rotations of an array.

        Raises:
            TypeError: the object is a single rotation.
        """
        if self.single:
            raise TypeError("a single Rotation has no length.")
        return int(self.quat.shape[0])

    def __mul__(self, other: Rotation) -> Rotation:  # type: ignore[override]  # a product, not a tuple's repetition
        """The composition: first ``other``, then ``self``."""
        return Rotation.from_quat(quaternions.composed(self.quat, other.quat))

    def apply(self, vectors: ArrayLike, inverse: bool = False) -> Array:
        """Rotated vectors ``[..., 3]``, by the inverse if ``inverse``; they broadcast with the rotations."""
        matrix = self.as_matrix()
        back = jnp.swapaxes(matrix, -1, -2)
        if isinstance(inverse, bool):
            chosen = back if inverse else matrix
        else:
            chosen = jnp.where(jnp.asarray(inverse)[..., None, None], back, matrix)
        return jnp.matvec(chosen, jnp.asarray(vectors))

    def as_euler(self, seq: str, degrees: bool = False) -> Array:
        """Angles ``[..., 3]`` about three axes; see :meth:`from_euler`.

        Raises:
            ValueError: not a sequence of three axes.
        """
        if len(seq) != 3:
            raise ValueError(f"Rotation.as_euler needs a sequence of 3 axes, got {seq}.")
        axes, extrinsic = axes_of(seq)
        return _in_units(to_euler(self.quat, axes, extrinsic), degrees)

    def as_matrix(self) -> Array:
        """Matrices ``[..., 3, 3]``."""
        return quaternions.to_matrix(self.quat)

    def as_mrp(self) -> Array:
        """Modified Rodrigues parameters: vectors along the axis of length tan(angle / 4)."""
        return quaternions.to_mrp(self.quat)

    def as_rotvec(self, degrees: bool = False) -> Array:
        """Vectors along the axis whose length is the angle."""
        return _in_units(quaternions.to_rotvec(self.quat), degrees)

    def as_quat(self, canonical: bool = False, scalar_first: bool = False) -> Array:
        """Quaternions.

        Args:
            canonical: whether to make ``w`` positive (if it is zero, ``x``, and so on).
            scalar_first: as ``(w, x, y, z)``.
        """
        quat = quaternions.canonical(self.quat) if canonical else self.quat
        return jnp.roll(quat, 1, -1) if scalar_first else quat

    def inv(self) -> Rotation:
        """The inverse rotation."""
        return Rotation(quaternions.conjugated(self.quat))

    def magnitude(self) -> Array:
        """The angle, in radians, between 0 and pi."""
        return quaternions.magnitude(self.quat)

    def mean(self, weights: ArrayLike | None = None) -> Rotation:
        """The rotation with the least mean squared distance to an array, as matrices (Markley et al. 2007).

        Args:
            weights: ``[n]``; equal by default.

        Raises:
            TypeError: the object is a single rotation.
            ValueError: weights of another shape.
        """
        count = len(self)
        w = jnp.ones(count) if weights is None else jnp.asarray(weights)
        if w.ndim != 1:
            raise ValueError(f"Rotation.mean needs a vector of weights, got shape {w.shape}.")
        if w.shape[0] != count:
            raise ValueError(
                f"Rotation.mean needs one weight for each rotation, got {w.shape[0]} for {count}."
            )
        moments = jnp.dot(w.astype(self.quat.dtype) * self.quat.T, self.quat)
        return Rotation(jnp.linalg.eigh(moments)[1][:, -1])

    @property
    def single(self) -> bool:
        """Whether it is a single rotation, not an array."""
        return bool(self.quat.ndim == 1)
