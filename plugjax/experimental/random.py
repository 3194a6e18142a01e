"""A random generator with a state of its own, after ``numpy.random.default_rng``: the names of ``jax.experimental.random``.

The state is a key and a counter. The counter is a reference (`plugjax.ref`), so draws advance it also within ``jit``, loops and
branches; each draw uses the key with the counter folded in.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

import plugjax.numpy as jnp
from plugjax import dtypes, random
from plugjax.extend.core import Array, ArrayLike, find_top_trace
from plugjax.extend.dtypes import DTypeLike
from plugjax.extend.execution import EvalTrace
from plugjax.extend.transforms import show_only
from plugjax.state import Ref, addupdate, new_ref
from plugjax.tree_util import register_pytree_node

__all__ = ["StatefulPRNG", "stateful_rng"]

Size: TypeAlias = int | Sequence[int] | None


def _shape(size: Size, *args: ArrayLike) -> tuple[int, ...]:
    if size is None:
        return np.broadcast_shapes(*(jnp.shape(x) for x in args))
    if isinstance(size, Sequence):
        return tuple(map(operator.index, size))
    return (operator.index(size),)


class StatefulPRNG:
    """A generator of random numbers; :func:`stateful_rng` makes it.

    A container of its key and its counter. Like a reference it cannot be returned from a function that is transformed.

    Raises:
        ValueError: the key is no typed key, or the counter no reference.

    Example:
        >>> import plugjax
        >>> from plugjax.experimental import random
        >>> rng = random.stateful_rng(42)
        >>> plugjax.jit(lambda: rng.integers(10))(), plugjax.jit(lambda: rng.integers(10))()
        (Array(4, dtype=int32), Array(5, dtype=int32))
    """

    def __init__(self, _base_key: Array, _counter: Ref) -> None:
        if isinstance(_base_key, Array) and not dtypes.issubdtype(_base_key.dtype, dtypes.prng_key):
            raise ValueError(
                f"StatefulPRNG: Expected base_key to be a typed PRNG key; got {_base_key}"
            )
        if isinstance(_counter, Array):
            raise ValueError(
                f"StatefulPRNG: Expected counter to be a scalar integer ref; got {_counter}"
            )
        self._base_key = _base_key
        self._counter = _counter

    def __repr__(self) -> str:
        return f"StatefulPRNG(_base_key={self._base_key!r}, _counter={self._counter!r})"

    def key(self, shape: int | Sequence[int] = ()) -> Array:
        """New keys, of the kind of the generator's own.

        Args:
            shape: ``()`` for one key, else the shape of several.

        Raises:
            ValueError: the generator was split; ``vmap`` gives one of its parts.
        """
        if self._base_key.shape:
            raise ValueError(
                f"StatefulPRNG: cannot operate on split stateful generator (of shape {self._base_key.shape}). Map over it with vmap."
            )
        found = random.fold_in(self._base_key, self._counter[...])
        addupdate(self._counter, ..., 1)
        several = _shape(shape)
        return random.split(found, several) if several else found

    def random(self, size: Size = None, dtype: DTypeLike = float) -> Array:
        """Uniform numbers in ``[0, 1)``, of shape ``size``."""
        return random.uniform(self.key(), _shape(size), dtype)

    def uniform(
        self,
        low: ArrayLike = 0,
        high: ArrayLike = 1,
        size: Size = None,
        *,
        dtype: DTypeLike = float,
    ) -> Array:
        """Uniform numbers in ``[low, high)``, of shape ``size`` or that of the bounds."""
        return random.uniform(self.key(), _shape(size, low, high), dtype, low, high)

    def normal(
        self,
        loc: ArrayLike = 0,
        scale: ArrayLike = 1,
        size: Size = None,
        *,
        dtype: DTypeLike = float,
    ) -> Array:
        """Normal numbers of mean ``loc`` and deviation ``scale``, of shape ``size`` or that of the two."""
        drawn = random.normal(self.key(), _shape(size, loc, scale), dtype)
        return (jnp.asarray(loc) + jnp.asarray(scale) * drawn).astype(dtype)

    def integers(
        self,
        low: ArrayLike,
        high: ArrayLike | None = None,
        size: Size = None,
        *,
        dtype: DTypeLike = int,
    ) -> Array:
        """Integers in ``[low, high)``, or in ``[0, low)`` without ``high``, of shape ``size`` or that of the bounds."""
        if high is None:
            low, high = 0, low
        return random.randint(self.key(), _shape(size, low, high), low, high, dtype)

    def split(self, num: int | Sequence[int]) -> StatefulPRNG:
        """Independent generators as one container, for ``vmap``.

        Args:
            num: their number, or the shape in which they are laid out.
        """
        return StatefulPRNG(self.key(num), new_ref(jnp.zeros(num, int)))

    def spawn(self, n_children: int) -> list[StatefulPRNG]:
        """A list of independent generators."""
        return [StatefulPRNG(key, new_ref(0)) for key in self.key(n_children)]


register_pytree_node(
    StatefulPRNG,
    lambda rng: ((rng._base_key, rng._counter), None),
    lambda _, parts: StatefulPRNG(*parts),
)


def stateful_rng(seed: ArrayLike | None = None, *, impl: Any = None) -> StatefulPRNG:
    """A generator of random numbers whose state advances with each draw.

    Args:
        seed: integer; drawn from the system if it is left out, which functions that are traced cannot do.
        impl: the kind of key, as for ``plugjax.random.key``.

    Raises:
        TypeError: no seed under a transformation.

    Example:
        >>> from plugjax.experimental import random
        >>> rng = random.stateful_rng(42)
        >>> rng.uniform(), rng.uniform()
        (Array(0.5302608, dtype=float32), Array(0.72766423, dtype=float32))
    """
    if seed is None:
        if not isinstance(find_top_trace(), EvalTrace):
            raise TypeError(
                "stateful_rng: a function that is traced would draw its seed once, so it requires an explicit seed to be set."
            )
        entropy = np.random.SeedSequence().entropy
        assert isinstance(entropy, int)
        seed = np.int64(entropy & np.iinfo(np.int64).max)
    return StatefulPRNG(random.key(seed, impl=impl), new_ref(0))


show_only(globals(), __all__)
