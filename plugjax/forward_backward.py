"""Reverse mode as two functions: ``fwd`` returns the value and the pullback, ``bwd`` applies the pullback.

The pullback is a container of residuals, so each function can be compiled once, and the two may run at different times
or places.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from plugjax.execution.jit.api import jit
from plugjax.transforms.callables import check_callable
from plugjax.transforms.grad import vjp


def fwd_and_bwd(
    fun: Callable[..., Any],
    argnums: int | Sequence[int],
    has_aux: bool = False,
    jitted: bool = True,
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The forward and the backward pass of a function.

    Args:
        fun: the function.
        argnums: positional argument, or arguments, to differentiate with respect to.
        has_aux: whether ``fun`` returns a pair, of which only the first element is differentiated.
        jitted: whether both passes are compiled.

    Returns:
        ``fwd(*args) -> (out, residuals)``, with ``aux`` as third if ``has_aux``, and ``bwd(residuals, cotangent of out)
        -> cotangents``: a tuple if ``argnums`` is a sequence.

    Raises:
        TypeError: ``fun`` is not callable.

    Example:
        >>> import plugjax
        >>> fwd, bwd = plugjax.fwd_and_bwd(lambda x, y: x * y, argnums=0)
        >>> out, residuals = fwd(2.0, 3.0)
        >>> bwd(residuals, 1.0)
        Array(3., dtype=float32, weak_type=True)
    """
    check_callable("fwd_and_bwd", fun)
    single = isinstance(argnums, int)
    nums = (argnums,) if isinstance(argnums, int) else tuple(argnums)

    def fwd(*args: Any, **kwargs: Any) -> Any:
        places = [n % len(args) for n in nums]

        def chosen(*values: Any) -> Any:
            full = list(args)
            for place, x in zip(places, values, strict=True):
                full[place] = x
            return fun(*full, **kwargs)

        return vjp(chosen, *(args[place] for place in places), has_aux=has_aux)

    def bwd(residuals: Callable[[Any], Any], cotangent: Any) -> Any:
        bars = residuals(cotangent)
        return bars[0] if single else bars

    return (jit(fwd), jit(bwd)) if jitted else (fwd, bwd)
