"""Linear systems with a triangular matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plugjax.extend.core import (
    Array,
    ArrayLike,
    Primitive,
    Zero,
    add_any,
    as_array,
    aval_of,
    moveaxis,
)
from plugjax.extend.rules import RuleSet, batching_rule, jvp_rule, transpose_rule
from plugjax.extend.transforms import Axis, is_undefined_primal, materialize
from plugjax.lax.arithmetic import neg
from plugjax.lax.linalg.family import matrix_primitive
from plugjax.lax.linalg.matrices import conjugate, matmul, transposed, tril, triu
from plugjax.lax.shape import expand_dims, reshape, squeeze

rules = RuleSet(__name__)

triangular_solve_p = Primitive("triangular_solve")


def triangular_solve(
    a: ArrayLike,
    b: ArrayLike,
    *,
    left_side: bool = False,
    lower: bool = False,
    transpose_a: bool = False,
    conjugate_a: bool = False,
    unit_diagonal: bool = False,
) -> Array:
    """The solution of ``op(a) x = b`` or ``x op(a) = b`` with a triangular ``a``.

    Shapes:
        a: ``[..., m, m]``, floating or complex.
        b: ``[..., m, n]`` with ``left_side``, else ``[..., n, m]``; or without the axis n -> the same.

    Args:
        a: the matrices; only one triangle is read.
        b: the right-hand sides.
        left_side: whether ``op(a)`` stands on the left of ``x``.
        lower: whether ``a`` is lower triangular.
        transpose_a: whether ``op`` transposes.
        conjugate_a: whether ``op`` conjugates.
        unit_diagonal: whether the diagonal of ``a`` counts as ones.

    Raises:
        ValueError: shapes do not fit.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.lax.linalg import triangular_solve
        >>> a = jnp.array([[2.0, 0.0], [1.0, 1.0]])
        >>> triangular_solve(a, jnp.array([4.0, 3.0]), left_side=True, lower=True)
        Array([2., 1.], dtype=float32)
    """
    a, b = as_array(a, "triangular_solve"), as_array(b, "triangular_solve")
    vector = aval_of(b).ndim == aval_of(a).ndim - 1
    axis = -1 if left_side else -2
    if vector:
        b = expand_dims(b, (axis,))
    x = triangular_solve_p.bind(
        a,
        b,
        left_side=bool(left_side),
        lower=bool(lower),
        transpose_a=bool(transpose_a),
        conjugate_a=bool(conjugate_a) and aval_of(a).dtype.kind == "c",
        unit_diagonal=bool(unit_diagonal),
    )
    return squeeze(x, (axis,)) if vector else x


def _shape(
    a: tuple[int, ...], b: tuple[int, ...], *, left_side: bool, **_: Any
) -> Sequence[tuple[int, ...]]:
    if a[0] != a[1]:
        raise ValueError(f"triangular_solve needs square matrices a, got shape {a}.")
    if a[0] != b[-2 if left_side else -1]:
        raise ValueError(f"triangular_solve: a of shape {a} and b of shape {b} do not fit.")
    return [b]


matrix_primitive(rules, triangular_solve_p, (2, 2), _shape, own_batching=True)


@rules.define(jvp_rule, triangular_solve_p)
def _jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
    """From ``op(A) X = B``: ``X_dot = op(A)^-1 (B_dot - op(A_dot) X)``, and likewise on the other side."""
    a, b = primals
    a_dot, b_dot = tangents
    x = triangular_solve_p.bind(a, b, **params)
    x_dot: Any = Zero(aval_of(x).to_tangent_aval())
    if type(b_dot) is not Zero:
        x_dot = triangular_solve_p.bind(a, b_dot, **params)
    if type(a_dot) is not Zero:
        x_dot = add_any(x_dot, _from_matrix(a, a_dot, x, params))
    return x, x_dot


def _from_matrix(a: Any, a_dot: Any, x: Any, params: dict[str, Any]) -> Any:
    """The part of the tangent from the matrix; the cheaper product goes first."""
    skip = 1 if params["unit_diagonal"] else 0
    change = neg(tril(a_dot, -skip) if params["lower"] else triu(a_dot, skip))
    change = transposed(change) if params["transpose_a"] else change
    change = conjugate(change) if params["conjugate_a"] else change
    rows, columns = aval_of(x).shape[-2:]
    if params["left_side"]:
        if rows > columns:
            return triangular_solve_p.bind(a, matmul(change, x), **params)
        return matmul(triangular_solve_p.bind(a, change, **params), x)
    if rows < columns:
        return triangular_solve_p.bind(a, matmul(x, change), **params)
    return matmul(x, triangular_solve_p.bind(a, change, **params))


@rules.define(transpose_rule, triangular_solve_p)
def _transpose(x_bar: Any, a: Any, b: Any, *, transpose_a: bool, **params: Any) -> tuple[Any, Any]:
    assert is_undefined_primal(b)
    return None, triangular_solve_p.bind(a, x_bar, transpose_a=not transpose_a, **params)


@rules.define(batching_rule, triangular_solve_p)
def _batching(
    axis: Axis, args: Sequence[Any], dims: Sequence[int | None], **params: Any
) -> tuple[Any, int]:
    (a, b), (a_dim, b_dim) = args, dims
    if a_dim is not None:
        operands = [materialize(x, d, axis) for x, d in zip(args, dims, strict=True)]
        return triangular_solve_p.bind(*operands, **params), 0
    # One matrix for all instances: they become right-hand sides of one system.
    assert b_dim is not None
    rank = aval_of(b).ndim
    place = rank - 1 if params["left_side"] else rank - 2
    b = moveaxis(b, b_dim, place)
    shape = aval_of(b).shape
    at = place - 1
    merged = (*shape[:at], shape[at] * shape[at + 1], *shape[at + 2 :])
    x = triangular_solve_p.bind(a, reshape(b, merged), **params)
    return reshape(x, shape), place
