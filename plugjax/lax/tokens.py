"""Tokens, which order operations, and messages between the instances of a named axis, which tokens carry.

A token is a value without meaning: an operation that takes a token runs after the one that returned it. ``psend`` and
``precv`` are the two halves of ``ppermute``. On several devices the halves meet by order; under ``vmap`` the token of
``psend`` carries what was sent.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

from plugjax.extend import pytree
from plugjax.extend.core import Primitive, ShapedArray, aval_of
from plugjax.extend.dtypes import INT32
from plugjax.extend.rules import RuleSet, abstract_eval, batching_rule
from plugjax.extend.transforms import Axis
from plugjax.lax.families import zero_derivative
from plugjax.lax.parallel import ppermute

rules = RuleSet(__name__)

create_token_p = Primitive("create_token")
after_all_p = Primitive("after_all")

_AVAL = ShapedArray((), INT32)

Permutation = tuple[tuple[int, int], ...]


class Token:
    """A token; a pytree of one leaf, so that it goes through every transformation.

    Attributes:
        value: the value that must be computed first: a scalar, or the message.
        permutation: permutation of the message, if there is one.
    """

    __slots__ = ("permutation", "value")

    def __init__(self, value: Any, permutation: Permutation | None = None) -> None:
        self.value = value
        self.permutation = permutation

    def __repr__(self) -> str:
        return "Token()" if self.permutation is None else f"Token(sent by {self.permutation})"


def _flatten(token: Token) -> tuple[Iterable[Any], Permutation | None]:
    return (token.value,), token.permutation


def _unflatten(permutation: Permutation | None, children: Iterable[Any]) -> Token:
    (value,) = children
    return Token(value, permutation)


pytree.register(Token, _flatten, _unflatten)


def create_token(_: Any = None) -> Token:
    """A token that depends on nothing. The argument is ignored.

    Example:
        >>> from plugjax import lax
        >>> lax.create_token()
        Token()
    """
    return Token(create_token_p.bind())


def after_all(*operands: Token) -> Token:
    """A token that depends on others.

    Raises:
        TypeError: an operand is not a token.

    Example:
        >>> from plugjax import lax
        >>> lax.after_all(lax.create_token(), lax.create_token())
        Token()
    """
    if not all(isinstance(token, Token) for token in operands):
        raise TypeError("after_all takes tokens only.")
    return Token(after_all_p.bind(*(token.value for token in operands)))


@rules.define(abstract_eval, create_token_p, after_all_p)
def _token_aval(*avals: ShapedArray) -> ShapedArray:
    return _AVAL


zero_derivative(rules, create_token_p)
zero_derivative(rules, after_all_p)
rules.absent(batching_rule, create_token_p, because="it has no operands, so none is ever batched")


@rules.define(batching_rule, after_all_p)
def _after_all_batching(
    axis: Axis, args: Sequence[Any], dims: Sequence[int | None]
) -> tuple[Any, None]:
    return after_all_p.bind(*args), None


def psend(x: Any, axis_name: Hashable, perm: Sequence[tuple[int, int]]) -> Any:
    """Send instances of ``x`` from index to index of a named axis; :func:`precv` receives them.

    Args:
        x: pytree of arrays.
        axis_name: name of the axis.
        perm: pairs ``(source, destination)``, no source and no destination twice.

    Returns:
        A pytree of tokens.

    Raises:
        NameError: no axis of that name is bound.

    Differs from JAX:
        It works under ``vmap``.

    Example:
        >>> import numpy as np, plugjax, plugjax.numpy as jnp
        >>> from plugjax import lax
        >>> def shifted(x):
        ...     token = lax.psend(x, "i", [(0, 1), (1, 0)])
        ...     return lax.precv(token, plugjax.ShapeDtypeStruct((), np.int32), "i", [(0, 1), (1, 0)])
        >>> plugjax.vmap(shifted, axis_name="i")(jnp.array([3, 5]))
        Array([5, 3], dtype=int32)
    """
    pairs = _pairs(perm)
    return pytree.tree_map(lambda v: Token(ppermute(v, axis_name, pairs), pairs), x)


def precv(
    token: Token, out_shape: Any, axis_name: Hashable, perm: Sequence[tuple[int, int]]
) -> Any:
    """The message of :func:`psend` along a named axis; zeros where nothing was sent.

    Args:
        token: result of ``psend``.
        out_shape: object with the shape and dtype of the message.
        axis_name: name of the axis.
        perm: permutation given to ``psend``.

    Raises:
        NameError: no axis of that name is bound.
        TypeError: ``token`` is not a token.
        ValueError: the token does not come from a ``psend`` with this permutation, shape and dtype.

    Example:
        >>> import plugjax
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> swap = [(0, 1), (1, 0)]
        >>> plugjax.vmap(lambda x: lax.precv(lax.psend(x, "i", swap), x, "i", swap), axis_name="i")(jnp.arange(2))
        Array([1, 0], dtype=int32)
    """
    if not isinstance(token, Token):
        raise TypeError(f"precv: expected a token, got {token!r}.")
    # This function checks the axis.
    ppermute((), axis_name, _pairs(perm))
    if token.permutation != _pairs(perm):
        raise ValueError(
            f"precv: under vmap the token must be that of the psend with the same permutation {_pairs(perm)}, got {token!r}."
        )
    found = aval_of(token.value)
    if (found.shape, found.dtype) != (tuple(out_shape.shape), out_shape.dtype):
        raise ValueError(f"precv: {found.str_short()} was sent, {out_shape} is expected.")
    return token.value


def _pairs(perm: Sequence[tuple[int, int]]) -> Permutation:
    return tuple((int(source), int(destination)) for source, destination in perm)
