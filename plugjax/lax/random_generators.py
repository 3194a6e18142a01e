"""Random bits from a key with a counter, and from a hidden state.

``rng_bit_generator`` enciphers consecutive numbers: block i of the output is the cipher of ``counter + i`` under the
key, and the counter advances by the number of blocks. The words of the state are (key, key, counter, counter), 64 bits
each, low word first. Both ciphers are those of XLA on processors, bit for bit, on every backend.

Reference:
    J. Salmon, M. Moraes, R. Dror, D. Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC11, 2011: Threefry-2x32
    with 20
    rounds, Philox-4x32 with 10.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from plugjax.extend import dtypes
from plugjax.extend.core import (
    Array,
    ArrayLike,
    Effect,
    Effects,
    Primitive,
    ShapedArray,
    as_array,
    aval_of,
    moveaxis,
)
from plugjax.extend.dtypes import DType, DTypeLike
from plugjax.extend.errors import DtypeError
from plugjax.extend.meshes import ShardingLike
from plugjax.extend.rules import RuleSet, abstract_eval, batching_rule, effects_rule, jvp_rule
from plugjax.extend.transforms import Axis
from plugjax.lax.arithmetic import add
from plugjax.lax.axes import static_sizes
from plugjax.lax.comparison import bitwise_or, lt, shift_left, shift_right_logical
from plugjax.lax.compound import compound, new_compound
from plugjax.lax.conversion import convert_element_type
from plugjax.lax.derived import batching_by_loop
from plugjax.lax.families import FLOAT, INTEGER
from plugjax.lax.joining import stack
from plugjax.lax.placement import laid_out
from plugjax.lax.random_bits import threefry2x32
from plugjax.lax.random_hashes import philox4x32
from plugjax.lax.shape import iota, reshape, squeeze
from plugjax.lax.slicing import dynamic_update_index_in_dim, slice_in_dim

rules = RuleSet(__name__)

rng_bit_generator_p = new_compound("rng_bit_generator")
rng_uniform_p = Primitive("rng_uniform")

_UINT32, _UINT64 = np.dtype(np.uint32), np.dtype(np.uint64)
_MASK = 0xFFFFFFFF


class RandomAlgorithm(enum.IntEnum):
    """The cipher of :func:`rng_bit_generator`; the default is Philox."""

    RNG_DEFAULT = 0
    RNG_THREE_FRY = 1
    RNG_PHILOX = 2

    def __str__(self) -> str:
        return self.name


def rng_bit_generator(
    key: ArrayLike,
    shape: int | Sequence[int],
    dtype: DTypeLike = np.uint32,
    algorithm: RandomAlgorithm | int = RandomAlgorithm.RNG_DEFAULT,
    *,
    out_sharding: ShardingLike | None = None,
) -> tuple[Array, Array]:
    """Random bits, and the key for the next ones.

    Under ``vmap`` the first key makes the bits of all instances, as in JAX. ``plugjax.random`` uses each instance's
    key.

    Shapes:
        key: ``uint32[4]`` or ``uint64[2]`` -> the same, and ``shape``.

    Args:
        key: two words of key, and a counter of two words.
        shape: shape of the result.
        dtype: unsigned integer, of 8 to 64 bits.
        algorithm: the cipher.
        out_sharding: how the result is spread: a sharding, or a partition spec of the mesh in force.

    Raises:
        TypeError: another dtype, or another key.

    Example:
        >>> import numpy as np
        >>> from plugjax import lax
        >>> lax.rng_bit_generator(np.array([1, 2, 3, 4], np.uint32), (2,))
        (Array([1, 2, 4, 4], dtype=uint32), Array([ 512747620, 1298009047], dtype=uint32))
    """
    if out_sharding is not None:
        return laid_out(
            "rng_bit_generator",
            rng_bit_generator(key=key, shape=shape, dtype=dtype, algorithm=algorithm),
            out_sharding,
        )
    if dtype is None:
        raise ValueError("rng_bit_generator needs a dtype: uint8, uint16, uint32 or uint64.")
    wanted = dtypes.canonicalize(dtype)
    if wanted.kind != "u":
        raise DtypeError(f"rng_bit_generator: unsupported dtype {wanted.name}")
    sizes = static_sizes("rng_bit_generator", (shape,) if isinstance(shape, int) else shape)
    new_key, bits = rng_bit_generator_p.bind(
        as_array(key, "rng_bit_generator"),
        shape=sizes,
        dtype=wanted,
        algorithm=RandomAlgorithm(algorithm),
    )
    return new_key, bits


@rules.define(abstract_eval, rng_bit_generator_p)
def _bit_generator_avals(
    key: ShapedArray, *, shape: tuple[int, ...], dtype: DType, algorithm: RandomAlgorithm
) -> list[ShapedArray]:
    if (key.shape, key.dtype) not in (((4,), _UINT32), ((2,), _UINT64)):
        raise DtypeError(
            f"rng_bit_generator: the key must be uint32[4] or uint64[2], got {key.str_short()}."
        )
    return [key.strip_weak_type(), ShapedArray(shape, dtype)]


def _bit_generator(
    key: Any, *, shape: tuple[int, ...], dtype: DType, algorithm: RandomAlgorithm
) -> list[Any]:
    state = _words(key)
    generate = _threefry if algorithm is RandomAlgorithm.RNG_THREE_FRY else _philox
    blocks, bits = generate(state, shape, dtype.itemsize == 8)
    counter = _advanced(state[2:], np.uint32(blocks & _MASK), np.uint32(blocks >> 32))
    new_key = stack([*state[:2], *counter])
    if aval_of(key).dtype == _UINT64:
        pairs = reshape(new_key, (2, 2))
        new_key = _joined(_column(pairs, 0, 1), _column(pairs, 1, 1))
    return [new_key, convert_element_type(bits, dtype)]


def _column(x: Any, index: int, axis: int) -> Any:
    return squeeze(slice_in_dim(x, index, index + 1, axis=axis), (axis,))


def _words(key: Any) -> list[Any]:
    """The state as four words."""
    if aval_of(key).dtype == _UINT64:
        upper = convert_element_type(shift_right_logical(key, np.uint64(32)), _UINT32)
        lower = convert_element_type(key, _UINT32)
        return [_column(v, i, 0) for i in range(2) for v in (lower, upper)]
    return [_column(key, i, 0) for i in range(4)]


def _advanced(words: Sequence[Any], low: Any, high: Any) -> list[Any]:
    """The number in ``words`` plus a number of two words; further words take the carry only."""
    found: list[Any] = []
    carry: Any = None
    for word, part in zip(words, (low, high, *(None for _ in words[2:])), strict=True):
        total = word if part is None else add(word, part)
        over: Any = None if part is None else lt(total, part)
        if carry is not None:
            total = add(total, carry)
            wrapped = lt(total, carry)
            over = wrapped if over is None else bitwise_or(over, wrapped)
        found.append(total)
        carry = convert_element_type(over, _UINT32)
    return found


def _joined(low: Any, high: Any) -> Any:
    wide = [convert_element_type(v, _UINT64) for v in (low, high)]
    return bitwise_or(wide[0], shift_left(wide[1], np.uint64(32)))


def _counts(blocks: int) -> Any:
    if blocks >= 1 << 32:
        raise NotImplementedError(f"rng_bit_generator: {blocks} blocks of bits at once.")
    return iota(_UINT32, blocks)


# Threefry -----------------------------------------------------------------------------------------


def _threefry(state: Sequence[Any], shape: tuple[int, ...], wide: bool) -> tuple[int, Any]:
    """The number of blocks, and bits; a block is one 64-bit number, or two neighbours along an axis."""
    sizes = shape or (1,)
    axis = _halved_axis(sizes)
    half = sizes if wide else (*sizes[:axis], -(-sizes[axis] // 2), *sizes[axis + 1 :])
    blocks = math.prod(half)
    low, high = _advanced(state[2:], _counts(blocks), np.uint32(0))
    first, second = (reshape(v, half) for v in threefry2x32(state[0], state[1], low, high))
    if wide:
        return blocks, reshape(_joined(first, second), shape)
    both = reshape(
        stack([first, second], axis + 1), (*half[:axis], 2 * half[axis], *half[axis + 1 :])
    )
    return blocks, reshape(slice_in_dim(both, 0, sizes[axis], axis=axis), shape)


def _halved_axis(sizes: tuple[int, ...]) -> int:
    """The first axis of even size, or the first of the longest."""
    even = [d for d, n in enumerate(sizes) if n % 2 == 0]
    return even[0] if even else sizes.index(max(sizes))


# Philox -------------------------------------------------------------------------------------------


def _philox(state: Sequence[Any], shape: tuple[int, ...], wide: bool) -> tuple[int, Any]:
    """The number of blocks, and bits; a block is four consecutive words."""
    count = math.prod(shape) * (2 if wide else 1)
    blocks = -(-count // 4)
    # The upper half of the counter is also the key.
    counter = _advanced([*state[2:], *state[:2]], _counts(blocks), np.uint32(0))
    words = reshape(stack(philox4x32(state[:2], counter), 1), (4 * blocks,))
    if wide:
        pairs = reshape(words, (2 * blocks, 2))
        words = _joined(_column(pairs, 0, 1), _column(pairs, 1, 1))
    return blocks, reshape(slice_in_dim(words, 0, math.prod(shape)), shape)


compound(rules, rng_bit_generator_p, _bit_generator, batching=False)


@rules.define(batching_rule, rng_bit_generator_p)
def _bit_generator_batching(
    axis: Axis, args: Sequence[Any], dims: Sequence[int], *, shape: tuple[int, ...], **params: Any
) -> tuple[list[Any], list[int]]:
    keys = moveaxis(args[0], dims[0], 0)
    new_key, bits = rng_bit_generator_p.bind(
        _column(keys, 0, 0), shape=(axis.size, *shape), **params
    )
    return [dynamic_update_index_in_dim(keys, new_key, 0, 0), bits], [0, 0]


# Numbers from a hidden state ----------------------------------------------------------------------


class HiddenStateEffect(Effect):
    """Reads and advances a hidden state: two equal equations give different results."""

    def __repr__(self) -> str:
        return "HiddenState"


def rng_uniform(a: ArrayLike, b: ArrayLike, shape: Sequence[int]) -> Array:
    """Random numbers in [a, b), other ones at every call; those of ``plugjax.random`` are reproducible.

    Args:
        a: scalar.
        b: scalar of the same dtype, real.
        shape: shape of the result.

    Raises:
        ValueError: dtypes differ, or ``a`` or ``b`` is not a scalar.

    Differs from JAX:
        It has a batching rule.

    Example:
        >>> from plugjax import lax
        >>> x = lax.rng_uniform(2.0, 3.0, (4,))
        >>> bool((x >= 2).all() and (x < 3).all())
        True
    """
    return rng_uniform_p.bind(a, b, shape=static_sizes("rng_uniform", shape))


@rules.define(abstract_eval, rng_uniform_p)
def _uniform_aval(a: ShapedArray, b: ShapedArray, *, shape: tuple[int, ...]) -> ShapedArray:
    if a.dtype != b.dtype:
        raise ValueError(
            f"rng_uniform needs bounds of one dtype, got {a.dtype.name} and {b.dtype.name}."
        )
    if a.shape or b.shape:
        raise ValueError(
            f"rng_uniform needs scalars as bounds, got shapes {a.shape} and {b.shape}."
        )
    small = a.dtype in (*dtypes.FLOAT8, *dtypes.FLOAT4)
    if small or (a.dtype not in FLOAT and a.dtype not in INTEGER):
        raise DtypeError(f"rng_uniform does not accept dtype {a.dtype.name}.")
    return ShapedArray(shape, a.dtype, a.weak_type and b.weak_type)


@rules.define(effects_rule, rng_uniform_p)
def _uniform_effects(**_: Any) -> Effects:
    return frozenset({HiddenStateEffect()})


rules.define(batching_rule, rng_uniform_p)(batching_by_loop(rng_uniform_p))
rules.absent(
    jvp_rule, rng_uniform_p, because="it draws from a hidden state; plugjax.random.uniform has one"
)
