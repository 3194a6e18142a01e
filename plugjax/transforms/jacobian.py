"""Jacobians and Hessians: derivatives along a whole basis, by ``vmap``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ParamSpec

import numpy as np

from plugjax.core import dtypes, pytree
from plugjax.core.array import as_array, aval_of
from plugjax.core.operators import methods
from plugjax.transforms.batching import vmap
from plugjax.transforms.callables import check_callable
from plugjax.transforms.flat_calls import named_after
from plugjax.transforms.grad import as_argnums, jvp, of_chosen, vjp
from plugjax.transforms.tracebacks import api_boundary

_P = ParamSpec("_P")


def _basis(tree: Any) -> Any:
    """The standard basis of a pytree's space: each leaf gets a leading axis over all elements of all leaves."""
    leaves, treedef = pytree.flatten(tree)
    avals = [aval_of(x) for x in leaves]
    total = sum(a.size for a in avals)
    parts, start = [], 0
    for aval in avals:
        block = np.zeros((total, aval.size), aval.dtype)
        block[np.arange(start, start + aval.size), np.arange(aval.size)] = 1
        parts.append(as_array(block.reshape(total, *aval.shape)))
        start += aval.size
    return pytree.unflatten(treedef, parts)


def _unravel(matrix: Any, tree: Any, axis: int) -> Any:
    """Split one axis of ``matrix`` over the leaves of ``tree``, in their shapes."""
    leaves, treedef = pytree.flatten(tree)
    parts, start = [], 0
    for leaf in leaves:
        aval = aval_of(leaf)
        index = (slice(None),) * axis + (slice(start, start + aval.size),)
        part = matrix[index]
        shape = (*matrix.shape[:axis], *aval.shape, *matrix.shape[axis + 1 :])
        parts.append(methods.reshape(part, shape))
        start += aval.size
    return pytree.unflatten(treedef, parts)


def _check(
    tree: Any, who: str, what: str, holomorphic: bool, accepts: Callable[[Any], bool]
) -> None:
    for leaf in pytree.leaves(tree):
        dtype = aval_of(leaf).dtype
        if holomorphic and dtype.kind != "c":
            raise TypeError(
                f"{who} with holomorphic=True requires {what}s with complex dtype, got {dtype.name}."
            )
        if not holomorphic and not accepts(dtype):
            numbers = (
                "real- or complex-valued" if (who, what) == ("jacrev", "input") else "real-valued"
            )
            raise TypeError(
                f"{who} requires {numbers} {what}s, got {dtype.name}. Pass holomorphic=True if the function is, else use plugjax.jvp "
                "or plugjax.vjp."
            )


def _anything(dtype: Any) -> bool:
    return True


def _along_basis(derivatives: Any, primal: Any) -> Any:
    """The derivatives of one leaf; where they are trivial (``float0``), zeros of its own dtype, as in JAX."""
    if derivatives.dtype != dtypes.float0:
        return derivatives
    return as_array(np.zeros(derivatives.shape, aval_of(primal).dtype))


def jacfwd(
    fun: Callable[_P, Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Callable[_P, Any]:
    """Jacobian by forward mode: one pass per element of the input, all at once.

    Returns:
        A function that gives, for outputs ``[*out]`` and an input ``[*in]``, an array ``[*out, *in]``, in the structure
        of the output with the structure of the input at each leaf.

    Raises:
        TypeError: an input is not real (not complex, if ``holomorphic``).
        ValueError: there is no such argument.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> plugjax.jacfwd(lambda x: x ** 2)(jnp.array([1.0, 2.0]))
        Array([[2., 0.],
               [0., 4.]], dtype=float32)
    """
    check_callable("jacfwd", fun)

    @api_boundary
    def jacobian_of(*args: Any, **kwargs: Any) -> Any:
        partial, point = of_chosen(
            "jacobian", fun, as_argnums("jacobian", argnums)[1], args, kwargs
        )
        _check(point, "jacfwd", "input", holomorphic, dtypes.is_float)
        point_for = point[0] if isinstance(argnums, int) else point

        def push(direction: Any) -> Any:
            tangents = (direction,) if isinstance(argnums, int) else direction
            values, *found = jvp(partial, point, tangents, has_aux=has_aux)
            known.append(pytree.tree_map(aval_of, values))
            return tuple(found)

        # Of the values only the avals are needed, so they may have a batch axis.
        known: list[Any] = []
        results = vmap(push, out_axes=(-1, None) if has_aux else -1)(_basis(point_for))
        (out,), columns = known, results[0]
        _check(out, "jacfwd", "output", holomorphic, _anything)
        jac = pytree.tree_map(
            lambda y, column: _unravel(_along_basis(column, y), point_for, aval_of(y).ndim),
            out,
            columns,
        )
        return (jac, results[1]) if has_aux else jac

    return named_after(fun, jacobian_of)


def jacrev(
    fun: Callable[_P, Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable[_P, Any]:
    """Jacobian by reverse mode: one pass per element of the output, all at once; results as of :func:`jacfwd`.

    Raises:
        TypeError: an input is an integer and ``allow_int`` is not set, or an output is not real (not complex, if
            ``holomorphic``).
        ValueError: there is no such argument.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> plugjax.jacrev(lambda x: x ** 2)(jnp.array([1.0, 2.0]))
        Array([[2., 0.],
               [0., 4.]], dtype=float32)
    """
    check_callable("jacrev", fun)

    @api_boundary
    def jacobian_of(*args: Any, **kwargs: Any) -> Any:
        partial, point = of_chosen(
            "jacobian", fun, as_argnums("jacobian", argnums)[1], args, kwargs
        )
        _check(point, "jacrev", "input", holomorphic, lambda d: dtypes.is_inexact(d) or allow_int)
        results = vjp(partial, *point, has_aux=has_aux)
        out, pull = results[0], results[1]
        _check(out, "jacrev", "output", holomorphic, dtypes.is_float)
        rows = vmap(pull)(_basis(out))
        single = rows[0] if isinstance(argnums, int) else rows
        leaves, treedef = pytree.flatten(single)
        per_leaf = [
            _unravel(_along_basis(leaf, x), out, 0)
            for leaf, x in zip(leaves, pytree.leaves(point), strict=True)
        ]
        out_leaves, out_tree = pytree.flatten(out)
        split = [pytree.leaves(tree) for tree in per_leaf]
        jac = pytree.unflatten(
            out_tree,
            [
                pytree.unflatten(treedef, [parts[i] for parts in split])
                for i in range(len(out_leaves))
            ],
        )
        return (jac, results[1]) if has_aux else jac

    return named_after(fun, jacobian_of)


def hessian(
    fun: Callable[_P, Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Callable[_P, Any]:
    """Hessian: the forward-mode Jacobian of the reverse-mode one.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> plugjax.hessian(lambda x: jnp.sum(x ** 3))(jnp.array([1.0, 2.0]))
        Array([[ 6.,  0.],
               [ 0., 12.]], dtype=float32)
    """
    inner = jacrev(fun, argnums, has_aux=has_aux, holomorphic=holomorphic)
    return jacfwd(inner, argnums, has_aux=has_aux, holomorphic=holomorphic)
