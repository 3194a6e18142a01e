"""Parts of programs, by JAX's names: equations, variables, inner programs, avals along a batch axis."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from plugjax.core.aval import ShapedArray
from plugjax.core.effects import Effect
from plugjax.core.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Var, eval_closed
from plugjax.core.primitive import Primitive
from plugjax.core.source_info import Source
from plugjax.extend.source_info_util import SourceInfo, as_source
from plugjax.meshes.types import with_axis, without_axis


def jaxprs_in_params(params: Mapping[str, Any]) -> Iterator[Jaxpr]:
    """The open programs among the parameters of an equation."""
    for value in params.values():
        for item in value if isinstance(value, tuple) else (value,):
            if isinstance(item, ClosedJaxpr):
                yield item.jaxpr
            elif isinstance(item, Jaxpr):
                yield item


def subjaxprs(jaxpr: Jaxpr) -> Iterator[Jaxpr]:
    """The open programs in the equations of a program, not those within them."""
    for eqn in jaxpr.eqns:
        yield from jaxprs_in_params(eqn.params)


def new_jaxpr_eqn(
    invars: Sequence[Any],
    outvars: Sequence[Var],
    primitive: Primitive,
    params: Mapping[str, Any],
    effects: Iterable[Effect],
    source_info: SourceInfo | Source | None = None,
    ctx: Any = None,
) -> JaxprEqn:
    """An equation with the effects that are given; ``ctx`` is accepted as in JAX."""
    fixed = frozenset(effects)
    return JaxprEqn(
        list(invars), list(outvars), primitive, dict(params), fixed, as_source(source_info)
    )


def gensym() -> Callable[[ShapedArray], Var]:
    """A function that makes new variables of avals."""
    return Var


def mapped_aval(size: int, axis: int | None, aval: ShapedArray) -> ShapedArray:
    """The aval of one instance, given the aval of all.

    Raises:
        ValueError: the axis does not have the size.
    """
    if axis is None:
        return aval
    if aval.shape[axis] != size:
        raise ValueError(f"axis {axis} of {aval.str_short()} does not have size {size}")
    return without_axis(aval, axis)


def unmapped_aval(size: int, axis: int | None, aval: ShapedArray) -> ShapedArray:
    """The aval of all instances, given the aval of one."""
    if axis is None:
        return aval
    return with_axis(aval, axis, size)


def min_dim(d1: Any, d2: Any) -> Any:
    """The smaller one of two sizes, which may be expressions.

    Example:
        >>> from plugjax.core import min_dim
        >>> min_dim(3, 4)
        3
    """
    if type(d1) is int and type(d2) is int:
        return min(d1, d2)
    return d2.min(d1) if type(d1) is int else d1.min(d2)


def max_dim(d1: Any, d2: Any) -> Any:
    """The larger one of two sizes, which may be expressions.

    Example:
        >>> from plugjax.core import max_dim
        >>> max_dim(3, 4)
        4
    """
    if type(d1) is int and type(d2) is int:
        return max(d1, d2)
    return d2.max(d1) if type(d1) is int else d1.max(d2)


def jaxpr_as_fun(jaxpr: ClosedJaxpr) -> Callable[..., list[Any]]:
    """A Python function that interprets a closed jaxpr: list of outputs from positional inputs.

    Example:
        >>> import plugjax
        >>> plugjax.extend.core.jaxpr_as_fun(plugjax.make_jaxpr(lambda x: x * 2)(1.0))(3.0)
        [Array(6., dtype=float32, weak_type=True)]
    """
    return lambda *args: eval_closed(jaxpr, *args)
