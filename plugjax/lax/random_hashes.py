"""Hashes of counters, elementwise: Philox of two and of four words, and Threefry of four words.

Reference:
    J. Salmon, M. Moraes, R. Dror, D. Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC11, 2011.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from plugjax.lax.arithmetic import add, mul, mulhi
from plugjax.lax.comparison import bitwise_or, bitwise_xor, shift_left, shift_right_logical

# What is added to the words of a Philox key after each round.
_WEYL = (np.uint32(0x9E3779B9), np.uint32(0xBB67AE85))
_PHILOX_2 = np.uint32(0xD256D193)
_PHILOX_4 = (np.uint32(0xD2511F53), np.uint32(0xCD9E8D57))
_PHILOX_ROUNDS = 10

# Rotations of the two pairs of words, for each of eight rounds.
_ROTATIONS = ((10, 26), (11, 21), (13, 27), (23, 5), (6, 20), (17, 11), (25, 10), (18, 20))
_PARITY = np.uint32(0x1BD11BDA)
_THREEFRY_ROUNDS = 20


def philox2x32(key: Any, x0: Any, x1: Any, /) -> tuple[Any, Any]:
    """The hash of the counter ``(x0, x1)`` under a key of one word.

    Shapes:
        key, x0, x1: ``[...]``, uint32, or scalar -> two of ``[...]``, uint32.
    """
    for _ in range(_PHILOX_ROUNDS):
        x0, x1 = bitwise_xor(bitwise_xor(mulhi(x0, _PHILOX_2), x1), key), mul(x0, _PHILOX_2)
        key = add(key, _WEYL[0])
    return x0, x1


def philox4x32(key: Sequence[Any], counter: Sequence[Any], /) -> tuple[Any, Any, Any, Any]:
    """The hash of a counter of four words under a key of two words.

    Shapes:
        key, counter: each ``[...]``, uint32, or scalar -> four of ``[...]``, uint32.
    """
    key0, key1 = key
    x0, x1, x2, x3 = counter
    first, second = _PHILOX_4
    for _ in range(_PHILOX_ROUNDS):
        x0, x1, x2, x3 = (
            bitwise_xor(bitwise_xor(mulhi(x2, second), x1), key0),
            mul(x2, second),
            bitwise_xor(bitwise_xor(mulhi(x0, first), x3), key1),
            mul(x0, first),
        )
        key0, key1 = add(key0, _WEYL[0]), add(key1, _WEYL[1])
    return x0, x1, x2, x3


def threefry4x32(key: Sequence[Any], counter: Sequence[Any], /) -> list[Any]:
    """The hash of a counter of four words under a key of four words.

    Shapes:
        key, counter: each ``[...]``, uint32, or scalar -> four of ``[...]``, uint32.
    """
    parity: Any = _PARITY
    for word in key:
        parity = bitwise_xor(word, parity)
    schedule = [*key, parity]
    x = [add(c, k) for c, k in zip(counter, key, strict=True)]
    for turn in range(_THREEFRY_ROUNDS):
        # The words that are mixed with the first and with the third one.
        partners = (1, 3) if turn % 2 == 0 else (3, 1)
        for own, other, distance in zip((0, 2), partners, _ROTATIONS[turn % 8], strict=True):
            x[own] = add(x[own], x[other])
            x[other] = bitwise_xor(_rotated(x[other], distance), x[own])
        if turn % 4 == 3:
            step = turn // 4 + 1
            x = [add(v, schedule[(step + i) % 5]) for i, v in enumerate(x)]
            x[3] = add(x[3], np.uint32(step))
    return x


def _rotated(x: Any, distance: int) -> Any:
    return bitwise_or(
        shift_left(x, np.uint32(distance)), shift_right_logical(x, np.uint32(32 - distance))
    )
