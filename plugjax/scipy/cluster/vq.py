"""Vector quantization: the names of ``jax.scipy.cluster.vq``."""

from __future__ import annotations

import plugjax.numpy as jnp
from plugjax.extend.core import Array
from plugjax.extend.transforms import publish
from plugjax.numpy.promotion import ArrayLike, same_dtype

__all__ = ["vq"]


def vq(obs: ArrayLike, code_book: ArrayLike, check_finite: bool = True) -> tuple[Array, Array]:
    """The nearest vector of a code book for each observation.

    Shapes:
        obs: ``[m, d]``, or ``[m]``.
        code_book: ``[k, d]``, or ``[k]``.

    Args:
        obs: observations.
        code_book: vectors to choose among.
        check_finite: has no effect.

    Returns:
        Row of the code book, and distance to it: both ``[m]``.

    Raises:
        ValueError: ranks that differ, or are not 1 or 2.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.cluster.vq import vq
        >>> vq(jnp.array([[1.0, 1.0], [3.0, 0.0]]), jnp.array([[0.0, 0.0], [3.0, 1.0]]))
        (Array([0, 1], dtype=int32), Array([1.4142135, 1.       ], dtype=float32))
    """
    del check_finite
    x, codes = same_dtype("scipy.cluster.vq.vq", obs, code_book, inexact=True)
    if x.ndim != codes.ndim:
        raise ValueError("vq: obs and code_book need the same rank.")
    if x.ndim == 1:
        x, codes = x[:, None], codes[:, None]
    if x.ndim != 2:
        raise ValueError("vq takes arrays of one axis or two.")
    distances = jnp.linalg.norm(x[:, None] - codes, axis=-1)
    return jnp.argmin(distances, -1), distances.min(-1)


publish(globals(), __all__)
