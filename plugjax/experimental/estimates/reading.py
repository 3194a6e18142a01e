"""Estimates of a function: its program is read equation by equation, each with the rule of its primitive."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import Any, NoReturn

from plugjax.experimental.estimates.results import (
    RooflineResult,
    RooflineRule,
    RooflineRuleContext,
    RooflineShape,
    ValidRooflineDtype,
    roofline_rule,
)
from plugjax.extend import pytree, registry
from plugjax.extend.calls import define
from plugjax.extend.core import (
    ClosedJaxpr,
    Jaxpr,
    JaxprEqn,
    Literal,
    Primitive,
    ShapeDtypeStruct,
    Var,
)
from plugjax.extend.dtypes import INT32
from plugjax.extend.execution import make_jaxpr
from plugjax.extend.rules import expand_rule
from plugjax.extend.source_info_util import NameStack
from plugjax.extend.transforms import Kept, dce, expanded, vjp
from plugjax.numpy import bfloat16

ShapeDtypeStructTree = Any
Specs = Any

_logger = logging.getLogger(__name__)


def roofline(
    f: Callable[..., Any],
    mesh: Any = None,
    in_specs: Specs | None = None,
    out_specs: Specs | None = None,
    *,
    pin_lhs_in_vmem: bool = False,
    pin_rhs_in_vmem: bool = False,
    vjp: bool = False,
    print_jaxpr: bool = False,
) -> Callable[..., tuple[ShapeDtypeStructTree, RooflineResult]]:
    """A function that gives the shapes of the results of ``f``, and an estimate of its work; it computes nothing.

    Args:
        f: a function of pytrees of arrays, or of ``ShapeDtypeStruct``.
        mesh: ``None``: there is one device.
        in_specs: ``None``, likewise.
        out_specs: ``None``, likewise.
        pin_lhs_in_vmem: whether left operands of products are in fast memory, and their results.
        pin_rhs_in_vmem: whether right operands are.
        vjp: whether the function is evaluated with its derivative by all arguments.
        print_jaxpr: whether to print the program.

    Raises:
        NotImplementedError: a mesh is given.

    Differs from JAX:
        There is one device, and so no traffic between devices.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> from plugjax.experimental.roofline import roofline
        >>> x = plugjax.ShapeDtypeStruct((2, 3), "float32")
        >>> shapes, result = roofline(lambda x: x @ x.T)(x)
        >>> result.flops, result.hbm_bytes
        (24, 64)
    """
    if not (mesh is None and in_specs is None and out_specs is None):
        _one_device()

    @functools.wraps(f)
    def wrapped(*args: Any) -> tuple[ShapeDtypeStructTree, RooflineResult]:
        function = _with_vjp(f) if vjp else f
        program, shapes = make_jaxpr(function, return_shape=True)(*args)
        program = dce(program)
        if print_jaxpr:
            print(program)  # noqa: T201  # what the caller asked for
        estimate = _Estimate(pin_lhs_in_vmem, pin_rhs_in_vmem)
        return shapes, estimate(program.jaxpr, NameStack(("roofline",)))

    return wrapped


def _one_device() -> NoReturn:
    raise NotImplementedError(
        "roofline: a mesh is for several devices, and a program runs on one. Leave mesh, in_specs and out_specs out."
    )


def _with_vjp(f: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(f)
    def wrapped(*args: Any) -> Any:
        primals, pull = vjp(f, *args)
        return pull(pytree.tree_map(bfloat16, primals))

    return wrapped


def roofline_and_grad(
    f: Callable[..., Any],
    mesh: Any,
    in_specs: Specs,
    out_specs: Specs,
    *,
    pin_lhs_in_vmem: bool = False,
    pin_rhs_in_vmem: bool = False,
    print_jaxpr: bool = False,
) -> Callable[..., tuple[ShapeDtypeStructTree, RooflineResult, RooflineResult]]:
    """A function that gives the shapes of the results of ``f``, its estimate, and that with the derivative, in ``bfloat16``.

    Args:
        f: a function of pytrees of arrays.
        mesh: ``None``: there is one device.
        in_specs: ``None``, likewise.
        out_specs: ``None``, likewise.
        pin_lhs_in_vmem: as in :func:`roofline`.
        pin_rhs_in_vmem: as in :func:`roofline`.
        print_jaxpr: as in :func:`roofline`.

    Raises:
        NotImplementedError: a mesh is given.

    Example:
        >>> import plugjax
        >>> from plugjax.experimental.roofline import roofline_and_grad
        >>> x = plugjax.ShapeDtypeStruct((2, 2), "bfloat16")
        >>> _, forward, both = roofline_and_grad(lambda x: x @ x, None, None, None)(x)
        >>> both.flops / forward.flops
        3.0
    """
    options = {
        "pin_lhs_in_vmem": pin_lhs_in_vmem,
        "pin_rhs_in_vmem": pin_rhs_in_vmem,
        "print_jaxpr": print_jaxpr,
    }
    forward = roofline(f, mesh, in_specs, out_specs, **options)
    derivative = roofline(f, mesh, in_specs, out_specs, vjp=True, **options)

    def narrow(x: Any) -> ShapeDtypeStruct:
        return ShapeDtypeStruct(x.shape, INT32 if x.dtype == INT32 else bfloat16)

    @functools.wraps(f)
    def wrapped(*args: Any) -> tuple[ShapeDtypeStructTree, RooflineResult, RooflineResult]:
        shapes, found = forward(*args)
        return shapes, found, derivative(*pytree.tree_map(narrow, args))[1]

    return wrapped


class _Estimate:
    """Reads programs."""

    def __init__(self, pin_lhs_in_vmem: bool, pin_rhs_in_vmem: bool) -> None:
        self.pins = {"pin_lhs_in_vmem": pin_lhs_in_vmem, "pin_rhs_in_vmem": pin_rhs_in_vmem}
        self.rules = registry.table(roofline_rule)
        self.expansions = registry.table(expand_rule)

    def __call__(self, jaxpr: Jaxpr, scopes: NameStack) -> RooflineResult:
        """The estimate of a program."""
        result = RooflineResult.zeros()
        live = {v: _bytes(v) for v in (*jaxpr.constvars, *jaxpr.invars)}
        held = peak = sum(live.values())
        last_use: dict[Any, Any] = {
            v: eqn for eqn in jaxpr.eqns for v in eqn.invars if isinstance(v, Var)
        }
        last_use.update({v: None for v in jaxpr.outvars if isinstance(v, Var)})
        for eqn in jaxpr.eqns:
            result += self._equation(eqn, scopes)
            made = {v: _bytes(v) for v in eqn.outvars}
            live.update(made)
            held += sum(made.values())
            # As in JAX an operand that is read twice is counted twice, and results that nothing reads stay.
            read = [v for v in eqn.invars if isinstance(v, Var) and last_use[v] is eqn]
            held -= sum(live[v] for v in read)
            peak = max(peak, held)
        return result + RooflineResult(peak_hbm_bytes=peak)

    def _equation(self, eqn: JaxprEqn, scopes: NameStack) -> RooflineResult:
        inner = self._inner(eqn)
        if inner is not None:
            return self(inner.jaxpr, scopes)
        rule = self.rules.find(eqn.primitive)
        if rule is None:
            _logger.warning(
                "No roofline rule for %s, skipping: %s. Give one by register_roofline.",
                eqn.primitive.name,
                eqn.source,
            )
            return RooflineResult.zeros()
        context = RooflineRuleContext(
            name_stack=scopes + eqn.source_info.name_stack,
            primitive=eqn.primitive,
            avals_in=[v.aval for v in eqn.invars],
            avals_out=[v.aval for v in eqn.outvars],
            jaxpr_eqn_ctx=eqn.ctx,
            mesh=None,
            **self.pins,
        )
        shapes = [RooflineShape.from_aval(v.aval) for v in eqn.invars]
        return rule(context, *shapes, **eqn.params)

    def _inner(self, eqn: JaxprEqn) -> ClosedJaxpr | None:
        """The program that an equation stands for; of a loop with one program that of a step."""
        for name in ("jaxpr", "call_jaxpr"):
            if isinstance(eqn.params.get(name), ClosedJaxpr):
                program: ClosedJaxpr = eqn.params[name]
                return program
        expand = self.expansions.get(eqn.primitive)
        if expand is None:
            return None
        found = expand(**eqn.params)
        return None if isinstance(found, Kept) else expanded(found, eqn)


def _bytes(atom: Var | Literal) -> int:
    return RooflineShape.from_aval(atom.aval).bytes


def register_roofline(prim: Primitive) -> Callable[[RooflineRule], RooflineRule]:
    """A decorator: the function estimates equations of a primitive.

    Args:
        prim: the primitive. The function takes a :class:`RooflineRuleContext`, a :class:`RooflineShape` for each operand, and the
            parameters.

    Raises:
        RuleConflictError: a plugin has a rule of the primitive; raised by the decorator.

    Differs from JAX:
        A rule that a plugin has is replaced by a plugin (``RuleSet.define(..., replace=True)``).

    Example:
        >>> from plugjax.experimental.roofline import RooflineResult, register_roofline, roofline
        >>> from plugjax.extend.core import Primitive
        >>> twice_p = Primitive("twice")
        >>> _ = twice_p.def_abstract_eval(lambda x: x)
        >>> @register_roofline(twice_p)
        ... def twice(ctx, x):
        ...     return RooflineResult(unfused_flops=x.size)
        >>> roofline(twice_p.bind)(3.0)[1].unfused_flops
        1
    """

    def register(rule: RooflineRule) -> RooflineRule:
        define(roofline_rule, prim, rule)
        return rule

    return register


def register_standard_roofline(prim: Primitive) -> None:
    """Count nothing for equations of a primitive.

    Raises:
        RuleConflictError: a plugin has a rule of the primitive.

    Example:
        >>> from plugjax.experimental.roofline import register_standard_roofline, roofline
        >>> from plugjax.extend.core import Primitive
        >>> free_p = Primitive("free")
        >>> _ = free_p.def_abstract_eval(lambda x: x)
        >>> register_standard_roofline(free_p)
        >>> roofline(free_p.bind)(3.0)[1].unfused_flops
        0
    """
    define(roofline_rule, prim, lambda ctx, *shapes, **params: RooflineResult.zeros())


__all__ = [
    "RooflineResult",
    "RooflineRuleContext",
    "RooflineShape",
    "ShapeDtypeStructTree",
    "Specs",
    "ValidRooflineDtype",
    "register_roofline",
    "register_standard_roofline",
    "roofline",
    "roofline_and_grad",
]
