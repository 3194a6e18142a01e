"""Values of types that a program defines: each consists of arrays, and has derivatives of a type of its own choice.

Transformations meet such a value, and tracers of its type, as they meet arrays: operations on it are equations, with rules that a
program gives. What is evaluated or compiled is a program of the arrays alone: the operations are expanded, and calls and loops
pass the arrays on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from plugjax.core import registry
from plugjax.core.array import aval_of, value_types
from plugjax.core.aval import AbstractValue, ShapedArray
from plugjax.core.jaxpr import ClosedJaxpr, eval_closed, memoise, programs_in
from plugjax.core.primitive import Primitive
from plugjax.core.rules import RuleKind, abstract_eval
from plugjax.core.vocabulary import add_any_p
from plugjax.meshes.types import with_axis, without_axis
from plugjax.transforms.expansion import Kept, computed, expand_rule
from plugjax.transforms.staging import StagingTrace, stage


class MappingSpec:
    """How values of a type are spread over the instances of ``vmap``: stands in ``in_axes`` and ``out_axes``, and in rules."""


class HiPspec:
    """How values of a type are spread over the devices of a mesh: stands in ``in_specs`` and ``out_specs`` of ``shard_map``."""

    def to_lo(self) -> tuple[Any, ...]:
        """The partition specs of the arrays of a value."""
        raise NotImplementedError(f"{type(self).__name__} must implement `to_lo`")

    def to_tangent_spec(self) -> Any:
        """How tangents of such values are spread."""
        raise NotImplementedError(f"{type(self).__name__} must implement `to_tangent_spec`")

    def to_ct_spec(self) -> Any:
        """How cotangents of such values are spread."""
        raise NotImplementedError(f"{type(self).__name__} must implement `to_ct_spec`")


class HighType(AbstractValue):
    """The type of a value that consists of arrays. Equal types have equal hashes."""

    weak_type = False

    @property
    def dtype(self) -> Any:
        """What needs an array asks for it.

        Raises:
            TypeError: always.
        """
        raise TypeError(
            f"an array is needed, got a value of type {self}. Give operations on such values by a class: "
            "plugjax.experimental.hijax.VJPHiPrimitive."
        )

    def lo_ty(self) -> list[Any]:
        """The types of the arrays."""
        raise NotImplementedError(f"{type(self).__name__} must implement `lo_ty`")

    def lower_val(self, hi_val: Any) -> list[Any]:
        """The arrays of a value."""
        raise NotImplementedError(f"{type(self).__name__} must implement `lower_val`")

    def raise_val(self, *lo_vals: Any) -> Any:
        """The value of arrays."""
        raise NotImplementedError(f"{type(self).__name__} must implement `raise_val`")

    def to_tangent_aval(self) -> Any:
        """The type of tangents."""
        raise NotImplementedError(f"{type(self).__name__} must implement `to_tangent_aval`")

    def dec_rank(self, size: int | None, spec: Any) -> Any:
        """The type of one instance, given that of all."""
        raise NotImplementedError(f"{type(self).__name__} must implement `dec_rank`")

    def inc_rank(self, size: int | None, spec: Any) -> Any:
        """The type of all instances, given that of one."""
        raise NotImplementedError(f"{type(self).__name__} must implement `inc_rank`")

    def leading_axis_spec(self) -> Any:
        """How values are spread along the steps of a loop."""
        raise NotImplementedError(f"{type(self).__name__} must implement `leading_axis_spec`")

    def shard(self, mesh: Any, manual_axes: frozenset[Any], check_vma: bool, spec: Any) -> Any:
        """The type of the part of one device, given that of the whole."""
        raise NotImplementedError(f"{type(self).__name__} must implement `shard`")

    def unshard(self, mesh: Any, check_vma: bool, spec: Any) -> Any:
        """The type of the whole, given that of the part of one device."""
        raise NotImplementedError(f"{type(self).__name__} must implement `unshard`")

    def nospec(self, mesh: Any, check_vma: bool, all_names: tuple[Any, ...]) -> Any:
        """How parts are joined that differ between all devices: residuals of a function that is differentiated."""
        raise NotImplementedError(f"{type(self).__name__} must implement `nospec`")

    def vspace_zero(self) -> Any:
        """The zero, if it is a type of tangents."""
        raise NotImplementedError(f"{type(self).__name__} must implement `vspace_zero`")

    def vspace_add(self, x: Any, y: Any) -> Any:
        """The sum of two values, if it is a type of tangents."""
        raise NotImplementedError(f"{type(self).__name__} must implement `vspace_add`")

    def str_short(self, short_dtypes: bool = False) -> str:
        """As programs print it."""
        return repr(self)


def stacked_aval(aval: Any, length: int) -> Any:
    """The type of the values of all steps of a loop, given that of one."""
    if isinstance(aval, HighType):
        return aval.inc_rank(length, aval.leading_axis_spec())
    if isinstance(aval, ShapedArray):
        return with_axis(aval, 0, length)
    return aval.update(shape=(length, *aval.shape))


def step_aval(aval: Any, length: int) -> Any:
    """The type of the value of one step of a loop, given that of all."""
    if isinstance(aval, HighType):
        return aval.dec_rank(length, aval.leading_axis_spec())
    if isinstance(aval, ShapedArray):
        return without_axis(aval, 0)
    return aval.update(shape=aval.shape[1:])


lowered_rule: RuleKind[Callable[..., Sequence[Any]]] = RuleKind(
    "lowered",
    "(in_avals, arrays, **params) -> arrays of the results: a call or loop of values that consist of arrays, on these",
)


def is_high(x: Any) -> bool:
    """Whether a value is one of those, known and no tracer."""
    return type(x) in value_types


def has_high(jaxpr: ClosedJaxpr) -> bool:
    """Whether a program, or one within it, has such values."""
    found: bool = memoise(jaxpr, "high", lambda: (_has_high(jaxpr),))[0]
    return found


def _has_high(jaxpr: ClosedJaxpr) -> bool:
    inner = jaxpr.jaxpr
    variables = (*inner.constvars, *inner.invars, *(v for e in inner.eqns for v in e.outvars))
    if any(isinstance(v.aval, HighType) for v in variables):
        return True
    return any(has_high(program) for eqn in inner.eqns for program in programs_in(eqn.params))


def low_avals(avals: Sequence[Any]) -> list[Any]:
    """The types of the arrays that values of these types consist of; an array is one."""
    return [
        low for a in avals for low in (low_avals(a.lo_ty()) if isinstance(a, HighType) else [a])
    ]


def low_values(values: Sequence[Any]) -> list[Any]:
    """The arrays that values consist of."""
    return [
        low
        for x in values
        for low in (low_values(value_types[type(x)](x).lower_val(x)) if is_high(x) else [x])  # type: ignore[attr-defined]  # of a HighType
    ]


def high_values(avals: Sequence[Any], arrays: Sequence[Any]) -> list[Any]:
    """The values of the given types that consist of arrays."""
    rest = iter(arrays)

    def value(aval: Any) -> Any:
        return (
            aval.raise_val(*map(value, aval.lo_ty())) if isinstance(aval, HighType) else next(rest)
        )

    return [value(aval) for aval in avals]


def _gives_high(primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> bool:
    results = registry.table(abstract_eval)[primitive](*map(aval_of, args), **params)
    return any(isinstance(aval, HighType) for aval in results)


class LoweringTrace(StagingTrace):
    """Writes a program of arrays alone."""

    __slots__ = ()

    def process(self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Write what an operation does to arrays."""
        needed = needs_lowering(primitive, args, params)
        if primitive.structured and (needed or _gives_high(primitive, args, params)):
            expand = registry.table(expand_rule).get(primitive)
            callee = None if expand is None else expand(**params)
            if callee is not None and not isinstance(callee, Kept):
                return computed(callee, args)
        if needed:
            return on_arrays(primitive, args, params)
        return super().process(primitive, args, params)


def needs_lowering(primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> bool:
    """Whether an operation has operands that are no arrays, or programs with such values."""
    if any(map(is_high, args)):
        return True
    return primitive.structured and any(map(has_high, programs_in(params)))


def on_arrays(primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
    """Compute an operation on the arrays of its operands.

    Raises:
        TypeError: it takes arrays only.
    """
    avals = [aval_of(x) for x in args]
    if primitive is add_any_p:
        return avals[0].vspace_add(*args)  # type: ignore[attr-defined]  # of a HighType
    out_avals = (
        registry.table(abstract_eval)[primitive](*avals, **params) if primitive.structured else []
    )
    rule = registry.table(lowered_rule).get(primitive)
    if rule is not None:
        return high_values(out_avals, rule(avals, low_values(args), **params))
    if not primitive.structured or any(isinstance(a, HighType) for a in (*avals, *out_avals)):
        raise TypeError(
            f"{primitive.name} takes arrays, got {', '.join(map(str, avals))}. Give the operation on such values by a class: "
            "plugjax.experimental.hijax.VJPHiPrimitive."
        )
    return primitive.bind(*args, **{key: _low_param(value) for key, value in params.items()})


def _low_param(value: Any) -> Any:
    if isinstance(value, ClosedJaxpr):
        return lowered(value)
    if isinstance(value, tuple) and any(isinstance(item, ClosedJaxpr) for item in value):
        return tuple(map(_low_param, value))
    return value


def lowered(jaxpr: ClosedJaxpr) -> ClosedJaxpr:
    """A program as one of arrays alone; memoised."""
    if not has_high(jaxpr):
        return jaxpr

    def make() -> ClosedJaxpr:
        def run(*arrays: Any) -> list[Any]:
            return low_values(eval_closed(jaxpr, *high_values(jaxpr.in_avals, arrays)))

        name = jaxpr.jaxpr.debug_name
        return stage(run, low_avals(jaxpr.in_avals), name, trace_type=LoweringTrace)

    found: ClosedJaxpr = memoise(jaxpr, "lowered", make)
    return found
