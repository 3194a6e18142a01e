"""Generators that hash positions: Philox of two and of four words, and Threefry of four words.

A key and a position, of 64 bits, give a number; so part of an array has the same numbers. A generator is described by its
hash of a stored key and a counter, and by where in the counter a seed, a new key's position and a number's position go.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from plugjax import lax
from plugjax.extend.core import Shape, aval_of
from plugjax.lax.random_hashes import philox2x32, philox4x32, threefry4x32
from plugjax.random.mapped import of_one_key
from plugjax.random.primitives import KeyFunctions, PRNGImpl, check_count, register, threefry_seed

# A hash of the words of a key and two counters of two words: one for numbers, and one for new keys.
Hash: TypeAlias = Callable[[Sequence[Any], Sequence[Any], Sequence[Any]], Sequence[Any]]

_ZERO = np.uint32(0)
_ZEROS = (_ZERO, _ZERO)


def _philox2(key: Sequence[Any], numbers: Sequence[Any], keys: Sequence[Any]) -> Sequence[Any]:
    # Its counter has one pair of words, for either.
    return philox2x32(key[0], *(numbers if keys is _ZEROS else keys))


def _philox4(key: Sequence[Any], numbers: Sequence[Any], keys: Sequence[Any]) -> Sequence[Any]:
    return philox4x32(key, (*numbers, *keys))


def _threefry4(key: Sequence[Any], numbers: Sequence[Any], keys: Sequence[Any]) -> Sequence[Any]:
    return threefry4x32(key, (*numbers, *keys))


def _words(key: Any, count: int) -> list[Any]:
    return [lax.index_in_dim(key, i, keepdims=False) for i in range(count)]


def _joined(words: Sequence[Any], count: int) -> Any:
    """The first words of a hash as stored keys."""
    rank = aval_of(words[0]).ndim
    return lax.concatenate([lax.expand_dims(w, (rank,)) for w in words[:count]], rank)


def _positions(shape: Shape) -> tuple[Any, Any]:
    size = math.prod(shape)
    check_count(size, shape)
    return lax.full(shape, _ZERO), lax.reshape(lax.iota(np.uint32, size), shape)


def _functions(width: int, hashed: Hash, seed: Callable[[Any], Any]) -> KeyFunctions:
    """The functions of a generator whose keys have ``width`` words."""

    def split(key: Any, shape: Shape) -> Any:
        return _joined(hashed(_words(key, width), _ZEROS, _positions(shape)), width)

    def fold_in(key: Any, data: Any) -> Any:
        return _joined(hashed(_words(key, width), _ZEROS, (_ZERO, data)), width)

    def random_bits(key: Any, bit_width: int, shape: Shape) -> Any:
        words = list(hashed(_words(key, width), _positions(shape), _ZEROS))
        dtype = np.dtype(f"uint{bit_width}")
        if bit_width == 64:
            if width == 4:
                words = [lax.bitwise_xor(words[i], words[i + 2]) for i in range(2)]
            high, low = (lax.convert_element_type(w, dtype) for w in words[:2])
            return lax.bitwise_or(lax.shift_left(high, dtype.type(32)), low)
        mixed = words[0]
        for word in words[1:]:
            mixed = lax.bitwise_xor(mixed, word)
        return lax.convert_element_type(mixed, dtype)

    return of_one_key((width,), seed, split, random_bits, fold_in)


def _halves(seed: Any) -> list[Any]:
    return _words(threefry_seed(seed, aval_of(seed)), 2)


def _philox2_seed(seed: Any) -> Any:
    return _joined(philox2x32(_ZERO, *_halves(seed)), 1)


def _philox4_seed(seed: Any) -> Any:
    return _joined(philox4x32(_ZEROS, (*_halves(seed), *_ZEROS)), 2)


def _threefry4_seed(seed: Any) -> Any:
    return _joined(threefry4x32((*_halves(seed), *_ZEROS), (*_ZEROS, *_ZEROS)), 4)


register(PRNGImpl("philox2x32", "phx2", (1,), _functions(1, _philox2, _philox2_seed)))
register(PRNGImpl("philox4x32", "phx4", (2,), _functions(2, _philox4, _philox4_seed)))
register(PRNGImpl("threefry4x32", "fry4", (4,), _functions(4, _threefry4, _threefry4_seed)))
