"""Rules of operations that a class describes: every one asks the object in the equation.

Its derivative is one linear equation on the tape, which holds residuals; backwards, it runs the operation's backward pass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from plugjax.experimental.hijax.mapped import VmapOf
from plugjax.experimental.hijax.primitives import (
    AxisData,
    GradAccum,
    VJPHiPrimitive,
    call_hi_primitive_p,
    flags,
    flat_results,
    overrides,
    pulled_back,
)
from plugjax.extend import pytree
from plugjax.extend.core import JaxprEqn, Primitive, Zero, as_array
from plugjax.extend.rules import (
    RuleSet,
    abstract_eval,
    batching_rule,
    dce_rule,
    expand_rule,
    jvp_rule,
    linearize_rule,
    transpose_rule,
)
from plugjax.extend.transforms import (
    Axis,
    HighType,
    UndefinedPrimal,
    is_undefined_primal,
    transpose_flat,
)

rules = RuleSet(__name__)

linear_p = Primitive("call_hi_primitive_linearized", multiple_results=True, structured=True)


@rules.define(abstract_eval, call_hi_primitive_p)
def _avals(*avals: Any, _prim: VJPHiPrimitive) -> list[Any]:
    return list(_prim.out_avals_flat)


def _expanded(prim: VJPHiPrimitive, *leaves: Any) -> list[Any]:
    return flat_results(prim, prim.expand(*pytree.unflatten(prim.in_tree, leaves)), "expand")


@rules.define(expand_rule, call_hi_primitive_p)
def _expand(*, _prim: VJPHiPrimitive) -> Callable[..., list[Any]]:
    return partial(_expanded, _prim)


@rules.define(jvp_rule, call_hi_primitive_p)
def _jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, _prim: VJPHiPrimitive
) -> tuple[list[Any], list[Any]]:
    tree = _prim.in_tree
    out, out_dot = _prim.jvp(pytree.unflatten(tree, primals), pytree.unflatten(tree, tangents))
    return flat_results(_prim, out, "jvp"), _prim.out_tree.flatten_up_to(out_dot)


@rules.define(linearize_rule, call_hi_primitive_p)
def _linearize(
    primals: Sequence[Any], tangents: Sequence[Any], *, _prim: VJPHiPrimitive
) -> tuple[list[Any], list[Any]]:
    tree = _prim.in_tree
    nonzero = [type(t) is not Zero for t in tangents]
    args, nzs_in = pytree.unflatten(tree, primals), pytree.unflatten(tree, nonzero)
    if not overrides(_prim, "vjp_fwd"):
        if overrides(_prim, "lin"):
            out, residuals, *known = _prim.lin(nzs_in, *args)
            out_dot = _prim.linearized(residuals, *pytree.unflatten(tree, tangents))
            return flat_results(_prim, out, "lin"), _prim.out_tree.flatten_up_to(out_dot)
        if overrides(_prim, "jvp"):
            return _jvp(primals, tangents, _prim=_prim)
    out, residuals, *known = _prim.vjp_fwd(nzs_in, *args)
    outs = flat_results(_prim, out, "vjp_fwd")
    has_tangent = flags(known[0], out) if known else [True] * len(outs)
    flat, residuals_tree = pytree.flatten(residuals)
    # What forward mode needs, if the operation has it.
    arrays = not any(isinstance(a, HighType) for a in _prim.in_avals_flat)
    point = list(primals) if arrays and overrides(_prim, "jvp") else []
    dots = linear_p.bind(
        *(as_array(r, "vjp_fwd") for r in flat),
        *point,
        *(t for t in tangents if type(t) is not Zero),
        _prim=_prim,
        residuals_tree=residuals_tree,
        num_primals=len(point),
        nz_in_flat=tuple(nonzero),
    )
    avals = [aval.to_tangent_aval() for aval in _prim.out_avals_flat]
    return outs, [t if h else Zero(a) for t, h, a in zip(dots, has_tangent, avals, strict=True)]


@rules.define(abstract_eval, linear_p)
def _linear_avals(*_: Any, _prim: VJPHiPrimitive, **__: Any) -> list[Any]:
    return [aval.to_tangent_aval() for aval in _prim.out_avals_flat]


def _push(
    prim: VJPHiPrimitive, skipped: int, count: int, nz_in_flat: Sequence[bool], *operands: Any
) -> list[Any]:
    """The tangents of the results, computed by forward mode."""
    if not count:
        raise TypeError(
            f"{type(prim).__name__} has reverse mode alone after linearize. Use jvp; it needs a method `jvp`."
        )
    rest = iter(operands[skipped + count :])
    tangents = [
        next(rest) if nz else Zero(aval.to_tangent_aval())
        for nz, aval in zip(nz_in_flat, prim.in_avals_flat, strict=True)
    ]
    return _jvp(operands[skipped : skipped + count], tangents, _prim=prim)[1]


@rules.define(expand_rule, linear_p)
def _linear_expand(
    *, _prim: VJPHiPrimitive, residuals_tree: Any, num_primals: int, nz_in_flat: tuple[bool, ...]
) -> Callable[..., list[Any]]:
    return partial(_push, _prim, residuals_tree.num_leaves, num_primals, nz_in_flat)


@rules.define(transpose_rule, linear_p)
def _linear_transpose(
    cotangents: Sequence[Any],
    *operands: Any,
    _prim: VJPHiPrimitive,
    residuals_tree: Any,
    num_primals: int,
    nz_in_flat: tuple[bool, ...],
) -> list[Any]:
    count = residuals_tree.num_leaves
    residuals = pytree.unflatten(residuals_tree, operands[:count])
    outgrad = pytree.unflatten(_prim.out_tree, cotangents)
    found = pulled_back(_prim, residuals, outgrad, nz_in_flat)
    bars = [bar for bar, nz in zip(found, nz_in_flat, strict=True) if nz]
    return [*(None,) * (count + num_primals), *bars]


@rules.define(transpose_rule, call_hi_primitive_p)
def _transpose(cotangents: Sequence[Any], *operands: Any, _prim: VJPHiPrimitive) -> list[Any]:
    if not overrides(_prim, "transpose"):
        return transpose_flat(partial(_expanded, _prim), operands, cotangents)
    marked = [GradAccum(x.aval) if is_undefined_primal(x) else x for x in operands]
    _prim.transpose(
        pytree.unflatten(_prim.out_tree, cotangents), *pytree.unflatten(_prim.in_tree, marked)
    )
    return [
        a.freeze() if isinstance(x, UndefinedPrimal) else None
        for a, x in zip(marked, operands, strict=True)
    ]


@rules.define(batching_rule, call_hi_primitive_p)
def _batching(
    axis: Axis, args: Sequence[Any], dims: Sequence[Any], *, _prim: VJPHiPrimitive
) -> tuple[list[Any], list[Any]]:
    tree, data = _prim.in_tree, AxisData(axis.name, axis.size)
    given, places = pytree.unflatten(tree, args), pytree.unflatten(tree, dims)
    if overrides(_prim, "batch"):
        out, out_dims = _prim.batch(data, given, places)
    else:
        out_dims = _prim.batch_dim_rule(data, places)
        out = VmapOf(_prim, data, places, out_dims)(*given)
    return flat_results(_prim, out, "batch"), _prim.out_tree.flatten_up_to(out_dims)


@rules.define(dce_rule, call_hi_primitive_p)
def _dce(used: Sequence[bool], eqn: JaxprEqn) -> tuple[Sequence[bool], JaxprEqn | None]:
    prim: VJPHiPrimitive = eqn.params["_prim"]
    needed, produced, found = prim.dce(pytree.unflatten(prim.out_tree, used))
    if found is None:
        return [False] * len(eqn.invars), None
    used_in, made = flags(needed, prim.in_avals), flags(produced, prim.out_aval)
    invars = [v for v, n in zip(eqn.invars, used_in, strict=True) if n]
    outvars = [v for v, m in zip(eqn.outvars, made, strict=True) if m]
    return used_in, eqn.replace(invars=invars, outvars=outvars, params={"_prim": found})
