"""Named axes: the names that collective operations may use, and which programs use them.

``vmap(axis_name=...)`` binds a name for as long as the function runs. A primitive over axis names declares them by the
rule kind ``axis_names``; a program uses the names that its equations use. The trace that bound a name must see every
operation that uses it, even one whose operands have no batch axis: the sum of a constant over an axis of size n is n
times the constant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from plugjax.core import registry
from plugjax.core.jaxpr import ClosedJaxpr, memoise, programs_in
from plugjax.core.primitive import Primitive, state
from plugjax.core.rules import RuleKind

axis_names_rule: RuleKind[Callable[..., Iterable[Any]]] = RuleKind(
    "axis_names",
    "(**params) -> names of the axes that the primitive works along; ANY_AXIS if that is not known",
)

binds_rule: RuleKind[Callable[..., Iterable[Axis]]] = RuleKind(
    "binds", "(**params) -> the axes that an equation binds for the programs in its parameters"
)

# Stands for every axis, named or not: a Python function that has not been traced may close over values of any.
ANY_AXIS = object()


class Axis:
    """The axis that a ``vmap`` maps over, or an axis of a mesh inside ``shard_map``.

    Attributes:
        size: its size.
        name: ``None`` if it has none.
        spmd: names of the axes of a mesh along which the instances are spread.
        typed: whether types say which values may differ along it.
        of_mesh: whether the instances stand for the devices of a mesh, in a program on whole arrays.
        cut: how types say that the axis is cut (a ``NamedSharding`` of a vector), if they do.
    """

    __slots__ = ("cut", "name", "of_mesh", "size", "spmd", "typed")

    def __init__(
        self,
        size: int,
        name: Any = None,
        spmd: tuple[Any, ...] = (),
        typed: bool = False,
        of_mesh: bool = False,
        cut: Any = None,
    ) -> None:
        self.size = size
        self.name = name
        self.spmd = spmd
        self.typed = typed
        self.of_mesh = of_mesh
        self.cut = cut

    def _key(self) -> tuple[Any, ...]:
        return self.size, self.name, self.spmd, self.typed, self.of_mesh, self.cut

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Axis) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())


def named_axis_size(name: Any) -> int:
    """Size of the innermost axis of that name.

    Raises:
        NameError: no axis of that name is bound here.
    """
    for axis in reversed(state.axes):
        if axis.name == name:
            return int(axis.size)
    bound = ", ".join(repr(axis.name) for axis in state.axes) or "none"
    raise NameError(
        f"unbound axis name: {name}. Bound here are: {bound}. Call the function under "
        f"plugjax.vmap(..., axis_name={name!r})."
    )


@contextmanager
def bound_axes(axes: Iterable[Axis]) -> Iterator[None]:
    """Bind the names of ``axes`` within a ``with`` block."""
    previous = state.axes
    state.axes = (*previous, *axes)
    try:
        yield
    finally:
        state.axes = previous


def uses_axis(name: Any, primitive: Primitive, params: dict[str, Any]) -> bool:
    """Whether an operation may work along the axis ``name`` (``None`` if it has none), itself or in a program that it holds."""
    rule = registry.table(axis_names_rule).get(primitive)
    if rule is not None:
        names = tuple(rule(**params))
        return name in names or ANY_AXIS in names
    return primitive.structured and any(name in free_axes(sub) for sub in programs_in(params))


def free_axes(jaxpr: ClosedJaxpr) -> frozenset[Any]:
    """Names of all axes that a program uses; memoised."""

    def find() -> frozenset[Any]:
        table = registry.table(axis_names_rule)
        found: set[Any] = set()
        for eqn in jaxpr.eqns:
            rule = table.get(eqn.primitive)
            if rule is not None:
                found.update(rule(**eqn.params))
            elif eqn.primitive.structured:
                found.update(*map(free_axes, programs_in(eqn.params)))
        return frozenset(found)

    names: frozenset[Any] = memoise(jaxpr, "free axes", find)
    return names


@contextmanager
def axes_inside(jaxpr: ClosedJaxpr) -> Iterator[None]:
    """Bind the axes that equations of a program bind for the programs that they hold, while these are rewritten or lowered."""
    found = _bound_inside(jaxpr)
    with bound_axes(found) if found else nullcontext():
        yield


def _bound_inside(jaxpr: ClosedJaxpr) -> tuple[Axis, ...]:
    def find() -> tuple[Axis, ...]:
        table = registry.table(binds_rule)
        found: dict[Axis, None] = {}
        for eqn in jaxpr.eqns:
            if eqn.primitive.structured:
                rule = table.get(eqn.primitive)
                found.update(dict.fromkeys(() if rule is None else rule(**eqn.params)))
                for program in programs_in(eqn.params):
                    found.update(dict.fromkeys(_bound_inside(program)))
        return tuple(found)

    axes: tuple[Axis, ...] = memoise(jaxpr, "bound axes", find)
    return axes
