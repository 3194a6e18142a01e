"""Boxes: each holds a pytree, which operations read and replace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from plugjax.experimental.hijax.mutable_types import AvalQDD, MutableHiType
from plugjax.experimental.hijax.rule_methods import HiPrimitive
from plugjax.experimental.hijax.types import aval_method, register_hitype
from plugjax.extend import pytree
from plugjax.extend.core import Effect, Tracer, Zero, aval_of, control_flow_allowed_effects
from plugjax.extend.transforms import current_state

__all__ = ["Box", "BoxEffect", "BoxState", "BoxType", "box_get", "box_set", "new_box"]


class BoxEffect(Effect):
    """Operations on boxes have it."""


box_effect = BoxEffect()
control_flow_allowed_effects.add_type(BoxEffect)


@dataclass(frozen=True, slots=True)
class BoxState:
    """The type of what a box holds.

    Attributes:
        leaf_avals: of its leaves.
        treedef: its structure.
    """

    leaf_avals: tuple[Any, ...]
    treedef: Any

    def to_tangent_qdd(self) -> BoxState:
        """The state of a box of tangents."""
        return BoxState(tuple(a.to_tangent_aval() for a in self.leaf_avals), self.treedef)


def new_box() -> Any:
    """A box that holds ``None``.

    Example:
        >>> from plugjax.experimental.hijax import new_box
        >>> new_box().get()
    """
    return new_box_p.bind(treedef=pytree.structure(None))


def box_get(box: Any) -> Any:
    """What a box holds.

    Args:
        box: a :class:`Box`.

    Example:
        >>> from plugjax.experimental.hijax import Box, box_get
        >>> box_get(Box((1, 2)))
        (1, 2)
    """
    state = current_state(box)
    return pytree.unflatten(state.treedef, box_get_p.bind(box, avals=state.leaf_avals))


def box_set(box: Any, val: Any) -> None:
    """Make a box hold something else, of any structure.

    Args:
        box: a :class:`Box`.
        val: a pytree of arrays, or of values of a ``HiType``.

    Raises:
        TypeError: ``val`` is differentiated, and the box has no tangent.

    Example:
        >>> from plugjax.experimental.hijax import Box, box_set
        >>> box = Box()
        >>> box_set(box, [1.0])
        >>> box.get()
        [1.0]
    """
    leaves, treedef = pytree.flatten(val)
    box_set_p.bind(box, *leaves, treedef=treedef)


class BoxType(MutableHiType):
    """The type of boxes."""

    get = aval_method(box_get)
    set = aval_method(box_set)

    def __hash__(self) -> int:
        return hash(BoxType)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BoxType)

    def __repr__(self) -> str:
        return "BoxTy"

    def lo_ty_qdd(self, state: Any, /) -> list[Any]:
        """The types of the arrays of a box."""
        return [low for aval in state.leaf_avals for low in _low_types(aval)]

    def to_tangent_aval(self) -> BoxType:
        """A box of tangents."""
        return BoxType()

    # Programs take leaves of a HiType as they are.

    def made(self, state: Any, held: Sequence[Any]) -> Any:
        """A new box."""
        return Box.holding(pytree.unflatten(state.treedef, held))

    def read(self, state: Any, value: Any) -> list[Any]:
        """The leaves."""
        return pytree.leaves(box_get(value))

    def write(self, state: Any, value: Any, held: Sequence[Any]) -> None:
        """Replace what a box holds."""
        box_set(value, pytree.unflatten(state.treedef, held))

    def read_loval(self, state: Any, val: Any, /) -> list[Any]:
        """The arrays of a box."""
        leaves = pytree.leaves(box_get(val))
        return [x for a, y in zip(state.leaf_avals, leaves, strict=True) for x in _low_values(a, y)]


def _low_types(aval: Any) -> list[Any]:
    return list(aval.lo_ty()) if hasattr(aval, "lo_ty") else [aval]


def _low_values(aval: Any, value: Any) -> list[Any]:
    return list(aval.lower_val(value)) if hasattr(aval, "lower_val") else [value]


class _BoxClass(type):
    """Tracers of boxes are boxes, as functions see them."""

    def __instancecheck__(cls, instance: Any) -> bool:
        if super().__instancecheck__(instance):
            return True
        return isinstance(instance, Tracer) and isinstance(instance.aval, BoxType)


class Box(metaclass=_BoxClass):
    """A mutable container of a pytree of arrays.

    Args:
        init_val: what it holds at first.

    Differs from JAX:
        ``jax.experimental.hijax`` does not show it.

    Example:
        >>> import plugjax
        >>> from plugjax.experimental.hijax import Box
        >>> box = Box(1.0)
        >>> @plugjax.jit
        ... def grow(box, x):
        ...     box.set(box.get() * x)
        >>> grow(box, 3.0)
        >>> box.get()
        Array(3., dtype=float32, weak_type=True)
    """

    _val: Any

    def __new__(cls, init_val: Any = None) -> Any:
        """A box, or a tracer of one."""
        box = new_box()
        box.set(init_val)
        return box

    @classmethod
    def holding(cls, val: Any) -> Box:
        """A box outside of programs."""
        box = object.__new__(cls)
        box._val = val
        return box

    def get(self) -> Any:
        """What it holds."""
        return box_get(self)

    def set(self, val: Any) -> None:
        """Make it hold something else."""
        box_set(self, val)

    def cur_qdd(self) -> BoxState:
        """The type of what it holds."""
        leaves, treedef = pytree.flatten(self._val)
        return BoxState(tuple(map(aval_of, leaves)), treedef)

    def type_state(self) -> BoxState:
        """As :meth:`cur_qdd`."""
        found: BoxState = current_state(self)
        return found


register_hitype(Box, lambda _: BoxType())


class _NewBox(HiPrimitive):
    def abstract_eval(self, *, treedef: Any) -> Any:
        return AvalQDD(BoxType(), BoxState((), treedef)), {box_effect}

    def to_lojax(self, *, treedef: Any) -> Box:
        return Box.holding(pytree.unflatten(treedef, []))


class _BoxSet(HiPrimitive):
    multiple_results = True

    def abstract_eval(self, box: Any, *leaves: Any, treedef: Any) -> Any:
        box.mutable_qdd.update(BoxState(leaves, treedef))
        return [], {box_effect}

    def to_lojax(self, box: Box, *leaves: Any, treedef: Any) -> list[Any]:
        box._val = pytree.unflatten(treedef, leaves)
        return []

    def jvp(self, primals: Any, tangents: Any, **params: Any) -> Any:
        box, *leaves = primals
        box_dot, *dots = tangents
        if type(box_dot) is Zero:
            raise TypeError(
                "can't differentiate Box.set operation: the value is differentiated and the box has no tangent. Did you forget "
                "plugjax.lax.stop_gradient?"
            )
        box_set_p.bind(box, *leaves, **params)
        box_set_p.bind(box_dot, *dots, **params)
        return [], []


class _BoxGet(HiPrimitive):
    multiple_results = True

    def abstract_eval(self, box: Any, *, avals: Any) -> Any:
        return list(avals), {box_effect}

    def to_lojax(self, box: Box, *, avals: Any) -> list[Any]:
        return pytree.leaves(box._val)

    def jvp(self, primals: Any, tangents: Any, **params: Any) -> Any:
        (box,), (box_dot,), avals = primals, tangents, params["avals"]
        dots = tuple(a.to_tangent_aval() for a in avals)
        return box_get_p.bind(box, avals=avals), box_get_p.bind(box_dot, avals=dots)


new_box_p = _NewBox("new_box")
box_set_p = _BoxSet("box_set")
box_get_p = _BoxGet("box_get")
