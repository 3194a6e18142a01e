"""Rows of the primitives that hold programs, and of random numbers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import scipy.special

import plugjax
from plugjax import lax
from plugjax.extend.calls import jit_p
from plugjax.lax.random_bits import (
    multiply_add,
    multiply_add_p,
    threefry2x32,
    threefry2x32_p,
)
from plugjax.random import primitives as random
from plugjax.random.gamma import random_gamma_p
from plugjax.testing.row import Op, Sampler, both, in_float64, integers, real


def _loop(n: Any, x: Any) -> Any:
    for _ in range(int(n)):
        x = np.sin(x) * 2
    return x


def _steps(c: Any, xs: Any, reverse: bool = False) -> list[Any]:
    found = []
    for a in xs[::-1] if reverse else xs:
        found.append(c * a)
        c = np.sin(c) * a
    return [c, np.stack(found[::-1] if reverse else found)]


def _scan(lax: Any, c: Any, xs: Any, reverse: bool = False) -> Any:
    return lax.scan(lambda c, a: (lax.sin(c) * a, c * a), c, xs, reverse=reverse)


def _while(lax: Any, n: Any, x: Any) -> Any:
    def body(state: Any) -> Any:
        return state[0] + 1, lax.sin(state[1]) * 2

    return lax.while_loop(lambda state: state[0] < n, body, (0, x))[1]


def _solve(lax: Any, a: Any, b: Any) -> Any:
    diagonal = lax.add(lax.mul(a, a), lax.full_like(a, 2))

    def solve(apply: Any, right: Any) -> Any:
        return lax.div(right, diagonal)

    return lax.custom_linear_solve(lambda x: lax.mul(diagonal, x), b, solve, symmetric=True)


def _growing(lax: Any, x: Any) -> Any:
    return lax.while_loop(lambda y: y < 40, lambda y: y * 3 + 1, x)


def _grown(x: Any) -> Any:
    while x < 40:
        x = x * 3 + 1
    return x


def _by_platform(lax: Any, x: Any) -> Any:
    return lax.platform_dependent(x, cpu=lambda x: lax.sin(x), default=lambda x: lax.cos(x))


CONTROL_FLOW: Sequence[Op] = (
    Op("cond", lax.cond_p,
       lambda lax, p, x: lax.cond(p > 0, lambda a: lax.sin(a), lambda a: a * a * a, x),
       in_float64(lambda p, x: np.sin(x) if p > 0 else x**3), real(-1, 1, (), (3,)), 2, wrt=(1,),
       rtol=1e-5),
    Op("cond of three", lax.cond_p,
       lambda lax, i, x: lax.switch(i, (lax.sin, lambda a: a * 5, lax.cos), x),
       in_float64(lambda i, x: (np.sin, lambda a: a * 5, np.cos)[np.clip(i, 0, 2)](x)),
       both(integers(-1, 4, ()), real(-1, 1, (3,))), 2, rtol=1e-5),
    Op("cond by platform", lax.cond_p, lambda lax, x: plugjax.jit(lambda x: _by_platform(lax, x))(x),
       in_float64(np.sin), real(-1, 1), 2, rtol=1e-5, without_jax="jit is no function of jax.lax"),
    Op("while", lax.while_p, _while, in_float64(_loop), both(integers(1, 5, ()), real(-1, 1, (3,))),
       2, rtol=1e-5, reverse=False),
    Op("while by value", lax.while_p, _growing, in_float64(_grown), real(0.5, 9, ()), 2, rtol=1e-5,
       reverse=False),
    Op("scan", lax.scan_p, _scan, in_float64(_steps), real(-1, 1, (3,), (4, 3)), 2, rtol=1e-5),
    Op("scan reverse", lax.scan_p, partial(_scan, reverse=True),
       in_float64(partial(_steps, reverse=True)), real(-1, 1, (), (5,)), 2, rtol=1e-5),
    Op("custom_linear_solve", lax.linear_solve_p, _solve, in_float64(lambda a, b: b / (2 + a * a)),
       real(-1, 1, (3,), (3,)), 2, rtol=1e-5),
    Op("jit", jit_p, lambda lax, x, y: plugjax.jit(lambda a, b: (lax.sin(a) * b, b))(x, y),
       in_float64(lambda x, y: [np.sin(x) * y, y]), real(-1, 1, (3,), (3,)), 2, rtol=1e-5,
       without_jax="jit is no function of jax.lax"),
)  # fmt: skip

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = np.uint32(0x1BD11BDA)
_WORDS = ((), (), (3, 4), (3, 4))


def threefry(key: tuple[Any, Any], x0: Any, x1: Any) -> list[Any]:
    """The Threefry-2x32 hash with 20 rounds."""
    keys = [*(np.asarray(k, np.uint32) for k in key)]
    keys.append(keys[0] ^ keys[1] ^ _PARITY)
    with np.errstate(over="ignore"):
        x0, x1 = x0 + keys[0], x1 + keys[1]
        for group in range(5):
            for rotation in _ROTATIONS[group % 2]:
                x0 = x0 + x1
                x1 = x0 ^ ((x1 << np.uint32(rotation)) | (x1 >> np.uint32(32 - rotation)))
            x0 = x0 + keys[(group + 1) % 3]
            x1 = x1 + keys[(group + 2) % 3] + np.uint32(group + 1)
    return [x0, x1]


def _wrapped(words: Any) -> Any:
    return random.random_wrap_p.bind(words, impl=random.threefry)


def _unwrapped(keys: Any) -> Any:
    return random.random_unwrap_p.bind(keys)


def _hashed(words: Any, shape: tuple[int, ...]) -> list[Any]:
    counts = np.arange(np.prod(shape), dtype=np.uint32).reshape(shape)
    return threefry((words[0], words[1]), np.zeros_like(counts), counts)


def _words(*shapes: tuple[int, ...]) -> Sampler:
    return integers(0, 2**32, *shapes, dtype=np.uint32)


_STREAMS = "JAX keeps this primitive to itself; tests/random compares the numbers"


def _uniform(key: Any) -> float:
    bits = np.bitwise_xor(*_hashed(key, ()))
    return (np.uint32(bits >> 9 | 0x3F800000).view(np.float32) - np.float32(1)).item()


def _split_key(key: Any, count: int) -> Any:
    return np.stack(_hashed(key, (count,)), -1)


def _gamma_sample(key: Any, a: float) -> float:
    """Marsaglia and Tsang's method, for a >= 1."""
    d = a - 1 / 3
    key, _ = _split_key(key, 2)
    while True:
        key, proposal, acceptance = _split_key(key, 3)
        v = -1.0
        while v <= 0:
            proposal, subkey = _split_key(proposal, 2)
            z = np.sqrt(2) * scipy.special.erfinv(2 * _uniform(subkey) - 1)
            v = 1 + z / (3 * np.sqrt(d))
        if np.log(_uniform(acceptance)) < z * z / 2 + d * (1 - v**3 + 3 * np.log(v)):
            return d * v**3


def _gamma_samples(words: Any, a: Any) -> Any:
    keys = _split_key(words, a.size)
    found = [_gamma_sample(k, alpha) for k, alpha in zip(keys, a.ravel().tolist(), strict=True)]
    return np.reshape(found, a.shape).astype(np.float32)


def _bit_blocks(state: Any, count: int) -> list[Any]:
    """Threefry of consecutive counters, and the key after them; the counter's low word does not overflow."""
    key, counter = (state[0], state[1]), state[2:]
    low = counter[0] + np.arange(count, dtype=np.uint32)
    bits = np.stack(threefry(key, low, np.full_like(low, counter[1])))
    return [np.array([*key, counter[0] + count, counter[1]], np.uint32), bits]


RANDOM: Sequence[Op] = (
    Op("rng_bit_generator", lax.rng_bit_generator_p,
       lambda lax, state: lax.rng_bit_generator(
           state, (2, 5), algorithm=lax.RandomAlgorithm.RNG_THREE_FRY),
       lambda state: _bit_blocks(state, 5), integers(0, 2**31, (4,), dtype=np.uint32), batch=()),
    Op("rng_uniform", lax.rng_uniform_p, lambda lax, a, b: lax.rng_uniform(a, b, (3,)),
       lambda a, b: np.full(3, a), lambda rng: (np.int32(3), np.int32(4))),
    Op("threefry2x32", threefry2x32_p, lambda _, *xs: threefry2x32(*xs),
       lambda a, b, c, d: threefry((a, b), c, d), _words(*_WORDS), without_jax=_STREAMS),
    Op("multiply_add", multiply_add_p, lambda _, *xs: multiply_add(*xs),
       in_float64(lambda a, b, c: a * b + c), real(-2, 2, (3, 4), (3, 4), (3, 4)), 2,
       without_jax="JAX has no such primitive"),
    Op("multiply_add scalars", multiply_add_p, lambda _, *xs: multiply_add(*xs),
       in_float64(lambda a, b, c: a * b + c), real(-2, 2, (3, 4), (), ()), 2,
       without_jax="JAX has no such primitive"),
    Op("random_seed", random.random_seed_p,
       lambda _, seed: _unwrapped(random.random_seed_p.bind(seed, impl=random.threefry)),
       lambda seed: np.stack([np.zeros_like(seed), seed], -1).astype(np.uint32),
       integers(-9, 9, (3,)), without_jax=_STREAMS),
    Op("random_wrap", random.random_wrap_p, lambda lax, x: _unwrapped(lax.rev(_wrapped(x), (0,))),
       lambda x: x[::-1], _words((3, 2)), without_jax=_STREAMS),
    Op("random_unwrap", random.random_unwrap_p, lambda _, x: _unwrapped(_wrapped(x)), lambda x: x,
       _words((2,)), without_jax=_STREAMS),
    Op("random_clone", random.random_clone_p,
       lambda _, x: _unwrapped(random.random_clone_p.bind(_wrapped(x))), lambda x: x,
       _words((3, 2)), without_jax=_STREAMS),
    Op("random_bits", random.random_bits_p,
       lambda _, x: random.random_bits_p.bind(_wrapped(x), bit_width=32, shape=(3, 4)),
       lambda x: np.bitwise_xor(*_hashed(x, (3, 4))), _words((2,)), without_jax=_STREAMS),
    Op("random_bits of a byte", random.random_bits_p,
       lambda _, x: random.random_bits_p.bind(_wrapped(x), bit_width=8, shape=(5,)),
       lambda x: np.bitwise_xor(*_hashed(x, (5,))).astype(np.uint8), _words((2,)),
       without_jax=_STREAMS),
    Op("random_split", random.random_split_p,
       lambda _, x: _unwrapped(random.random_split_p.bind(_wrapped(x), shape=(3,))),
       lambda x: np.stack(_hashed(x, (3,)), -1), _words((2,)), without_jax=_STREAMS),
    Op("random_gamma", random_gamma_p,
       lambda _, x, a: random_gamma_p.bind(_wrapped(x), a, log_space=False), _gamma_samples,
       both(_words((2,)), real(1, 5)), rtol=1e-5, without_jax=_STREAMS),
    Op("random_fold_in", random.random_fold_in_p,
       lambda _, x, n: _unwrapped(random.random_fold_in_p.bind(_wrapped(x), n)),
       lambda x, n: np.stack(threefry((x[0], x[1]), np.zeros_like(n), n), -1), _words((2,), ()),
       without_jax=_STREAMS),
)  # fmt: skip
