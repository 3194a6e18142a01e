"""Programs whose types say how values are spread, as programs that ask the compiler for it.

Backends see no spread in a type. Where a type is not that of an operand, a request takes its place (``sharding_constraint``).
"""

from __future__ import annotations

from typing import Any

from plugjax.core.array import Array
from plugjax.core.aval import ShapedArray
from plugjax.core.jaxpr import (
    ClosedJaxpr,
    Jaxpr,
    JaxprEqn,
    Literal,
    Var,
    memoise,
    new_eqn,
    programs_in,
)
from plugjax.core.vocabulary import reshard_p, sharding_constraint_p
from plugjax.meshes.mesh import AbstractMesh, AxisType, Mesh
from plugjax.meshes.named import NamedSharding
from plugjax.meshes.spec import UNCONSTRAINED, PartitionSpec


def without_spreads(jaxpr: ClosedJaxpr) -> ClosedJaxpr:
    """The program with requests to the compiler in place of spreads in types."""
    if not ShapedArray.spreading:
        return jaxpr
    found: ClosedJaxpr = memoise(jaxpr, "without spreads", lambda: _rewritten(jaxpr))
    return found


def _mentions_spreads(jaxpr: Jaxpr) -> bool:
    return (
        any(_spread(v) is not None for v in (*jaxpr.constvars, *jaxpr.invars))
        or any(_spread(v) is not None for eqn in jaxpr.eqns for v in eqn.outvars)
        or any(eqn.primitive is reshard_p for eqn in jaxpr.eqns)
        or any(_is_explicit(value) for eqn in jaxpr.eqns for value in eqn.params.values())
        or any(_mentions_spreads(p.jaxpr) for eqn in jaxpr.eqns for p in programs_in(eqn.params))
    )


def _is_explicit(value: Any) -> bool:
    mesh = value.mesh if isinstance(value, NamedSharding) else value
    return isinstance(mesh, (Mesh, AbstractMesh)) and AxisType.Explicit in mesh.axis_types


def _spread(atom: Any) -> NamedSharding | None:
    return getattr(atom.aval, "spread", None)


def _rewritten(closed: ClosedJaxpr) -> ClosedJaxpr:
    jaxpr = closed.jaxpr
    if not _mentions_spreads(jaxpr):
        return closed
    plain: dict[Var, Any] = {}

    def read(atom: Any) -> Any:
        return Literal(atom.val, _plain(atom.aval)) if isinstance(atom, Literal) else plain[atom]

    def bind(var: Var) -> Var:
        made = plain[var] = type(var)(_plain(var.aval))
        return made

    constvars = [bind(v) for v in jaxpr.constvars]
    invars = [bind(v) for v in jaxpr.invars]
    eqns: list[JaxprEqn] = []
    for eqn in jaxpr.eqns:
        operands = [read(v) for v in eqn.invars]
        if eqn.primitive is reshard_p:
            (x,), (out,) = operands, eqn.outvars
            eqns.append(_request(x, bind(out), eqn.params["dst_sharding"], eqn))
            continue
        params = {key: _without(value) for key, value in eqn.params.items()}
        results = [bind(v) for v in eqn.outvars]
        eqns.append(eqn.replace(invars=operands, outvars=results, params=params))
        held = {(_spread(v), v.aval.shape) for v in eqn.invars if not isinstance(v, Literal)}
        for var, result in zip(eqn.outvars, results, strict=True):
            spread = _spread(var)
            if spread is not None and (spread, var.aval.shape) not in held:
                plain[var] = Var(result.aval)
                eqns.append(_request(result, plain[var], spread, eqn))
    outvars = [read(v) for v in jaxpr.outvars]
    program = Jaxpr(constvars, invars, outvars, eqns, jaxpr.debug_name)
    return ClosedJaxpr(program, [_plain_value(value) for value in closed.consts])


def _plain(aval: Any) -> Any:
    return aval if getattr(aval, "spread", None) is None else aval.update(spread=None)


def _plain_value(value: Any) -> Any:
    if type(value) is Array and value.aval.spread is not None:
        return Array(_plain(value.aval), value._placement, value._host, value._buffer)
    return value


def _without(value: Any) -> Any:
    if isinstance(value, ClosedJaxpr):
        return without_spreads(value)
    if type(value) is tuple:
        return tuple(map(_without, value))
    # Programs without spreads in types are over meshes without explicit axes.
    if isinstance(value, (Mesh, AbstractMesh)):
        return _automatic(value)
    if isinstance(value, NamedSharding) and AxisType.Explicit in value.mesh.axis_types:
        return value.update(mesh=_automatic(value.mesh))
    return value


def _automatic(mesh: Any) -> Any:
    if AxisType.Explicit not in mesh.axis_types:
        return mesh
    kinds = [AxisType.Auto if t is AxisType.Explicit else t for t in mesh.axis_types]
    return mesh.update(axis_types=tuple(kinds))


def _request(x: Any, out: Var, sharding: NamedSharding, eqn: JaxprEqn) -> JaxprEqn:
    params = {"sharding": with_open_axes(sharding, out.aval.ndim)}
    return new_eqn([x], [out], sharding_constraint_p, params, eqn.source)


def with_open_axes(sharding: NamedSharding, ndim: int) -> NamedSharding:
    """A sharding as a request: axes of an array that it does not cut are left to the compiler if axes of the mesh are its own."""
    entries = [*sharding.spec, *[None] * (ndim - len(sharding.spec))]
    if AxisType.Auto in sharding.mesh.axis_types:
        entries = [UNCONSTRAINED if entry is None else entry for entry in entries]
    return NamedSharding(_automatic(sharding.mesh), PartitionSpec(*entries))
