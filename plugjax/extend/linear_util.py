"""Functions composed with transformations that are written as generators.

A transformation gets the arguments, yields what the function is called with, gets its result, and yields what becomes of
it. A :class:`WrappedFun` is a function with a stack of them; two with the same function, transformations and parameters are
equal, so that results of analyses can be cached by them.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Hashable, Mapping
from typing import Any

from plugjax.core.caches import new_cache
from plugjax.core.config import config

_EMPTY = object()


class StoreException(Exception):  # noqa: N818  # JAX's name
    """An auxiliary result is asked for before the function has run, or stored twice."""


class Store:
    """Where a transformation leaves its auxiliary result."""

    __slots__ = ("_value",)

    def __init__(self) -> None:
        self._value: Any = _EMPTY

    def store(self, value: Any) -> None:
        """Leave the result.

        Raises:
            StoreException: there is one.
        """
        if self._value is not _EMPTY:
            raise StoreException("the store is occupied: a function with it ran twice")
        self._value = value

    @property
    def value(self) -> Any:
        """The result.

        Raises:
            StoreException: there is none.
        """
        if self._value is _EMPTY:
            raise StoreException("the store is empty: the function has not run")
        return self._value

    @property
    def occupied(self) -> bool:
        """Whether there is a result."""
        return self._value is not _EMPTY


class WrappedFun:
    """A function within transformations.

    Attributes:
        f: the function.
        transforms: pairs of a transformation and its fixed arguments, outermost first.
        stores: one for each transformation, ``None`` for those without an auxiliary result.
        params: keyword arguments of the function, as sorted pairs.
        debug_info: what the caller knows of the function.
    """

    __slots__ = ("debug_info", "f", "params", "stores", "transforms")

    def __init__(
        self,
        f: Callable[..., Any],
        transforms: tuple[tuple[Callable[..., Any], tuple[Any, ...]], ...],
        stores: tuple[Store | None, ...],
        params: tuple[tuple[str, Any], ...],
        debug_info: Any = None,
    ) -> None:
        self.f = f
        self.transforms = transforms
        self.stores = stores
        self.params = params
        self.debug_info = debug_info

    @property
    def __name__(self) -> str:
        return getattr(self.f, "__name__", "<unnamed wrapped function>")

    def wrap(
        self, transform: Callable[..., Any], fixed: tuple[Any, ...], store: Store | None
    ) -> WrappedFun:
        """The function within one more transformation."""
        transforms = ((transform, fixed), *self.transforms)
        stores = (store, *self.stores)
        return WrappedFun(self.f, transforms, stores, self.params, self.debug_info)

    def call_wrapped(self, *args: Any, **kwargs: Any) -> Any:
        """Call the transformed function."""
        call: Callable[..., Any] = functools.partial(self.f, **dict(self.params))
        for (transform, fixed), store in reversed(
            list(zip(self.transforms, self.stores, strict=True))
        ):
            given = fixed if store is None else (store, *fixed)
            call = functools.partial(transform, call, *given)
        return call(*args, **kwargs)

    def populate_stores(self, stores: tuple[Store | None, ...]) -> None:
        """Take the auxiliary results of an equal function that ran."""
        for own, other in zip(self.stores, stores, strict=True):
            if own is not None and other is not None and other.occupied:
                own.store(other.value)

    @property
    def _key(self) -> tuple[Any, ...]:
        return self.f, self.transforms, self.params

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WrappedFun) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        names = [getattr(transform, "__name__", str(transform)) for transform, _ in self.transforms]
        return f"WrappedFun({' of '.join([*names, self.__name__])})"


def wrap_init(
    f: Callable[..., Any], params: Mapping[str, Any] | None = None, *, debug_info: Any = None
) -> WrappedFun:
    """A function without transformations.

    Args:
        f: the function.
        params: keyword arguments that it is always called with.
        debug_info: kept in the result.

    Example:
        >>> from plugjax.extend import linear_util as lu
        >>> @lu.transformation
        ... def doubled(*args):
        ...     result = yield args, {}
        ...     yield 2 * result
        >>> doubled(lu.wrap_init(max)).call_wrapped(1, 5)
        10
    """
    return WrappedFun(f, (), (), tuple(sorted((params or {}).items())), debug_info)


def transformation2(transform: Callable[..., Any]) -> Callable[..., WrappedFun]:
    """Decorator of ``(f, *fixed, *args, **kwargs) -> result``: a function from ``(WrappedFun, *fixed)`` to one."""
    return lambda fun, *fixed: fun.wrap(transform, fixed, None)


def transformation_with_aux2(
    transform: Callable[..., Any],
) -> Callable[..., tuple[WrappedFun, Callable[[], Any]]]:
    """Decorator of ``(f, store, *fixed, *args, **kwargs) -> result``: gives a WrappedFun, and a function for what is stored."""

    def apply(fun: WrappedFun, *fixed: Any) -> tuple[WrappedFun, Callable[[], Any]]:
        store = Store()
        return fun.wrap(transform, fixed, store), lambda: store.value

    return apply


def transformation(generator: Callable[..., Any]) -> Callable[..., WrappedFun]:
    """Decorator of a generator of ``(*fixed, *args, **kwargs)`` that yields ``(args, kwargs)``, then the result."""
    return transformation2(_Generated(generator))


def transformation_with_aux(
    generator: Callable[..., Any],
) -> Callable[..., tuple[WrappedFun, Callable[[], Any]]]:
    """As :func:`transformation`; what is yielded last is a pair of result and auxiliary result."""
    return transformation_with_aux2(_GeneratedWithAux(generator))


class _Generated:
    """A generator as a function of functions; equal if the generators are the same."""

    __slots__ = ("generator",)

    def __init__(self, generator: Callable[..., Any]) -> None:
        self.generator = generator

    def __call__(self, f: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        running = self.generator(*args, **kwargs)
        inner_args, inner_kwargs = next(running)
        return running.send(f(*inner_args, **inner_kwargs))

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.generator == self.generator

    def __hash__(self) -> int:
        return hash(self.generator)


class _GeneratedWithAux(_Generated):
    """As :class:`_Generated`, of a generator that gives an auxiliary result."""

    __slots__ = ()

    def __call__(self, f: Callable[..., Any], store: Store, *args: Any, **kwargs: Any) -> Any:
        result, aux = super().__call__(f, *args, **kwargs)
        store.store(aux)
        return result


def cache(call: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator of ``(WrappedFun, *args) -> result``: equal calls under one configuration run once.

    ``clear_caches`` drops the results, as do ``cache_clear`` and, for one function, ``evict_function`` of what is returned.
    """
    results = new_cache()
    # Results live as long as the user's function.
    functions: weakref.WeakKeyDictionary[Any, set[Hashable]] = weakref.WeakKeyDictionary()

    def cached(fun: WrappedFun, *args: Any) -> Any:
        key = (id(fun.f), fun.transforms, fun.params, args, config.fingerprint)
        found = results.get(key)
        if found is not None:
            fun.populate_stores(found[1])
            return found[0]
        answer = call(fun, *args)
        if fun.f not in functions:
            functions[fun.f] = set()
            weakref.finalize(fun.f, _drop, results, functions[fun.f])
        functions[fun.f].add(key)
        results[key] = (answer, fun.stores)
        return answer

    def evict_function(f: Callable[..., Any]) -> None:
        _drop(results, functions.get(f, set()))

    cached.evict_function = evict_function  # type: ignore[attr-defined]  # JAX's interface
    cached.cache_clear = results.clear  # type: ignore[attr-defined]
    return functools.wraps(call)(cached)


def _drop(results: dict[Any, Any], keys: set[Hashable]) -> None:
    for key in keys:
        results.pop(key, None)
    keys.clear()


def merge_linear_aux(aux1: Callable[[], Any], aux2: Callable[[], Any]) -> tuple[bool, Any]:
    """The auxiliary result of whichever of two functions ran, and whether it was the first one.

    Raises:
        StoreException: neither ran, or both.
    """
    found = []
    for first, aux in ((True, aux1), (False, aux2)):
        try:
            found.append((first, aux()))
        except StoreException:
            continue
    if len(found) != 1:
        raise StoreException("both stores are occupied" if found else "neither store is occupied")
    return found[0]
