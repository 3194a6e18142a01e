"""Common parts of the solvers: operators, right-hand sides, and derivatives of solutions.

The solvers run inside ``lax.custom_linear_solve``, so the derivative of a solution is the solution of another system,
and iterations are not differentiated.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import plugjax.numpy as jnp
from plugjax import lax
from plugjax.extend import pytree
from plugjax.extend.core import Array, Tracer
from plugjax.extend.errors import StructureError

Operator = Callable[[Any], Any]


class System(NamedTuple):
    """``operator(x) = b``, with a first guess, a preconditioner (or ``None``), and a limit of iterations."""

    operator: Operator
    b: Any
    x0: Any
    preconditioner: Operator | None
    maxiter: Any


def system(A: Any, b: Any, x0: Any, M: Any, maxiter: int | None) -> System:
    """The arguments of a solver, checked.

    Raises:
        TypeError: ``A`` or ``M`` is neither a function nor a matrix.
        ValueError: a matrix that is not square, or ``x0`` is not like ``b``.
    """
    b = pytree.tree_map(jnp.asarray, b)
    x0 = pytree.tree_map(jnp.zeros_like if x0 is None else jnp.asarray, b if x0 is None else x0)
    if pytree.structure(x0) != pytree.structure(b):
        raise ValueError(
            "x0 is not arranged like b: "
            + pytree.first_difference(pytree.structure(b), pytree.structure(x0))
        )
    shapes, wanted = [x.shape for x in pytree.leaves(x0)], [x.shape for x in pytree.leaves(b)]
    if shapes != wanted:
        raise StructureError(f"x0 needs the shapes of b, got {shapes} for {wanted}.")
    limit = 10 * unknowns(b) if maxiter is None else maxiter
    return System(_as_function(A), b, x0, None if M is None else _as_function(M), limit)


def unknowns(b: Any) -> int:
    """The number of elements of a vector."""
    return sum(x.size for x in pytree.leaves(b))


def _as_function(given: Any) -> Operator:
    if callable(given):
        return given
    if not hasattr(given, "__matmul__"):
        raise TypeError(f"a linear operator is a function or a matrix, got {given!r}.")
    shape = getattr(given, "shape", None)
    if shape is not None and (len(shape) != 2 or shape[0] != shape[1]):
        raise ValueError(f"a linear operator needs to be square, got shape {shape}.")
    if isinstance(given, (Array, Tracer, np.ndarray)):
        return partial(jnp.dot, given, precision=lax.Precision.HIGHEST)
    return partial(operator.matmul, given)


def solved(given: System, solve: Callable[[Operator, Any], Any], symmetric: bool = False) -> Any:
    """The solution, by ``solve(operator, b)``, which also solves the transposed system."""
    return lax.custom_linear_solve(
        given.operator, given.b, solve, transpose_solve=solve, symmetric=symmetric
    )
