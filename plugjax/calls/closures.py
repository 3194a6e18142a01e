"""Functions that close over values under differentiation: ``closure_convert`` and ``custom_gradient``.

A custom derivative sees explicit arguments only. Tracing a function shows what it closes over: the constants of its program
that are tracers. Closure conversion makes those arguments. A custom gradient's pullback closes over values of the forward
pass: traced, its constants are the residuals.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from plugjax.calls.custom_vjp import custom_vjp
from plugjax.calls.python_calls import name_of
from plugjax.core import dtypes, pytree
from plugjax.core.array import aval_of
from plugjax.core.jaxpr import ClosedJaxpr, Jaxpr, eval_closed, eval_jaxpr
from plugjax.core.primitive import Tracer
from plugjax.transforms.flat_calls import Structure, flat_call
from plugjax.transforms.staging import stage
from plugjax.transforms.tree_differences import first_difference


def closure_convert(
    fun: Callable[..., Any], *example_args: Any
) -> tuple[Callable[..., Any], list[Any]]:
    """Make the values that a function closes over, and that may be under differentiation, explicit arguments.

    Args:
        fun: a pure function.
        *example_args: pytrees of arrays with the shapes and dtypes that it will be called with.

    Returns:
        A function of the arguments of ``fun`` followed by the hoisted values, and a list of these values.

    Raises:
        TypeError: the converted function is called with arguments of another structure.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> def outer(a):
        ...     inner, hoisted = plugjax.closure_convert(lambda x: a * x, 1.0)
        ...     return inner(2.0, *hoisted), len(hoisted)
        >>> plugjax.grad(outer, has_aux=True)(3.0)
        (Array(2., dtype=float32, weak_type=True), 1)
    """
    leaves, in_tree = pytree.flatten(example_args)
    out = Structure()
    program = stage(
        flat_call(fun, in_tree, out, "closure_convert"), [aval_of(x) for x in leaves], name_of(fun)
    )
    hoisted = [_differentiable(x) for x in program.consts]
    count = sum(hoisted)

    def converted(*args: Any) -> Any:
        given = args[: len(args) - count]
        values = iter(args[len(args) - count :])
        found, tree = pytree.flatten(given)
        if tree != in_tree:
            raise TypeError(
                f"closure_convert: the closure needs arguments like the examples: {first_difference(in_tree, tree)}."
            )
        consts = [next(values) if h else x for x, h in zip(program.consts, hoisted, strict=True)]
        return pytree.unflatten(out.tree, eval_jaxpr(program.jaxpr, consts, *found))

    return converted, [x for x, h in zip(program.consts, hoisted, strict=True) if h]


def _differentiable(x: Any) -> bool:
    return isinstance(x, Tracer) and x.aval.to_tangent_aval().dtype != dtypes.float0


class _Pullback:
    """A traced pullback: its constants are leaves, its program and structures are not."""

    def __init__(self, jaxpr: Jaxpr, out_tree: Any, consts: list[Any]) -> None:
        self.jaxpr = jaxpr
        self.out_tree = out_tree
        self.consts = consts


pytree.register(
    _Pullback,
    lambda p: (p.consts, (p.jaxpr, p.out_tree)),
    lambda fixed, consts: _Pullback(fixed[0], fixed[1], list(consts)),
)


def custom_gradient(fun: Callable[..., Any]) -> Callable[..., Any]:
    """A function that gives its value and its pullback, as one whose derivative the pullback is.

    Args:
        fun: ``args -> (out, pullback)`` with ``pullback(out_bar) -> cotangents of args``, a tuple if there are several.

    Returns:
        ``args -> out``, differentiable in reverse mode.

    Example:
        >>> import plugjax
        >>> f = plugjax.custom_gradient(lambda x: (x ** 2, lambda g: (g * x,)))
        >>> plugjax.grad(f)(3.0)
        Array(3., dtype=float32, weak_type=True)
    """

    def value(*args: Any, **kwargs: Any) -> Any:
        return fun(*args, **kwargs)[0]

    value.__name__ = name_of(fun)
    value.__doc__ = getattr(fun, "__doc__", None)
    value.__wrapped__ = fun  # type: ignore[attr-defined]  # for its signature

    def fwd(*args: Any, **kwargs: Any) -> tuple[Any, _Pullback]:
        out, pullback = fun(*args, **kwargs)
        leaves, tree = pytree.flatten((out,))
        structure = Structure()
        program = stage(
            flat_call(pullback, tree, structure, "custom_gradient"),
            [aval_of(y).to_tangent_aval() for y in leaves],
            name_of(pullback),
        )
        return out, _Pullback(program.jaxpr, structure.tree, list(program.consts))

    def bwd(residuals: _Pullback, bar: Any) -> Any:
        program = ClosedJaxpr(residuals.jaxpr, residuals.consts)
        bars = pytree.unflatten(residuals.out_tree, eval_closed(program, *pytree.leaves((bar,))))
        return (bars,) if residuals.out_tree.is_leaf() else bars

    wrapped = custom_vjp(value)
    wrapped.defvjp(fwd, bwd)
    return wrapped
