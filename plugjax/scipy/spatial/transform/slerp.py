"""``Slerp``: interpolation between rotations with constant angular velocity (Shoemake 1985)."""

from __future__ import annotations

from typing import Any, NamedTuple

import plugjax.numpy as jnp
from plugjax.numpy.promotion import ArrayLike
from plugjax.scipy.spatial.transform.rotation import Rotation


class Slerp(NamedTuple):
    """Rotations between given ones. It is a pytree, made by :meth:`init`.

    Attributes:
        times: ``[n]``, increasing.
        timedelta: ``[n - 1]``, their differences.
        rotations: rotations at the starts of intervals.
        rotvecs: ``[n - 1, 3]``, the rotation vector of each interval.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.spatial.transform import Rotation, Slerp
        >>> ends = Rotation.from_euler("z", jnp.array([[0.0], [90.0]]), degrees=True)
        >>> Slerp.init(jnp.array([0.0, 3.0]), ends)(1.0).as_rotvec(degrees=True).round(3)
        Array([ 0.,  0., 30.], dtype=float32)
    """

    times: Any
    timedelta: Any
    rotations: Rotation
    rotvecs: Any

    @classmethod
    def init(cls, times: ArrayLike, rotations: Rotation) -> Slerp:
        """The interpolation of ``rotations`` at ``times``.

        Raises:
            TypeError: not a ``Rotation``.
            ValueError: fewer than two rotations, or times of another number.
        """
        if not isinstance(rotations, Rotation):
            raise TypeError("Slerp needs a Rotation.")
        if rotations.single or len(rotations) == 1:
            raise ValueError("Slerp needs two rotations or more.")
        at = jnp.asarray(times, dtype=rotations.quat.dtype)
        if at.ndim != 1:
            raise ValueError(f"Slerp needs a vector of times, got {at.ndim} dimensions.")
        if at.shape[0] != len(rotations):
            raise ValueError(
                f"Slerp needs one time for each rotation, got {len(rotations)} rotations and {at.shape[0]} times."
            )
        starts, ends = Rotation(rotations.quat[:-1]), Rotation(rotations.quat[1:])
        return cls(at, jnp.diff(at), starts, (starts.inv() * ends).as_rotvec())

    def __call__(self, times: ArrayLike) -> Rotation:
        """Rotations at one or several times; the first and the last interval extrapolate.

        Raises:
            ValueError: more than one axis of times.
        """
        asked = jnp.asarray(times, dtype=self.times.dtype)
        if asked.ndim > 1:
            raise ValueError("Slerp takes a time, or a vector of times.")
        at = jnp.atleast_1d(asked)
        i = jnp.clip(jnp.searchsorted(self.times, at) - 1, 0, self.timedelta.shape[0] - 1)
        share = (at - self.times[i]) / self.timedelta[i]
        found = self.rotations[i] * Rotation.from_rotvec(self.rotvecs[i] * share[:, None])
        return found if asked.ndim else Rotation(found.quat[0])
