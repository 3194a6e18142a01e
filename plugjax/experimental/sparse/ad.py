"""Derivatives with respect to the values of sparse arrays; their indices are constant."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import plugjax
from plugjax.experimental.sparse.base import JAXSparse
from plugjax.extend import pytree
from plugjax.extend.core import concrete_or_error
from plugjax.extend.errors import check_callable
from plugjax.extend.transforms import api_boundary


def _is_sparse(x: Any) -> bool:
    return isinstance(x, JAXSparse)


class _Arguments:
    """Arguments as dense leaves and sparse arrays, of which values alone are differentiated.

    Attributes:
        nodes: dense leaves and sparse arrays.
        values: for each node what is differentiated.
        chosen: the nodes that belong to ``argnums``.
    """

    def __init__(self, argnums: Any, args: tuple[Any, ...]) -> None:
        places = argnums if isinstance(argnums, tuple) else (argnums,)
        if any(not -len(args) <= i < len(args) for i in places):
            raise ValueError(
                f"sparse derivatives: argnums {argnums} do not fit {len(args)} positional arguments."
            )
        self.single = not isinstance(argnums, tuple)
        self.places = [i % len(args) for i in places]
        self.nodes, self.tree = pytree.flatten(args, _is_sparse)
        owners = [i for i, arg in enumerate(args) for _ in pytree.leaves(arg, _is_sparse)]
        self.chosen = [n for n, owner in enumerate(owners) if owner in self.places]
        self.args = args

    @property
    def values(self) -> list[Any]:
        found = (self.nodes[n] for n in self.chosen)
        return [x.data if _is_sparse(x) else x for x in found]

    def with_values(self, values: Sequence[Any]) -> list[Any]:
        """The arguments with other values at the chosen nodes."""
        nodes = list(self.nodes)
        for n, value in zip(self.chosen, values, strict=True):
            nodes[n] = _with_data(nodes[n], value)
        return list(pytree.unflatten(self.tree, nodes))

    def like_arguments(self, derivatives: Sequence[Any]) -> Any:
        """Derivatives by the chosen values as trees of the arguments, sparse where these are."""
        nodes = [None] * len(self.nodes)
        for n, d in zip(self.chosen, derivatives, strict=True):
            nodes[n] = _derivative(self.nodes[n], d)
        trees = pytree.unflatten(self.tree, nodes)
        found = tuple(trees[i] for i in self.places)
        return found[0] if self.single or len(found) == 1 else found


def _with_data(x: Any, data: Any) -> Any:
    if not _is_sparse(x):
        return data
    (_, *indices), aux = x.tree_flatten()
    return type(x).tree_unflatten(aux, (data, *indices))


def _derivative(x: Any, data: Any) -> Any:
    """A derivative by values as an array like ``x``; axes of outputs come first, as batch axes."""
    if not _is_sparse(x):
        return data
    function: Callable[..., Any] = functools.partial(_with_data, x)
    for _ in range(data.ndim - x.data.ndim):
        function = plugjax.vmap(function)
    return function(data)


def _argnums(argnums: Any) -> Any:
    def known(n: Any) -> Any:
        return tuple(map(int, n)) if isinstance(n, (tuple, list)) else int(n)

    return concrete_or_error(known, argnums, "argnums of a sparse derivative")


def value_and_grad(
    fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, **kwargs: Any
) -> Callable[..., tuple[Any, Any]]:
    """``plugjax.value_and_grad`` of a function of dense and sparse arrays.

    Args:
        fun: function with a scalar result.
        argnums: positions of the arguments to differentiate by.
        has_aux: whether ``fun`` returns a pair of which the second is no result.
        **kwargs: as of ``plugjax.value_and_grad``.

    Returns:
        A function that returns the value and the gradient, which has the indices of the argument.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.experimental import sparse
        >>> M = sparse.BCOO.fromdense(jnp.array([0.0, 2.0, 3.0]))
        >>> value, g = sparse.value_and_grad(lambda m: (m @ m.todense()))(M)
        >>> value, g.todense()
        (Array(13., dtype=float32), Array([0., 4., 6.], dtype=float32))
    """
    return _derived(plugjax.value_and_grad, fun, argnums, has_aux, kwargs, "value_and_grad")


def grad(
    fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, **kwargs: Any
) -> Callable[..., Any]:
    """``plugjax.grad`` of a function of dense and sparse arrays; see :func:`value_and_grad`.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.experimental import sparse
        >>> M = sparse.BCOO.fromdense(jnp.array([0.0, 2.0, 3.0]))
        >>> sparse.grad(lambda m, v: m @ v)(M, jnp.arange(3.0))
        BCOO(float32[3], nse=2)
    """
    return _derived(plugjax.grad, fun, argnums, has_aux, kwargs, "grad")


def jacfwd(
    fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, **kwargs: Any
) -> Callable[..., Any]:
    """``plugjax.jacfwd`` of a function of dense and sparse arrays.

    Args:
        fun: function of arrays with a dense result.
        argnums: positions of the arguments to differentiate by.
        has_aux: whether ``fun`` returns a pair of which the second is no result.
        **kwargs: as of ``plugjax.jacfwd``.

    Returns:
        A function whose result has the axes of the output as batch axes.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.experimental import sparse
        >>> M = sparse.BCOO.fromdense(jnp.array([0.0, 2.0, 3.0]))
        >>> sparse.jacfwd(lambda m: m.todense() ** 2)(M).todense()[1]
        Array([0., 4., 0.], dtype=float32)
    """
    return _derived(plugjax.jacfwd, fun, argnums, has_aux, kwargs, "jacfwd")


def jacrev(
    fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, **kwargs: Any
) -> Callable[..., Any]:
    """``plugjax.jacrev`` of a function of dense and sparse arrays; see :func:`jacfwd`.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.experimental import sparse
        >>> M = sparse.BCOO.fromdense(jnp.array([0.0, 2.0, 3.0]))
        >>> sparse.jacrev(lambda m: m.todense() ** 2)(M).todense()[2]
        Array([0., 0., 6.], dtype=float32)
    """
    return _derived(plugjax.jacrev, fun, argnums, has_aux, kwargs, "jacrev")


jacobian = jacrev


def _derived(
    transform: Any, fun: Callable[..., Any], argnums: Any, has_aux: bool, options: Any, name: str
) -> Callable[..., Any]:
    check_callable(f"sparse.{name}", fun)
    places = _argnums(argnums)

    @functools.wraps(fun)
    @api_boundary
    def derivative(*args: Any, **kwargs: Any) -> Any:
        given = _Arguments(places, args)

        def of_values(values: Sequence[Any]) -> Any:
            return fun(*given.with_values(values), **kwargs)

        out = transform(of_values, has_aux=has_aux, **options)(given.values)
        if name == "value_and_grad":
            return out[0], given.like_arguments(out[1])
        if has_aux:
            return given.like_arguments(out[0]), out[1]
        return given.like_arguments(out)

    return derivative
