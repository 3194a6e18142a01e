"""Linear systems with any matrix, and their derivatives by the same factors.

From A x = b: A x_dot = b_dot - A_dot x. A is factored once, outside of the differentiated code. The factors serve the
solution, its derivatives of every order, and their transposes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from plugjax.extend.core import Primitive, Zero, add_any, aval_of, moveaxis, stop_gradient_p
from plugjax.extend.rules import RuleSet, batching_rule, jvp_rule, transpose_rule
from plugjax.extend.transforms import Axis, is_undefined_primal, materialize
from plugjax.lax.arithmetic import neg
from plugjax.lax.broadcasting import broadcast_shapes
from plugjax.lax.families import INEXACT, INTEGER
from plugjax.lax.linalg.family import matrix_primitive
from plugjax.lax.linalg.lu import lu
from plugjax.lax.linalg.matrices import matmul, repeated, transposed
from plugjax.lax.shape import expand_dims, reshape, squeeze, transpose

rules = RuleSet(__name__)

# Operands: the matrix, read by derivatives only; right-hand sides; the matrix's LU factors and
# permutation.
solve_p = Primitive("solve")


def solve(a: Any, b: Any) -> Any:
    """The solution of ``a x = b``; leading axes broadcast.

    Shapes:
        a: ``[..., m, m]``.
        b: ``[m]``, or ``[..., m, k]`` -> as ``b``, with the leading axes of both.
    """
    factors, _, permutation = lu(stop_gradient_p.bind(a))
    vector = aval_of(b).ndim == 1
    if vector:
        b = expand_dims(b, (1,))
    a_lead, shape = aval_of(a).shape[:-2], aval_of(b).shape
    if not a_lead and len(shape) > 2:
        # Concatenate right-hand sides of one matrix.
        sides = transpose(b, (len(shape) - 2, *range(len(shape) - 2), len(shape) - 1))
        columns = reshape(sides, (shape[-2], math.prod(sides.shape[1:])))
        x = reshape(_solved(a, columns, factors, permutation), sides.shape)
        return transpose(x, (*range(1, len(shape) - 1), 0, len(shape) - 1))
    batch = broadcast_shapes(a_lead, shape[:-2])
    a, b, factors = (repeated(x, batch, 2) for x in (a, b, factors))
    x = _solved(a, b, factors, repeated(permutation, batch, 1))
    return squeeze(x, (-1,)) if vector else x


def _solved(a: Any, b: Any, factors: Any, permutation: Any) -> Any:
    return solve_p.bind(a, b, factors, permutation, transposed=False)


def _shape(
    a: tuple[int, ...], b: tuple[int, ...], factors: Any, permutation: Any, *, transposed: bool
) -> Sequence[tuple[int, ...]]:
    if a[0] != a[1] or a[1] != b[0]:
        raise ValueError(f"solve: a matrix of shape {a} does not fit right-hand sides {b}")
    return [b]


matrix_primitive(
    rules,
    solve_p,
    (2, 2, 2, 1),
    _shape,
    accepts=(INEXACT, INEXACT, INEXACT, INTEGER),
    own_batching=True,
)


@rules.define(jvp_rule, solve_p)
def _solve_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
    a, b, *factors = primals
    a_dot, right = tangents[:2]
    x = solve_p.bind(a, b, *factors, **params)
    if type(a_dot) is not Zero:
        change = transposed(a_dot) if params["transposed"] else a_dot
        right = add_any(right, neg(matmul(change, x)))
    if type(right) is Zero:
        return x, right
    return x, solve_p.bind(a, right, *factors, **params)


@rules.define(transpose_rule, solve_p)
def _solve_transpose(
    x_bar: Any, a: Any, b: Any, *factors: Any, transposed: bool
) -> tuple[Any, ...]:
    assert is_undefined_primal(b)
    return None, solve_p.bind(a, x_bar, *factors, transposed=not transposed), None, None


@rules.define(batching_rule, solve_p)
def _solve_batching(
    axis: Axis, args: Sequence[Any], dims: Sequence[int | None], **params: Any
) -> tuple[Any, int]:
    (a, b, *factors), (_, b_dim, *_) = args, dims
    if any(d is not None for d in (dims[0], *dims[2:])):
        operands = [materialize(x, d, axis) for x, d in zip(args, dims, strict=True)]
        return solve_p.bind(*operands, **params), 0
    # One matrix for all instances: they become columns of one right-hand side.
    assert b_dim is not None
    last = aval_of(b).ndim - 1
    b = moveaxis(b, b_dim, last)
    shape = aval_of(b).shape
    columns = reshape(b, (*shape[: last - 1], shape[last - 1] * shape[last]))
    return reshape(solve_p.bind(a, columns, *factors, **params), shape), last
