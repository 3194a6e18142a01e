"""Random keys.

A key is used once. ``split`` makes new keys from it, ``fold_in`` makes one for a number. Typed keys have the extended
dtype ``key<fry>``; raw keys are their storage, ``uint32[..., 2]``.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from plugjax import lax
from plugjax.extend.core import Array, ArrayLike, Tracer, as_array, aval_of, config
from plugjax.lax import axes
from plugjax.random.primitives import (
    KeyDType,
    PRNGImpl,
    extended as extended,
    is_registered,
    prng_key as prng_key,
    random_clone_p,
    random_fold_in_p,
    random_seed_p,
    random_split_p,
    random_unwrap_p,
    random_wrap_p,
    resolve_impl,
)

__all__ = [
    "PRNGKey", "clone", "fold_in", "key", "key_data", "key_dtype", "key_impl", "prng_key", "split", "wrap_key_data",
]  # fmt: skip


def as_seeds(seed: ArrayLike, who: str) -> Any:
    """Seeds as an array of integers.

    Raises:
        ValueError: ``None``.
        TypeError: not integers.
    """
    if seed is None:
        raise ValueError(f"{who}: a seed is an integer, got None.")
    if isinstance(seed, (float, complex)):
        raise TypeError(f"{who}: PRNG key seed must be an integer, got {seed!r}.")
    offset = config.read("random_seed_offset")
    if isinstance(seed, int):
        # 64 bits, of which 32 remain without x64, as a hash given as a seed needs.
        return as_array(np.int64(seed + offset), who)
    found = as_array(seed, who)
    if found.dtype.kind not in "iu":
        raise TypeError(f"{who}: PRNG key seed must be an integer, got {found.aval.str_short()}.")
    return lax.add(found, found.dtype.type(offset)) if offset else found


def _one_seed(seed: ArrayLike, who: str) -> Any:
    found = as_seeds(seed, who)
    if found.ndim:
        raise TypeError(
            f"{who} takes one seed, got an array of shape {found.shape}. Use vmap for several."
        )
    return found


def key(
    seed: ArrayLike,
    *,
    impl: str | PRNGImpl | KeyDType | None = None,
    dtype: str | KeyDType | None = None,
) -> Array:
    """A typed key made from an integer.

    Args:
        seed: integer, or array without axes.
        impl: the generator: ``"threefry2x32"``, the default, ``"threefry4x32"``, ``"philox2x32"``, ``"philox4x32"``,
            ``"rbg"``, ``"unsafe_rbg"``, or one of ``plugjax.extend.random.define_prng_impl``.
        dtype: the dtype of the key, or the name of its generator, instead of ``impl``.

    Raises:
        ValueError: both ``impl`` and ``dtype``, or an unknown generator.

    Example:
        >>> from plugjax import random
        >>> random.key(3)
        Array((), dtype=key<fry>) overlaying:
        [0 3]
    """
    generator = resolve_impl(_one_name("key", impl, dtype))
    return random_seed_p.bind(_one_seed(seed, "key"), impl=generator)


def _one_name(who: str, impl: Any, dtype: Any) -> Any:
    if impl is not None and dtype is not None:
        raise ValueError(f"{who}: impl and dtype both name the generator; give one of them.")
    named = dtype if impl is None else impl
    return config.read("default_prng_impl") if named is None else named


def key_dtype(impl_spec: str | PRNGImpl | KeyDType | None = None) -> KeyDType:
    """The key dtype of a generator, by default of the default generator.

    Example:
        >>> from plugjax import random
        >>> random.key_dtype("threefry2x32")
        key<fry>
    """
    name = impl_spec if impl_spec is not None else config.read("default_prng_impl")
    return resolve_impl(name).dtype


def PRNGKey(seed: ArrayLike, *, impl: str | PRNGImpl | KeyDType | None = None) -> Array:
    """A raw key made from an integer: ``uint32[2]``; a typed one while ``jax_enable_custom_prng`` is set.

    Example:
        >>> from plugjax import random
        >>> random.PRNGKey(42)
        Array([ 0, 42], dtype=uint32)
    """
    return _as_given(key(seed, impl=impl), False)


def is_key_array(x: Any) -> bool:
    """Whether ``x`` is an array of typed keys."""
    return isinstance(getattr(x, "dtype", None), KeyDType)


def typed(who: str, keys: Any) -> tuple[Array, bool]:
    """Keys as typed keys, and whether they were typed.

    Raises:
        TypeError: neither typed keys nor ``uint32[..., 2]``.
    """
    if is_key_array(keys):
        return keys, True
    if isinstance(keys, (Array, Tracer, np.ndarray)):
        if keys.dtype != np.uint32 or not keys.ndim:
            raise TypeError(
                f"{who}: invalid PRNG key data: a key has dtype key<fry>, or is raw uint32[..., 2]; got "
                f"{keys.dtype}{list(keys.shape)}. Make one with random.key(seed)."
            )
        _judge_raw_key(who)
        return random_wrap_p.bind(keys, impl=resolve_impl(config.read("default_prng_impl"))), False
    raise TypeError(
        f"{who}: invalid PRNG key data: got {type(keys)}. Make a key with random.key(seed)."
    )


def _judge_raw_key(who: str) -> None:
    """What the configuration says of keys without a generator.

    Raises:
        ValueError: ``jax_legacy_prng_key`` is ``"error"``.
    """
    legacy = config.read("legacy_prng_key")
    if legacy != "allow":
        message = (
            f"{who}: Legacy uint32 key array passed as key. Make it with random.key(seed), or set "
            'jax_legacy_prng_key="allow".'
        )
        if legacy == "error":
            raise ValueError(message)
        warnings.warn(message, stacklevel=4)
    elif config.read("enable_custom_prng"):
        warnings.warn(
            f"{who}: Raw arrays as random keys are deprecated while jax_enable_custom_prng is set. Make typed ones with "
            "random.key(seed).",
            FutureWarning,
            stacklevel=4,
        )


def single_key(who: str, k: Any) -> Array:
    """One typed key.

    Raises:
        ValueError: an array of keys.
    """
    found, _ = typed(who, k)
    if found.ndim:
        raise ValueError(
            f"{who} accepts a single key, got keys of shape {k.shape}. Use plugjax.vmap for several."
        )
    return found


def _as_given(keys: Array, was_typed: bool) -> Array:
    if was_typed or config.read("enable_custom_prng"):
        return keys
    return random_unwrap_p.bind(keys)


def split(key: ArrayLike, num: int | Sequence[int] = 2) -> Array:
    """New keys, independent of each other; ``key`` must not be used any more.

    Shapes:
        key: ``[]`` -> ``[num]``, or ``num`` itself if it is a shape.

    Example:
        >>> from plugjax import random
        >>> k1, k2 = random.split(random.key(0))
        >>> k1
        Array((), dtype=key<fry>) overlaying:
        [1797259609 2579123966]
    """
    found, was_typed = typed("split", key)
    if found.ndim:
        raise ValueError(
            f"split accepts a single key, got keys of shape {aval_of(key).shape}. Use plugjax.vmap for several."
        )
    sizes: Any = num if isinstance(num, (tuple, list)) else (num,)
    shape = tuple(axes.index(n) for n in sizes)
    return _as_given(random_split_p.bind(found, shape=shape), was_typed)


def fold_in(key: ArrayLike, data: ArrayLike) -> Array:
    """A new key from a key and a number, such as the index of a step or a layer.

    Args:
        key: a key; it may be used with other numbers.
        data: integer; an array of another dtype is wrapped to 32 bits.

    Example:
        >>> from plugjax import random
        >>> import plugjax.numpy as jnp
        >>> random.key_data(random.fold_in(random.key(0), 7))
        Array([2716826189,  292468403], dtype=uint32)
    """
    found, was_typed = typed("fold_in", key)
    if found.ndim:
        raise ValueError(
            f"fold_in accepts a single key, got keys of shape {aval_of(key).shape}. Use plugjax.vmap for several."
        )
    if type(data) is int:
        if not 0 <= data < 1 << 32:
            raise OverflowError(f"fold_in takes a number of 32 bits, got {data}.")
        number: Any = np.uint32(data)
    else:
        number = as_array(data, "fold_in")
        if number.ndim:
            raise TypeError(
                f"fold_in takes one number, got an array of shape {number.shape}. Use vmap for several."
            )
        number = lax.convert_element_type(number, np.uint32)
    return _as_given(random_fold_in_p.bind(found, number), was_typed)


def key_data(keys: ArrayLike) -> Array:
    """The words of keys: ``[...]`` -> ``uint32[..., 2]``.

    Example:
        >>> from plugjax import random
        >>> import plugjax.numpy as jnp
        >>> random.key_data(random.key(3))
        Array([0, 3], dtype=uint32)
    """
    if is_key_array(keys):
        return random_unwrap_p.bind(keys)
    typed("key_data", keys)
    return as_array(keys, "key_data")


def wrap_key_data(
    key_bits_array: ArrayLike,
    *,
    impl: str | PRNGImpl | KeyDType | None = None,
    dtype: str | KeyDType | None = None,
) -> Array:
    """Words as typed keys: ``uint32[..., 2]`` -> ``[...]``.

    ``impl`` and ``dtype`` name the generator, as in :func:`key`.

    Example:
        >>> from plugjax import random
        >>> import plugjax.numpy as jnp
        >>> random.wrap_key_data(jnp.array([0, 3], jnp.uint32)) == random.key(3)
        Array(True, dtype=bool)
    """
    generator = resolve_impl(_one_name("wrap_key_data", impl, dtype))
    if not hasattr(key_bits_array, "dtype"):
        raise TypeError(f"wrap_key_data takes an array of words, got {key_bits_array!r}.")
    return random_wrap_p.bind(as_array(key_bits_array, "wrap_key_data"), impl=generator)


def key_impl(keys: ArrayLike) -> str | PRNGImpl:
    """Name of the generator that keys are for; the generator itself if it has no name.

    Example:
        >>> from plugjax import random
        >>> import plugjax.numpy as jnp
        >>> str(random.key_impl(random.key(0)))
        'threefry2x32'
    """
    found, _ = typed("key_impl", keys)
    dtype: Any = found.dtype
    impl: PRNGImpl = dtype.impl
    return impl.name if is_registered(impl) else impl


def clone(key: ArrayLike) -> Array:
    """The same key, as one that may be used once more.

    Example:
        >>> from plugjax import random
        >>> import plugjax.numpy as jnp
        >>> random.clone(random.key(0)) == random.key(0)
        Array(True, dtype=bool)
    """
    if not is_key_array(key) and getattr(key, "dtype", None) != np.uint32:
        # Numbers are copied as they are.
        return as_array(key, "clone")
    found, was_typed = typed("clone", key)
    return _as_given(random_clone_p.bind(found), was_typed)
