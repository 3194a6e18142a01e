"""Generators on ``lax.rng_bit_generator``: faster on some hardware, with weaker independence of many keys.

A key is the state of ``lax.rng_bit_generator``, of four words. ``"rbg"`` makes keys with Threefry, each half of the
state by itself; ``"unsafe_rbg"`` makes them with the bit generator too. Part of an array does not have the same
numbers, and under ``vmap`` the first key makes the bits of all instances, as in JAX.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from plugjax import lax
from plugjax.extend.core import Shape, ShapedArray, aval_of
from plugjax.random.mapped import of_one_key
from plugjax.random.primitives import (
    PRNGImpl,
    register,
    threefry,
    threefry_fold_in,
    threefry_split,
)

# Rounds of bits that count as a hash of the key.
_ROUNDS = 10


def _halves(key: Any) -> tuple[Any, ShapedArray]:
    """One key as two keys of Threefry."""
    return lax.reshape(key, (2, 2)), ShapedArray((2,), np.uint32)


def _seed(seed: Any) -> Any:
    half = threefry.seed(seed)
    return lax.concatenate([half, half], 0)


def _random_bits(key: Any, bit_width: int, shape: Shape) -> Any:
    return lax.rng_bit_generator(key, shape, np.dtype(f"uint{bit_width}"))[1]


def _split(key: Any, shape: Shape) -> Any:
    halves = threefry_split(*_halves(key), shape)
    order = (*range(1, 1 + len(shape)), 0, 1 + len(shape))
    return lax.reshape(lax.transpose(halves, order), (*shape, 4))


def _fold_in(key: Any, data: Any) -> Any:
    both = lax.broadcast(data, (2,))
    return lax.reshape(threefry_fold_in(*_halves(key), both, aval_of(both)), (4,))


def _unsafe_split(key: Any, shape: Shape) -> Any:
    words = lax.rng_bit_generator(key, (_ROUNDS * math.prod(shape), 4))[1]
    return lax.reshape(lax.slice_in_dim(words, 0, None, _ROUNDS), (*shape, 4))


def _unsafe_fold_in(key: Any, data: Any) -> Any:
    words = lax.rng_bit_generator(_seed(data), (_ROUNDS, 4))[1]
    return lax.bitwise_xor(key, lax.index_in_dim(words, _ROUNDS - 1, keepdims=False))


rbg = register(
    PRNGImpl("rbg", "rbg", (4,), of_one_key((4,), _seed, _split, _random_bits, _fold_in))
)
unsafe_rbg = register(
    PRNGImpl(
        "unsafe_rbg",
        "urbg",
        (4,),
        of_one_key((4,), _seed, _unsafe_split, _random_bits, _unsafe_fold_in),
    )
)
