"""Generators that are given by functions of one key: arrays of keys are mapped."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from plugjax import lax
from plugjax.extend.core import Shape, ShapedArray, as_array
from plugjax.extend.transforms import vmap
from plugjax.random.primitives import KeyFunctions


def _for_each(function: Callable[..., Any], rank: int) -> Callable[..., Any]:
    """A function of one key, for keys with ``rank`` axes."""
    for _ in range(rank):
        function = vmap(function)
    return function


def of_one_key(
    key_shape: Shape,
    seed: Callable[..., Any],
    split: Callable[..., Any],
    random_bits: Callable[..., Any],
    fold_in: Callable[..., Any],
) -> KeyFunctions:
    """Functions of arrays of keys.

    Args:
        key_shape: shape of a stored key.
        seed: ``(integer) -> key``.
        split: ``(key, shape) -> keys [*shape, *key_shape]``.
        random_bits: ``(key, bit_width, shape) -> unsigned integers [*shape]``.
        fold_in: ``(key, uint32) -> key``.
    """

    def seed_each(seeds: Any, aval: ShapedArray) -> Any:
        return _for_each(seed, aval.ndim)(as_array(seeds, "random_seed"))

    def split_each(keys: Any, aval: ShapedArray, shape: Shape) -> Any:
        return _for_each(lambda key: split(key, shape), aval.ndim)(as_array(keys, "random_split"))

    def bits_of_each(keys: Any, aval: ShapedArray, bit_width: int, shape: Shape) -> Any:
        function = _for_each(lambda key: random_bits(key, bit_width, shape), aval.ndim)
        return function(as_array(keys, "random_bits"))

    def fold_in_each(keys: Any, aval: ShapedArray, data: Any, data_aval: ShapedArray) -> Any:
        shape = np.broadcast_shapes(aval.shape, data_aval.shape)
        own = tuple(range(aval.ndim))
        paired = lax.broadcast_in_dim(
            as_array(keys, "random_fold_in"),
            (*shape, *key_shape),
            (*own, *range(len(shape), len(shape) + len(key_shape))),
        )
        numbers = lax.broadcast_in_dim(
            as_array(data, "random_fold_in"), shape, tuple(range(data_aval.ndim))
        )
        return _for_each(fold_in, len(shape))(paired, numbers)

    return KeyFunctions(seed_each, split_each, bits_of_each, fold_in_each)
