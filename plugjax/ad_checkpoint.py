"""Rematerialization: the names of ``jax.ad_checkpoint``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from plugjax import checkpoint_policies
from plugjax.calls.checkpoint import checkpoint
from plugjax.calls.remat_policy import Offloadable, Recompute, Saveable
from plugjax.core import pytree
from plugjax.core.array import as_array
from plugjax.core.jaxpr import ClosedJaxpr, Literal
from plugjax.execution.jit.api import make_jaxpr
from plugjax.lax.barrier import name_p
from plugjax.transforms.argument_names import argument_names
from plugjax.transforms.expansion import call_words
from plugjax.transforms.grad import vjp
from plugjax.transforms.namespaces import show_only


def checkpoint_name(x: Any, name: str) -> Any:
    """The pytree unchanged, its leaves named for policies of ``plugjax.checkpoint``.

    Example:
        >>> from plugjax.ad_checkpoint import checkpoint_name
        >>> checkpoint_name(1.0, "loss")
        Array(1., dtype=float32, weak_type=True)
    """

    def named(leaf: Any) -> Any:
        value = leaf if hasattr(leaf, "aval") else as_array(leaf, "checkpoint_name")
        return name_p.bind(value, name=name)

    return pytree.tree_map(named, x)


def saved_residuals(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> list[tuple[Any, str]]:
    """The residuals that reverse mode saves from a function's forward pass.

    Returns:
        The aval of each residual, and a description of its origin.

    Example:
        >>> import plugjax.numpy as jnp
        >>> saved_residuals(lambda x: jnp.exp(x) * 2, 1.0)[0][1].split(" at ")[0]
        'output of exp'
    """
    leaves, in_tree = pytree.flatten((args, kwargs))

    def flat(*xs: Any) -> Any:
        def call(*ys: Any) -> Any:
            given, named = pytree.unflatten(in_tree, ys)
            return fun(*given, **named)

        return vjp(call, *xs)[1]

    program = make_jaxpr(flat)(*leaves).jaxpr
    names = dict(zip(program.invars, argument_names(fun, in_tree), strict=True))
    made = {v: eqn for eqn in program.eqns for v in eqn.outvars}
    return [(v.aval, _where_from(v, names, made)) for v in dict.fromkeys(program.outvars)]


def _where_from(atom: Any, names: dict[Any, str], made: dict[Any, Any]) -> str:
    if isinstance(atom, Literal):
        return "from a literal"
    if atom in names:
        return f"from the argument {names[atom]}"
    eqn = made.get(atom)
    if eqn is None:
        return "from a constant"
    named = _name_eqn(atom, eqn)
    if named is not None:
        return f"named '{named.params['name']}' at {named.source}"
    return f"output of {call_words(eqn)} at {eqn.source}"


def _name_eqn(atom: Any, eqn: Any) -> Any:
    """The equation that names a value, which may stand in the program of a call; ``None`` if the value has no name."""
    while eqn is not None and eqn.primitive is not name_p:
        program = eqn.params.get("jaxpr")
        if not isinstance(program, ClosedJaxpr) or len(program.jaxpr.outvars) != len(eqn.outvars):
            return None
        atom = program.jaxpr.outvars[eqn.outvars.index(atom)]
        eqn = next((e for e in program.eqns if atom in e.outvars), None)
    return eqn


def print_saved_residuals(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    """Print the result of :func:`saved_residuals`, one line for each residual.

    Example:
        >>> print_saved_residuals(lambda x: x * x, 1.0)
        float32[] from the argument x
    """
    for aval, words in saved_residuals(fun, *args, **kwargs):
        print(f"{aval.str_short()} {words}")  # noqa: T201  # what it is for


__all__ = [
    "Offloadable", "Recompute", "Saveable", "checkpoint", "checkpoint_name", "checkpoint_policies", "print_saved_residuals", "saved_residuals",
]  # fmt: skip

show_only(globals(), __all__)
