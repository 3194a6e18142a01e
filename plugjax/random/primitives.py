"""The primitives of random keys, and the default generator.

Keys are values of an extended dtype; ``physical`` rules ask the generator for the operations on stored words. Threefry
hashes positions: the counter is the 64-bit position of a number in its array, so part of an array has the same numbers.
With ``jax_threefry_partitionable`` off it makes one stream of 32-bit words: a hash gives a word of the first half and
the word at the same position of the second half.
"""

from __future__ import annotations

import inspect
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from plugjax import lax
from plugjax.extend.core import (
    Array,
    ArrayLike,
    Primitive,
    Shape,
    ShapedArray,
    as_array,
    aval_of,
    broadcast_in_dim_p,
    config,
    moveaxis,
)
from plugjax.extend.dtypes import ExtendedDType, is_extended
from plugjax.extend.errors import KeyDtypeError
from plugjax.extend.rules import RuleSet, abstract_eval, batching_rule, physical_rule
from plugjax.extend.transforms import Axis
from plugjax.lax.axes import is_symbolic
from plugjax.lax.families import broadcast_shapes_strict, elementwise_batching, zero_derivative
from plugjax.lax.random_bits import threefry2x32
from plugjax.lax.shape import full

rules = RuleSet(__name__)

random_seed_p = Primitive("random_seed")
random_wrap_p = Primitive("random_wrap")
random_unwrap_p = Primitive("random_unwrap")
random_bits_p = Primitive("random_bits")
random_split_p = Primitive("random_split")
random_fold_in_p = Primitive("random_fold_in")
random_clone_p = Primitive("random_clone")

for _p in (
    random_seed_p,
    random_wrap_p,
    random_unwrap_p,
    random_bits_p,
    random_split_p,
    random_fold_in_p,
    random_clone_p,
):
    zero_derivative(rules, _p)


class KeyFunctions(NamedTuple):
    """The functions of a generator on stored keys ``[..., *key_shape]``; the aval of the keys is ``[...]``.

    Attributes:
        seed: ``(seeds, aval) -> stored keys``.
        split: ``(keys, aval, shape) -> stored keys [..., *shape, *key_shape]``.
        random_bits: ``(keys, aval, bit_width, shape) -> unsigned integers [..., *shape]``.
        fold_in: ``(keys, aval, data, data_aval) -> stored keys``, with one ``uint32`` for each key.
    """

    seed: Callable[..., Array]
    split: Callable[..., Array]
    random_bits: Callable[..., Array]
    fold_in: Callable[..., Array]


class PRNGImpl:
    """A generator; its methods are functions of one stored key.

    Attributes:
        name: as in ``key(0, impl=name)``.
        tag: short name, in the dtype ``key<tag>`` and in jaxprs.
        key_shape: shape of a stored key, in words of 32 bits.
        of_arrays: its functions on arrays of stored keys.
        dtype: dtype of its keys.
    """

    __slots__ = ("__weakref__", "dtype", "key_shape", "name", "of_arrays", "tag")

    def __init__(self, name: str, tag: str, key_shape: Shape, of_arrays: KeyFunctions) -> None:
        self.name = name
        self.tag = tag
        self.key_shape = key_shape
        self.of_arrays = of_arrays
        self.dtype = KeyDType(self)

    def seed(self, seed: ArrayLike) -> Array:
        """The stored key of an integer."""
        number = as_array(seed, self.name)
        return self.of_arrays.seed(number, aval_of(number))

    def split(self, key: ArrayLike, shape: Shape) -> Array:
        """An array of new stored keys."""
        return self.of_arrays.split(as_array(key, self.name), self._one_key, shape)

    def random_bits(self, key: ArrayLike, bit_width: int, shape: Shape) -> Array:
        """An array of unsigned integers."""
        return self.of_arrays.random_bits(as_array(key, self.name), self._one_key, bit_width, shape)

    def fold_in(self, key: ArrayLike, data: ArrayLike) -> Array:
        """The stored key for a key and a number."""
        number = lax.convert_element_type(as_array(data, self.name), np.uint32)
        return self.of_arrays.fold_in(
            as_array(key, self.name), self._one_key, number, aval_of(number)
        )

    @property
    def _one_key(self) -> ShapedArray:
        return ShapedArray((), self.dtype)

    def __repr__(self) -> str:
        return self.tag

    def __reduce__(self) -> tuple[Any, ...]:
        return resolve_impl, (self.name,)


class _ExtendedKind(type):
    """The class of the kinds: they have no instances, since no dtype in them makes scalars of numbers."""

    __signature__ = inspect.Signature()

    def __call__(cls, *values: Any) -> Any:
        raise KeyDtypeError(f"no {cls.__name__} can be made of {values}.")

    def contains_dtype(cls, dtype: Any) -> bool:
        """Whether a dtype is not one of NumPy's."""
        return is_extended(dtype)


class extended(metaclass=_ExtendedKind):
    """The kind of all dtypes that are not NumPy's: ``jnp.issubdtype(x.dtype, extended)``."""


class _KeyKind(_ExtendedKind):
    def contains_dtype(cls, dtype: Any) -> bool:
        """Whether a dtype is a key dtype."""
        return isinstance(dtype, KeyDType)


class prng_key(extended, metaclass=_KeyKind):
    """The kind of all key dtypes: ``jnp.issubdtype(k.dtype, prng_key)``."""


class KeyDType(ExtendedDType):
    """The dtype of keys of one generator."""

    type: Any = prng_key

    def __init__(self, impl: PRNGImpl) -> None:
        self.impl = impl
        self.name = f"key<{impl.tag}>"
        self.storage_dtype = np.dtype(np.uint32)
        self.storage_shape = impl.key_shape
        self.itemsize = 4 * math.prod(impl.key_shape)

    def filled(self, value: Any) -> Any:
        """A key whose words are all ``value``."""
        words = full(self.storage_shape, value, self.storage_dtype)
        return random_wrap_p.bind(words, impl=self.impl)

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[Any, ...]:
        return operator.attrgetter("dtype"), (self.impl,)


_IMPLS: dict[str, PRNGImpl] = {}


def register(impl: PRNGImpl) -> PRNGImpl:
    """Register a generator under its name and its tag."""
    _IMPLS[impl.name] = _IMPLS[impl.tag] = impl
    return impl


def is_registered(impl: PRNGImpl) -> bool:
    """Whether the name of a generator stands for it."""
    return _IMPLS.get(impl.name) is impl


def resolve_impl(impl: Any) -> PRNGImpl:
    """The generator that an ``impl=`` argument names.

    Raises:
        ValueError: no generator has that name.
        TypeError: it is not a name.
    """
    if isinstance(impl, PRNGImpl):
        return impl
    if isinstance(impl, KeyDType):
        return impl.impl
    if not isinstance(impl, str):
        raise TypeError(f"a generator of random numbers is named by a string, got {impl!r}.")
    found = _IMPLS.get(impl)
    if found is None:
        raise ValueError(
            f"unrecognized PRNG implementation: no generator of random numbers {impl!r}. There are: "
            f"{sorted({i.name for i in _IMPLS.values()})}."
        )
    return found


def _impl_of(keys: ShapedArray) -> PRNGImpl:
    dtype: Any = keys.dtype
    if not isinstance(dtype, KeyDType):
        raise TypeError(
            f"expected an array of keys, got {keys.str_short()}; wrap raw keys with random.wrap_key_data."
        )
    return dtype.impl


@rules.define(abstract_eval, random_seed_p)
def _seed_aval(seeds: ShapedArray, *, impl: PRNGImpl) -> ShapedArray:
    return ShapedArray(seeds.shape, impl.dtype)


@rules.define(abstract_eval, random_wrap_p)
def _wrap_aval(words: ShapedArray, *, impl: PRNGImpl) -> ShapedArray:
    rank = len(impl.key_shape)
    if words.dtype != np.uint32 or words.shape[words.ndim - rank :] != impl.key_shape:
        raise TypeError(
            f"key data of {impl.name} must be uint32 with trailing shape {impl.key_shape}, got {words.str_short()}."
        )
    return ShapedArray(words.shape[: words.ndim - rank], impl.dtype)


@rules.define(abstract_eval, random_unwrap_p)
def _unwrap_aval(keys: ShapedArray) -> ShapedArray:
    return ShapedArray((*keys.shape, *_impl_of(keys).key_shape), np.uint32)


@rules.define(abstract_eval, random_bits_p)
def _bits_aval(keys: ShapedArray, *, bit_width: int, shape: Shape) -> ShapedArray:
    _impl_of(keys)
    return ShapedArray((*keys.shape, *shape), np.dtype(f"uint{bit_width}"))


@rules.define(abstract_eval, random_split_p)
def _split_aval(keys: ShapedArray, *, shape: Shape) -> ShapedArray:
    return ShapedArray((*keys.shape, *shape), _impl_of(keys).dtype)


@rules.define(abstract_eval, random_fold_in_p)
def _fold_in_aval(keys: ShapedArray, data: ShapedArray) -> ShapedArray:
    shape = broadcast_shapes_strict("random_fold_in", (keys, data))
    return ShapedArray(shape, _impl_of(keys).dtype)


@rules.define(batching_rule, random_seed_p)
def _seed_batching(
    axis: Axis, args: Sequence[Any], dims: Sequence[Any], *, impl: PRNGImpl
) -> tuple[Any, int]:
    return random_seed_p.bind(*args, impl=impl), dims[0]


@rules.define(batching_rule, random_wrap_p)
def _wrap_batching(
    axis: Axis, args: Sequence[Any], dims: Sequence[Any], *, impl: PRNGImpl
) -> tuple[Any, int]:
    return random_wrap_p.bind(moveaxis(args[0], dims[0], 0), impl=impl), 0


@rules.define(batching_rule, random_unwrap_p)
def _unwrap_batching(axis: Axis, args: Sequence[Any], dims: Sequence[Any]) -> tuple[Any, int]:
    return random_unwrap_p.bind(moveaxis(args[0], dims[0], 0)), 0


@rules.define(batching_rule, random_bits_p)
def _bits_batching(
    axis: Axis, args: Sequence[Any], dims: Sequence[Any], **params: Any
) -> tuple[Any, int]:
    return random_bits_p.bind(moveaxis(args[0], dims[0], 0), **params), 0


@rules.define(batching_rule, random_split_p)
def _split_batching(
    axis: Axis, args: Sequence[Any], dims: Sequence[Any], **params: Any
) -> tuple[Any, int]:
    return random_split_p.bind(moveaxis(args[0], dims[0], 0), **params), 0


rules.define(batching_rule, random_fold_in_p)(elementwise_batching(random_fold_in_p))


@rules.define(physical_rule, random_seed_p)
def _seed_physical(in_avals: Any, out_avals: Any, seeds: Any, *, impl: PRNGImpl) -> Any:
    return impl.of_arrays.seed(seeds, in_avals[0])


@rules.define(abstract_eval, random_clone_p)
def _clone_aval(keys: ShapedArray) -> ShapedArray:
    _impl_of(keys)
    return keys


rules.define(batching_rule, random_clone_p)(elementwise_batching(random_clone_p))


@rules.define(physical_rule, random_wrap_p, random_unwrap_p, random_clone_p)
def _same_words(in_avals: Any, out_avals: Any, words: Any, **params: Any) -> Any:
    return words


@rules.define(physical_rule, random_bits_p)
def _bits_physical(
    in_avals: Sequence[ShapedArray], out_avals: Any, keys: Any, *, bit_width: int, shape: Shape
) -> Any:
    return _impl_of(in_avals[0]).of_arrays.random_bits(keys, in_avals[0], bit_width, shape)


@rules.define(physical_rule, random_split_p)
def _split_physical(
    in_avals: Sequence[ShapedArray], out_avals: Any, keys: Any, *, shape: Shape
) -> Any:
    return _impl_of(in_avals[0]).of_arrays.split(keys, in_avals[0], shape)


@rules.define(physical_rule, random_fold_in_p)
def _fold_in_physical(in_avals: Sequence[ShapedArray], out_avals: Any, keys: Any, data: Any) -> Any:
    key_aval, data_aval = in_avals
    return _impl_of(key_aval).of_arrays.fold_in(keys, key_aval, data, data_aval)


# Threefry ------------------------------------------------------------------------------------------


def threefry_seed(seeds: Any, aval: ShapedArray) -> Any:
    """A number as a key: its upper and lower 32 bits."""
    if aval.dtype.itemsize == 8:
        shift = aval.dtype.type(32)
        high = lax.convert_element_type(lax.shift_right_logical(seeds, shift), np.uint32)
        low = lax.convert_element_type(
            lax.bitwise_and(seeds, aval.dtype.type(0xFFFFFFFF)), np.uint32
        )
    else:
        low = lax.convert_element_type(seeds, np.uint32)
        high = lax.full(aval.shape, np.uint32(0))
    return _side_by_side(high, low, aval.ndim)


def _side_by_side(first: Any, second: Any, rank: int) -> Any:
    return lax.concatenate([lax.expand_dims(v, (rank,)) for v in (first, second)], rank)


def _words(keys: Any, aval: ShapedArray, extra: int) -> list[Any]:
    """The two words of stored keys; keys with axes get ``extra`` trailing axes of size 1."""
    rank = aval.ndim
    found = []
    for i in range(2):
        word = lax.squeeze(lax.slice_in_dim(keys, i, i + 1, axis=rank), (rank,))
        if rank and extra:
            word = broadcast_in_dim_p.bind(
                word, shape=(*aval.shape, *(1,) * extra), broadcast_dimensions=tuple(range(rank))
            )
        found.append(word)
    return found


def _hashed_positions(keys: Any, aval: ShapedArray, shape: Shape) -> list[Any]:
    """Two words for each position in an array of ``shape``."""
    size = math.prod(shape)
    check_count(size, shape)
    counts = lax.reshape(lax.iota(np.uint32, size), shape)
    high = lax.full(shape, np.uint32(0))
    if aval.ndim:
        counts, high = (lax.expand_dims(v, tuple(range(aval.ndim))) for v in (counts, high))
    key0, key1 = _words(keys, aval, len(shape))
    return threefry2x32(key0, key1, high, counts)


def check_count(count: int, shape: Shape) -> None:
    """Refuse more positions than a counter of 32 bits has.

    Raises:
        NotImplementedError: there are more.
    """
    if not is_symbolic(count) and count >= 1 << 32:
        raise NotImplementedError(
            f"random numbers for 2**32 positions or more: got shape {shape}. Split the key."
        )


def _stream(keys: Any, aval: ShapedArray, count: int, shape: Shape) -> Any:
    """The first words of a key's stream, ``[..., count]``."""
    check_count(count, shape)
    half = (count + 1) // 2
    first = lax.iota(np.uint32, half)
    second = lax.add(first, np.uint32(half))
    if count % 2:
        # An odd count: hash one more word, with counter 0.
        second = lax.select(
            lax.lt(second, np.uint32(count)), second, lax.full((half,), np.uint32(0))
        )
    if aval.ndim:
        first, second = (lax.expand_dims(v, tuple(range(aval.ndim))) for v in (first, second))
    key0, key1 = _words(keys, aval, 1)
    words = lax.concatenate(threefry2x32(key0, key1, first, second), aval.ndim)
    return lax.slice_in_dim(words, 0, count, axis=aval.ndim)


def _bits_of_stream(keys: Any, aval: ShapedArray, bit_width: int, shape: Shape) -> Any:
    size, rank = math.prod(shape), aval.ndim
    dtype = np.dtype(f"uint{bit_width}")
    if bit_width == 64:
        words = lax.convert_element_type(_stream(keys, aval, 2 * size, shape), dtype)
        upper = lax.shift_left(lax.slice_in_dim(words, 0, size, axis=rank), dtype.type(32))
        found = lax.bitwise_or(upper, lax.slice_in_dim(words, size, 2 * size, axis=rank))
    elif bit_width == 32:
        found = _stream(keys, aval, size, shape)
    else:
        # Several numbers from one word, the lowest bits first.
        per_word = 32 // bit_width
        count = -(-size // per_word)
        words = _stream(keys, aval, count, shape)
        parts = [lax.shift_right_logical(words, np.uint32(bit_width * i)) for i in range(per_word)]
        found = lax.concatenate([lax.expand_dims(p, (rank + 1,)) for p in parts], rank + 1)
        found = lax.reshape(found, (*aval.shape, count * per_word))
        found = lax.convert_element_type(lax.slice_in_dim(found, 0, size, axis=rank), dtype)
    return lax.reshape(found, (*aval.shape, *shape))


def _threefry_bits(keys: Any, aval: ShapedArray, bit_width: int, shape: Shape) -> Any:
    if not config.read("threefry_partitionable"):
        return _bits_of_stream(keys, aval, bit_width, shape)
    high, low = _hashed_positions(keys, aval, shape)
    if bit_width == 64:
        wide = np.dtype(np.uint64)
        upper = lax.shift_left(lax.convert_element_type(high, wide), wide.type(32))
        return lax.bitwise_or(upper, lax.convert_element_type(low, wide))
    mixed = lax.bitwise_xor(high, low)
    return (
        mixed if bit_width == 32 else lax.convert_element_type(mixed, np.dtype(f"uint{bit_width}"))
    )


def threefry_split(keys: Any, aval: ShapedArray, shape: Shape) -> Any:
    """New keys: hashes of positions, or pairs of words of the stream."""
    if not config.read("threefry_partitionable"):
        words = _stream(keys, aval, 2 * math.prod(shape), shape)
        return lax.reshape(words, (*aval.shape, *shape, 2))
    high, low = _hashed_positions(keys, aval, shape)
    return _side_by_side(high, low, aval.ndim + len(shape))


def threefry_fold_in(keys: Any, aval: ShapedArray, data: Any, data_aval: ShapedArray) -> Any:
    """New keys: hashes of the data."""
    key0, key1 = _words(keys, aval, 0)
    counts = lax.convert_element_type(data, np.uint32)
    high = lax.full(data_aval.shape, np.uint32(0))
    first, second = threefry2x32(key0, key1, high, counts)
    return _side_by_side(first, second, max(aval.ndim, data_aval.ndim))


threefry = register(
    PRNGImpl(
        "threefry2x32",
        "fry",
        (2,),
        KeyFunctions(threefry_seed, threefry_split, _threefry_bits, threefry_fold_in),
    )
)
