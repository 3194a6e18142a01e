"""``jet``: from a function to the series of its values."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import plugjax.numpy as jnp
from plugjax import lax
from plugjax.experimental.jet.tracing import jet_flat, times
from plugjax.extend import dtypes, pytree
from plugjax.extend.core import as_array, aval_of
from plugjax.extend.transforms import Structure, api_boundary, flat_call


@api_boundary
def jet(
    fun: Callable[..., Any],
    primals: Sequence[Any],
    series: Sequence[Sequence[Any]],
    factorial_scaled: bool = True,
    **_: Any,
) -> tuple[Any, Any]:
    """Derivatives of high order of a function along curves, by Taylor series, at a cost that is polynomial in the order.

    The argument number i moves along the curve with the value ``primals[i]`` and the derivatives ``series[i]`` at a point; the
    results are the value and the derivatives of ``fun`` along the curve there. It works under ``jit``, ``vmap``, ``grad``, and nested.

    Args:
        fun: function of arrays; its result is a pytree of arrays.
        primals: its arguments, inexact; integers become floating.
        series: for each argument its derivatives, the first, the second and so on, each of the shape of the argument. All have one number
            of derivatives, the order.
        factorial_scaled: if false, the entries of series are the coefficients of polynomials, without the factorial of their order.

    Returns:
        ``(value, series of the value)``: in the place of each leaf of the value a list of its derivatives.

    Raises:
        ValueError: the numbers of derivatives differ, or an argument or a derivative is not an array.

    Differs from JAX:
        Every primitive with a derivative has a series: if it has no rule of the kind ``taylor``, by its jvp rule. Loops and branches
            are among them.
        The derivative that ``custom_jvp`` states is respected; JAX pushes series through the function itself.

    Reference:
        A. Griewank, A. Walther, "Evaluating Derivatives", 2008, chapter 13.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.experimental.jet import jet
        >>> value, (first, second) = jet(lambda x: x**3, (2.0,), ((1.0, 0.0),))
        >>> float(value), float(first), float(second)
        (8.0, 12.0, 12.0)
    """
    orders = set(map(len, series))
    if len(orders) != 1:
        raise ValueError(
            f"jet terms have inconsistent lengths for different arguments: {[len(terms) for terms in series]}. Append zeros to the shorter ones."
        )
    (order,) = orders
    points, curves = [], []
    for i, (x, terms) in enumerate(zip(primals, series, strict=True)):
        _check_leaf(x, f"primal value at position {i}")
        for j, term in enumerate(terms):
            _check_leaf(term, f"term {j} for argument {i}")
        point = as_array(x, "jet")
        if not dtypes.is_inexact(aval_of(point).dtype):
            point = jnp.asarray(point, float)
        points.append(point)
        curves.append(
            [
                times(1 / math.factorial(k), as_tangent(term, point)) if factorial_scaled
                else as_tangent(term, point)
                for k, term in enumerate(terms, 1)
            ]
        )  # fmt: skip
    out = Structure()
    function = flat_call(fun, pytree.structure(tuple(points)), out, "jet")
    values, found = jet_flat(function, order, points, curves)
    if not order:
        found = [[] for _ in values]
    results = [
        [jnp.zeros_like(y)] * order
        if terms is None
        else [times(math.factorial(k), t) for k, t in enumerate(terms, 1)]
        if factorial_scaled
        else terms
        for y, terms in zip(values, found, strict=True)
    ]
    return pytree.unflatten(out.tree, values), pytree.unflatten(out.tree, results)


def _check_leaf(x: Any, what: str) -> None:
    if not pytree.structure(x).is_leaf():
        raise ValueError(
            f"{what} is not an array, but {type(x).__name__}. Give the leaves of trees as arguments of their own."
        )


def as_tangent(term: Any, point: Any) -> Any:
    """A coefficient in the shape of a value and the dtype of its tangents."""
    aval = aval_of(point).to_tangent_aval()
    term = as_array(term, "jet")
    if aval_of(term).dtype != aval.dtype:
        term = lax.convert_element_type(term, aval.dtype)
    return term if aval_of(term).shape == aval.shape else jnp.broadcast_to(term, aval.shape)
