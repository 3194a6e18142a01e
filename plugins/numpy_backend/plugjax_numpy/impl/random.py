"""Kernels of the Threefry hash and of the multiply-add."""

from __future__ import annotations

from typing import Any

import numpy as np

from plugjax.extend.rules import RuleSet, impl
from plugjax.lax import random_bits as lax
from plugjax_numpy.impl.erf_inv import fused_multiply_add
from plugjax_numpy.kernels import Value

rules = RuleSet(__name__)

Words = np.ndarray[Any, np.dtype[np.uint32]]

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = 0x1BD11BDA
_MASK = 0xFFFFFFFF

# Below this size Python integers are faster than a hundred calls of ufuncs.
_FEW = 8
# Three arrays of this many words stay in the first two levels of cache.
_BLOCK = 16384


@rules.define(impl, lax.threefry2x32_p)
def _threefry2x32(key0: Value, key1: Value, x0: Value, x1: Value) -> list[Value]:
    shape = np.broadcast_shapes(key0.shape, key1.shape, x0.shape, x1.shape)
    size = int(np.prod(shape))
    if size <= _FEW:
        operands = [_as_integers(v, shape, size) for v in (key0, key1, x0, x1)]
        pairs = [_hash_word(*words) for words in zip(*operands, strict=True)]
        found = np.array(pairs, np.uint32).reshape(size, 2)
        return [found[:, 0].reshape(shape), found[:, 1].reshape(shape)]
    y0, y1 = np.empty(shape, np.uint32), np.empty(shape, np.uint32)
    if not (np.ndim(key0) or np.ndim(key1)) and size > _BLOCK:
        np.copyto(y0, x0)
        np.copyto(y1, x1)
        flat0, flat1 = y0.reshape(-1), y1.reshape(-1)
        for low in range(0, size, _BLOCK):
            part = slice(low, low + _BLOCK)
            _hash_in_place(np.uint32(key0), np.uint32(key1), flat0[part], flat1[part])
        return [y0, y1]
    np.copyto(y0, x0)
    np.copyto(y1, x1)
    _hash_in_place(key0, key1, y0, y1)
    return [y0, y1]


def _as_integers(words: Value, shape: tuple[int, ...], size: int) -> list[int]:
    if np.size(words) == 1:
        return [words.item()] * size
    if words.shape != shape:
        words = np.broadcast_to(words, shape)
    found: list[int] = words.ravel().tolist()
    return found


def _hash_word(key0: int, key1: int, x0: int, x1: int) -> tuple[int, int]:
    keys = (key0, key1, key0 ^ key1 ^ _PARITY)
    x0, x1 = (x0 + key0) & _MASK, (x1 + key1) & _MASK
    for group in range(5):
        for r in _ROTATIONS[group % 2]:
            x0 = (x0 + x1) & _MASK
            x1 = ((x1 << r | x1 >> (32 - r)) & _MASK) ^ x0
        x0 = (x0 + keys[(group + 1) % 3]) & _MASK
        x1 = (x1 + keys[(group + 2) % 3] + group + 1) & _MASK
    return x0, x1


def _hash_in_place(key0: Any, key1: Any, x0: Words, x1: Words) -> None:
    key2 = np.bitwise_xor(np.bitwise_xor(key0, key1), np.uint32(_PARITY))
    keys = (key0, key1, key2)
    spare = np.empty_like(x0)
    np.add(x0, key0, out=x0)
    np.add(x1, key1, out=x1)
    for group in range(5):
        for r in _ROTATIONS[group % 2]:
            np.add(x0, x1, out=x0)
            np.left_shift(x1, np.uint32(r), out=spare)
            np.right_shift(x1, np.uint32(32 - r), out=x1)
            np.bitwise_or(x1, spare, out=x1)
            np.bitwise_xor(x1, x0, out=x1)
        np.add(x0, keys[(group + 1) % 3], out=x0)
        np.add(x1, np.add(keys[(group + 2) % 3], np.uint32(group + 1)), out=x1)


@rules.define(impl, lax.multiply_add_p)
def _multiply_add(a: Value, b: Value, c: Value) -> Value:
    if a.dtype in (np.float32, np.float64):
        if np.ndim(b) == 0 and np.ndim(c) == 0 and b == 1 and c == 0:
            return a
        return fused_multiply_add(a, b, c)
    return np.add(np.multiply(a, b), c)
