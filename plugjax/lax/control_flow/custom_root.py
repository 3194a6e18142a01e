"""Roots found by a user's function: ``custom_root``.

At a root x*(m) of F(m, x) the implicit function theorem gives x*_dot = -(D_x F)^-1 D_m F m_dot: the derivative needs F
at the root and one linear solve, however the root is found.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from plugjax.extend import pytree
from plugjax.extend.calls import custom_jvp
from plugjax.extend.core import ClosedJaxpr, as_array, aval_of, eval_closed, zeros
from plugjax.extend.transforms import linearize
from plugjax.lax.arithmetic import neg
from plugjax.lax.control_flow.bodies import check_tree, trace_body


def custom_root(
    f: Callable[[Any], Any],
    initial_guess: Any,
    solve: Callable[[Callable[[Any], Any], Any], Any],
    tangent_solve: Callable[[Callable[[Any], Any], Any], Any],
    has_aux: bool = False,
) -> Any:
    """Find ``x`` with ``f(x) = 0`` by ``solve``, with the derivatives of the root.

    Args:
        f: function of a pytree like ``initial_guess``, giving the same structure. Derivatives are taken with respect to
            what it closes over.
        initial_guess: pytree of arrays.
        solve: ``(f, initial_guess) -> root``; it need not be differentiable.
        tangent_solve: ``(g, y) -> x`` with ``g(x) = y``, for a linear function ``g``: the derivative of ``f`` at the
            root.
        has_aux: whether ``solve`` gives ``(root, aux)``; ``aux`` has no derivative.

    Returns: The result of ``solve``.

    Raises:
        TypeError: a function gives another structure than that of ``initial_guess``.
        ValueError: the result of ``solve`` is not a pair, with ``has_aux``.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> from plugjax import lax
        >>> def square_root(a):
        ...     return lax.custom_root(
        ...         lambda x: x * x - a, a, lambda f, x: jnp.sqrt(a), lambda g, y: y / g(1.0)
        ...     )
        >>> plugjax.grad(square_root)(4.0)
        Array(0.25, dtype=float32, weak_type=True)
    """
    leaves, tree = pytree.flatten(initial_guess)
    guess = [as_array(x, "custom_root") for x in leaves]
    avals = [x.aval for x in guess]
    one = pytree.structure((initial_guess,))
    function, function_consts, out_tree = trace_body(f, one, avals, "custom_root")
    check_tree("f", "initial_guess", out_tree, tree, False)
    solver, solver_consts, solution_tree = trace_body(
        lambda x: solve(f, x), one, avals, "custom_root solve"
    )
    check_tree("solve", "initial_guess", solution_tree, tree, has_aux)

    def at_root(x: Any, y: Any) -> Any:
        return tangent_solve(linearize(f, x)[1], y)

    tangent, tangent_consts, out_tree = trace_body(
        at_root,
        pytree.structure((initial_guess,) * 2),
        [*avals, *avals],
        "custom_root tangent_solve",
    )
    check_tree("tangent_solve", "x", out_tree, tree, False)
    programs = _Programs(function, solver, tangent)
    outs = _root(programs, function_consts, solver_consts, tangent_consts, guess)
    return pytree.unflatten(solution_tree, outs)


@dataclass(frozen=True, eq=False)
class _Programs:
    """The user's functions as programs, whose constants are the leading inputs.

    Attributes:
        function: ``x -> f(x)``.
        solver: ``guess -> (root, aux)``.
        tangent: ``(root, y) -> (Df)^-1 y``.
    """

    function: ClosedJaxpr
    solver: ClosedJaxpr
    tangent: ClosedJaxpr


@partial(custom_jvp, nondiff_argnums=(0,))
def _root(
    programs: _Programs,
    function_consts: Sequence[Any],
    solver_consts: Sequence[Any],
    tangent_consts: Sequence[Any],
    guess: Sequence[Any],
) -> list[Any]:
    return eval_closed(programs.solver, *solver_consts, *guess)


@_root.defjvp
def _root_jvp(
    programs: _Programs, primals: Sequence[Any], tangents: Sequence[Any]
) -> tuple[list[Any], list[Any]]:
    function_consts, _, tangent_consts, guess = primals
    outs = _root(programs, *primals)
    root, aux = outs[: len(guess)], outs[len(guess) :]
    aux_dot = [zeros(aval_of(y).to_tangent_aval()) for y in aux]
    if not function_consts:
        return outs, [*(zeros(aval_of(x).to_tangent_aval()) for x in root), *aux_dot]
    # A linear program applied to the tangents, not a forward derivative, so that it also runs on a
    # tape.
    _, derivative = linearize(
        lambda *consts: eval_closed(programs.function, *consts, *root), *function_consts
    )
    found = eval_closed(programs.tangent, *tangent_consts, *root, *derivative(*tangents[0]))
    return outs, [*(neg(t) for t in found), *aux_dot]
