"""``minimize``: one function over the methods of this package."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from plugjax.extend.core import Array
from plugjax.numpy.creation import asarray
from plugjax.numpy.promotion import ArrayLike, as_operand
from plugjax.scipy.optimize.bfgs import minimize_bfgs
from plugjax.scipy.optimize.lbfgs import minimize_lbfgs


class OptimizeResults(NamedTuple):
    """Result of a minimization. It is a pytree.

    Attributes:
        x: the last point.
        success: whether the gradient became small enough.
        status: 0 for success, else the reason of the end.
        fun: value at ``x``.
        jac: gradient at ``x``.
        hess_inv: estimate of the inverse Hessian, if the method has one.
        nfev: evaluations of the function.
        njev: evaluations of the gradient.
        nit: iterations.
    """

    x: Array
    success: bool | Array
    status: int | Array
    fun: Array
    jac: Array
    hess_inv: Array | None
    nfev: int | Array
    njev: int | Array
    nit: int | Array


def minimize(
    fun: Callable[..., Any],
    x0: ArrayLike,
    args: tuple[Any, ...] = (),
    *,
    method: str,
    tol: float | None = None,
    options: Mapping[str, Any] | None = None,
) -> OptimizeResults:
    """Minimize a function of a vector. It works under ``jit`` and ``vmap``; reverse mode cannot pass through its loops.

    Args:
        fun: ``(x, *args) -> scalar``, differentiable.
        x0: ``[n]``, floating: the first point.
        args: further arguments of ``fun``.
        method: ``"BFGS"``, or ``"l-bfgs-experimental-do-not-rely-on-this"``.
        tol: bound of the gradient's norm, unless given in the options.
        options: of the method. BFGS: ``maxiter``, ``norm`` (order of the gradient's norm), ``gtol``,
            ``line_search_maxiter``.

    Raises:
        TypeError: ``args`` is not a tuple, or an unknown option.
        ValueError: an unknown method, or ``x0`` is not a vector.

    Differs from JAX:
        ``tol`` has an effect. A line search continues where JAX gives up, and if it fails, ``x``, ``fun`` and ``jac``
        are of one point.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.optimize import minimize
        >>> found = minimize(lambda x: ((x - 2.0) ** 2).sum(), jnp.zeros(2), method="BFGS")
        >>> found.x, bool(found.success)
        (Array([2., 2.], dtype=float32), True)
    """
    if not isinstance(args, tuple):
        raise TypeError(f"minimize: args is a tuple, got {args!r}.")
    start = as_operand("minimize", x0)
    if start.ndim != 1:
        raise ValueError(f"minimize: x0 is a vector, got shape {start.shape}.")
    if not isinstance(options, (Mapping, type(None))):
        raise TypeError(f"minimize: options is a dict, got {options!r}.")
    settings: dict[str, Any] = {} if tol is None else {"gtol": asarray(tol)}
    settings |= options or {}

    def target(x: Any) -> Any:
        return fun(x, *args)

    name = method.lower()
    if name == "bfgs":
        bfgs, status = minimize_bfgs(target, start, **settings)
        return OptimizeResults(
            bfgs.x,
            bfgs.converged,
            status,
            bfgs.value,
            bfgs.gradient,
            bfgs.inverse,
            bfgs.evaluations,
            bfgs.evaluations,
            bfgs.iterations,
        )
    if name == "l-bfgs-experimental-do-not-rely-on-this":
        last = minimize_lbfgs(target, start, **settings)
        return OptimizeResults(
            last.x,
            last.converged,
            last.status,
            last.value,
            last.gradient,
            None,
            last.evaluations,
            last.evaluations,
            last.iterations,
        )
    raise ValueError(f"minimize has no method {method}. Use 'BFGS'.")
