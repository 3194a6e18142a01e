"""Generators for authors: the names of ``plugjax.extend.random``.

A generator is defined by functions of one key. Two definitions by the same functions, names and shape are one generator,
so that their keys have one dtype.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from plugjax import lax
from plugjax.extend.core import Array, ArrayLike, Shape, as_array, aval_of
from plugjax.lax.random_bits import threefry2x32, threefry2x32_p
from plugjax.random.keys import as_seeds
from plugjax.random.mapped import of_one_key
from plugjax.random.primitives import PRNGImpl, random_seed_p, resolve_impl, threefry
from plugjax.random.rbg import rbg, unsafe_rbg

__all__ = [
    "define_prng_impl", "random_seed", "rbg_prng_impl", "seed_with_impl", "threefry2x32_p", "threefry_2x32",
    "threefry_prng_impl", "unsafe_rbg_prng_impl",
]  # fmt: skip

rbg_prng_impl = rbg
threefry_prng_impl = threefry
unsafe_rbg_prng_impl = unsafe_rbg


class _Defined(PRNGImpl):
    """A generator without a registered name; it is pickled by its functions."""

    __slots__ = ("definition",)

    def __init__(self, definition: dict[str, Any]) -> None:
        self.definition = definition
        name, tag, key_shape = (definition[n] for n in ("name", "tag", "key_shape"))
        functions = {
            n: _checked(definition[n], name, n, key_shape)
            for n in ("seed", "split", "random_bits", "fold_in")
        }
        super().__init__(name, tag, key_shape, of_one_key(key_shape, **functions))

    def __reduce__(self) -> tuple[Any, ...]:
        return functools.partial(define_prng_impl, **self.definition), ()


_defined: WeakValueDictionary[tuple[Any, ...], _Defined] = WeakValueDictionary()


def define_prng_impl(
    *,
    key_shape: Shape,
    seed: Callable[[Array], Array],
    split: Callable[[Array, Shape], Array],
    random_bits: Callable[[Array, int, Shape], Array],
    fold_in: Callable[[Array, Array], Array],
    name: str = "<unnamed>",
    tag: str = "?",
) -> PRNGImpl:
    """A generator, as in ``random.key(0, impl=generator)``, from functions of one key.

    Keys are stored as ``uint32[*key_shape]``. The functions are traced, and mapped over arrays of keys.

    Args:
        key_shape: shape of a stored key.
        seed: ``(integer) -> key``.
        split: ``(key, shape) -> keys [*shape, *key_shape]``.
        random_bits: ``(key, bit_width, shape) -> unsigned integers [*shape]``.
        fold_in: ``(key, uint32) -> key``.
        name: name for messages; ``key(0, impl=name)`` does not know it.
        tag: short name, in the dtype ``key<tag>``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax import random
        >>> from plugjax.extend.random import define_prng_impl, threefry_prng_impl
        >>> generator = define_prng_impl(
        ...     key_shape=(2,),
        ...     seed=lambda seed: threefry_prng_impl.seed(seed) + 1,
        ...     split=threefry_prng_impl.split,
        ...     random_bits=threefry_prng_impl.random_bits,
        ...     fold_in=threefry_prng_impl.fold_in,
        ...     tag="moved",
        ... )
        >>> random.key(3, impl=generator)
        Array((), dtype=key<moved>) overlaying:
        [1 4]
    """
    definition = {
        "key_shape": tuple(key_shape), "seed": seed, "split": split, "random_bits": random_bits, "fold_in": fold_in,
        "name": name, "tag": tag,
    }  # fmt: skip
    known = tuple(definition.values())
    found = _defined.get(known)
    if found is None:
        found = _defined.setdefault(known, _Defined(definition))
    return found


def _checked(
    function: Callable[..., Any], generator: str, name: str, key_shape: Shape
) -> Callable[..., Any]:
    """A function of a generator whose result has the shape and dtype that it must have."""

    def checked(*args: Any) -> Any:
        found = as_array(function(*args), f"{name} of the generator {generator!r}")
        aval = aval_of(found)
        if name == "random_bits":
            wanted = (np.dtype(f"uint{args[1]}"), tuple(args[2]))
        else:
            wanted = (np.dtype(np.uint32), (*(args[1] if name == "split" else ()), *key_shape))
        if (aval.dtype, aval.shape) != wanted:
            raise TypeError(
                f"{name} of the generator {generator!r} gave {aval.str_short()}; it must give "
                f"{wanted[0].name}{list(wanted[1])}."
            )
        return found

    return checked


def random_seed(seeds: ArrayLike, impl: PRNGImpl) -> Array:
    """Keys of a generator from integers, one for each.

    Example:
        >>> import numpy as np
        >>> from plugjax.extend.random import random_seed, threefry_prng_impl
        >>> random_seed(np.arange(3), threefry_prng_impl).shape
        (3,)
    """
    return random_seed_p.bind(as_seeds(seeds, "random_seed"), impl=resolve_impl(impl))


def seed_with_impl(impl: PRNGImpl, seed: ArrayLike) -> Array:
    """:func:`random_seed` with its arguments in the other order."""
    return random_seed(seed, impl)


def threefry_2x32(keypair: Sequence[ArrayLike] | Array, count: ArrayLike) -> Array:
    """The Threefry hash of an array of counters under a key of two words.

    The first half of the counters in order are the upper words of what is hashed, the second half the lower ones.

    Shapes:
        keypair: two of ``[]``, uint32, or ``[2]``.
        count: ``[...]``, uint32 -> ``[...]``, uint32.

    Raises:
        TypeError: another dtype than uint32.

    Example:
        >>> import numpy as np
        >>> from plugjax.extend.random import threefry_2x32
        >>> threefry_2x32(np.uint32([0, 7]), np.uint32([0, 1]))
        Array([ 195045567, 4062205631], dtype=uint32)
    """
    first, second = keypair
    key0, key1, counters = (as_array(x, "threefry_2x32") for x in (first, second, count))
    dtypes = [x.dtype for x in (key0, key1, counters)]
    if any(d != np.uint32 for d in dtypes):
        raise TypeError(
            f"threefry_2x32 hashes uint32, got {', '.join(str(d) for d in dtypes)}. Convert them."
        )
    flat = lax.reshape(counters, (counters.size,))
    if flat.size % 2:
        flat = lax.concatenate([flat, lax.full((1,), np.uint32(0))], 0)
    half = flat.size // 2
    upper, lower = lax.slice_in_dim(flat, 0, half), lax.slice_in_dim(flat, half, flat.size)
    words = lax.concatenate(threefry2x32(key0, key1, upper, lower), 0)
    return lax.reshape(lax.slice_in_dim(words, 0, counters.size), counters.shape)
