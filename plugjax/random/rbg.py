"""Generators on ``lax.rng_bit_generator``: faster on some hardware, with weaker independence of many keys.

A key is the state of ``lax.rng_bit_generator``, of four words. ``"rbg"`` makes keys with Threefry, each half of the
state by itself; ``"unsafe_rbg"`` makes them with the bit generator too. Part of an array does not have the same
numbers, and under ``vmap`` the first key makes the bits of all instances, as in JAX.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from plugjax import lax
from plugjax.extend.core import Shape, ShapedArray, aval_of
from plugjax.extend.transforms import vmap
from plugjax.random.primitives import (
    PRNGImpl,
    register,
    threefry_fold_in,
    threefry_seed,
    threefry_split,
)

# Rounds of bits that count as a hash of the key.
_ROUNDS = 10


def _for_each(function: Callable[..., Any], rank: int) -> Callable[..., Any]:
    """A function of one key, for keys with ``rank`` axes."""
    for _ in range(rank):
        function = vmap(function)
    return function


def _halves(key: Any) -> tuple[Any, ShapedArray]:
    """One key as two keys of Threefry."""
    return lax.reshape(key, (2, 2)), ShapedArray((2,), np.uint32)


def _paired(keys: Any, aval: ShapedArray, data: Any, data_aval: ShapedArray) -> tuple[Any, Any]:
    """Keys and data broadcast to one shape."""
    shape = np.broadcast_shapes(aval.shape, data_aval.shape)
    own = tuple(range(aval.ndim))
    return (
        lax.broadcast_in_dim(keys, (*shape, 4), (*own, len(shape))),
        lax.broadcast_in_dim(data, shape, tuple(range(data_aval.ndim))),
    )


def _seed(seeds: Any, aval: ShapedArray) -> Any:
    half = threefry_seed(seeds, aval)
    return lax.concatenate([half, half], aval.ndim)


def _random_bits(keys: Any, aval: ShapedArray, bit_width: int, shape: Shape) -> Any:
    def bits(key: Any) -> Any:
        return lax.rng_bit_generator(key, shape, np.dtype(f"uint{bit_width}"))[1]

    return _for_each(bits, aval.ndim)(keys)


def _split(keys: Any, aval: ShapedArray, shape: Shape) -> Any:
    def split(key: Any) -> Any:
        halves = threefry_split(*_halves(key), shape)
        order = (*range(1, 1 + len(shape)), 0, 1 + len(shape))
        return lax.reshape(lax.transpose(halves, order), (*shape, 4))

    return _for_each(split, aval.ndim)(keys)


def _fold_in(keys: Any, aval: ShapedArray, data: Any, data_aval: ShapedArray) -> Any:
    def fold(key: Any, number: Any) -> Any:
        both = lax.broadcast(number, (2,))
        return lax.reshape(threefry_fold_in(*_halves(key), both, aval_of(both)), (4,))

    return _for_each(fold, max(aval.ndim, data_aval.ndim))(*_paired(keys, aval, data, data_aval))


def _unsafe_split(keys: Any, aval: ShapedArray, shape: Shape) -> Any:
    def split(key: Any) -> Any:
        words = lax.rng_bit_generator(key, (_ROUNDS * math.prod(shape), 4))[1]
        return lax.reshape(lax.slice_in_dim(words, 0, None, _ROUNDS), (*shape, 4))

    return _for_each(split, aval.ndim)(keys)


def _unsafe_fold_in(keys: Any, aval: ShapedArray, data: Any, data_aval: ShapedArray) -> Any:
    def fold(key: Any, number: Any) -> Any:
        words = lax.rng_bit_generator(_seed(number, aval_of(number)), (_ROUNDS, 4))[1]
        return lax.bitwise_xor(key, lax.index_in_dim(words, _ROUNDS - 1, keepdims=False))

    return _for_each(fold, max(aval.ndim, data_aval.ndim))(*_paired(keys, aval, data, data_aval))


rbg = register(
    PRNGImpl(
        "rbg", "rbg", (4,), seed=_seed, split=_split, random_bits=_random_bits, fold_in=_fold_in
    )
)
unsafe_rbg = register(
    PRNGImpl(
        "unsafe_rbg",
        "urbg",
        (4,),
        seed=_seed,
        split=_unsafe_split,
        random_bits=_random_bits,
        fold_in=_unsafe_fold_in,
    )
)
