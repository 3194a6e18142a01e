"""Types of mutable values: what a value holds is known by type at each point of a program, and may change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from plugjax.experimental.hijax.types import attribute_of, aval_method
from plugjax.extend.transforms import MutableType, current_state

__all__ = ["AvalMutableQDD", "AvalQDD", "MutableHiType", "MutableState", "cur_qdd"]


def cur_qdd(x: Any) -> Any:
    """The state of a mutable value at this point of the program, which its method ``cur_qdd`` gives.

    Raises:
        NotImplementedError: it comes from outside of a function that is being staged by what cannot take it along.

    Example:
        >>> from plugjax.experimental.hijax import Box, cur_qdd
        >>> cur_qdd(Box(2.0)).leaf_avals
        (ShapedArray(float32[], weak_type=True),)
    """
    return current_state(x)


class MutableState:
    """The state of a value while an operation is evaluated abstractly: ``update`` says what it is afterwards.

    Attributes:
        init_val: before.
        cur_val: as it was last given.
    """

    __slots__ = ("cur_val", "init_val")

    def __init__(self, val: Any) -> None:
        self.init_val = self.cur_val = val

    def update(self, val: Any) -> None:
        """Say what the state is from here on."""
        self.cur_val = val


@dataclass(frozen=True, slots=True)
class AvalQDD:
    """The type of a mutable value with its state: what ``abstract_eval`` of an operation that makes one gives.

    Attributes:
        aval: the type.
        qdd: the state.

    Example:
        >>> from plugjax.experimental.hijax import AvalQDD, Box, cur_qdd
        >>> import plugjax
        >>> box = Box(1.0)
        >>> [a.str_short() for a in AvalQDD(plugjax.typeof(box), cur_qdd(box)).lo_ty()]
        ['float32[]']
    """

    aval: Any
    qdd: Any

    is_high = True
    has_qdd = True

    def lo_ty(self) -> Any:
        """The types of the arrays that a value in this state holds."""
        return self.aval.lo_ty_qdd(self.qdd)

    def read_loval(self, val: Any) -> Any:
        """Those arrays."""
        return self.aval.read_loval(self.qdd, val)

    def new_from_loval(self, *lovals: Any) -> Any:
        """A value of arrays."""
        return self.aval.new_from_loval(self.qdd, *lovals)

    def to_tangent_aval(self) -> AvalQDD:
        """The type and state of tangents."""
        return AvalQDD(self.aval.to_tangent_aval(), self.qdd and self.qdd.to_tangent_qdd())


@dataclass(frozen=True, slots=True)
class AvalMutableQDD:
    """The type of a mutable operand with its state, as ``abstract_eval`` gets it.

    Attributes:
        aval: the type.
        mutable_qdd: the state: ``cur_val`` is read, ``update`` sets it.

    Example:
        >>> from plugjax.experimental.hijax import HiPrimitive
        >>> class Clear(HiPrimitive):
        ...     multiple_results = True
        ...     def abstract_eval(self, box):
        ...         box.mutable_qdd.update(None)  # box is an AvalMutableQDD
        ...         return [], set()
    """

    aval: Any
    mutable_qdd: MutableState


class MutableHiType(MutableType):
    """The type of mutable values of a class of the program's own.

    A subclass has ``__hash__`` and ``__eq__``; ``lo_ty_qdd``, ``new_from_loval``, ``read_loval`` and ``update_from_loval`` for the arrays
    of a value in a state; ``to_tangent_aval`` for derivatives. Values have a method ``cur_qdd``, which gives their state: an object with
    ``__eq__``. Operations are each a :class:`HiPrimitive`, whose ``to_lojax`` reads and changes a value.

    ``jit``, ``scan``, ``while_loop``, ``cond`` and ``switch`` take such values as arguments of the function (``jit`` and branches) and from
    where it was written. ``grad``, ``jvp`` and ``vmap`` see the operations one by one.

    Differs from JAX:
        Programs do not show the operations: what a value holds is among their inputs and results. A function that closes over such
        values is traced once more for each. Under a derivative or ``vmap``, a jitted function that takes them runs operation by operation.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> from plugjax.experimental.hijax import Box
        >>> box = Box(jnp.arange(3))
        >>> @plugjax.jit
        ... def append(x):
        ...     box.set(jnp.append(box.get(), x))
        >>> append(7), append(8)
        (None, None)
        >>> box.get()
        Array([0, 1, 2, 7, 8], dtype=int32)
    """

    is_high = True
    has_qdd = True
    is_writer = False
    type_state = aval_method(cur_qdd)

    def __hash__(self) -> int:
        raise NotImplementedError(f"{type(self).__name__} must implement `__hash__`")

    def __eq__(self, other: object) -> bool:
        raise NotImplementedError(f"{type(self).__name__} must implement `__eq__`")

    def lo_ty_qdd(self, state: Any, /) -> list[Any]:
        """The types of the arrays of a value in a state."""
        raise NotImplementedError(f"{type(self).__name__} must implement `lo_ty_qdd`")

    def new_from_loval(self, state: Any, /, *vals: Any) -> Any:
        """A value of arrays."""
        raise NotImplementedError(f"{type(self).__name__} must implement `new_from_loval`")

    def read_loval(self, state: Any, val: Any, /) -> list[Any]:
        """The arrays of a value."""
        raise NotImplementedError(f"{type(self).__name__} must implement `read_loval`")

    def update_from_loval(self, state: Any, val: Any, /, *lo_vals: Any) -> None:
        """Make a value consist of other arrays."""
        raise NotImplementedError(f"{type(self).__name__} must implement `update_from_loval`")

    def to_ct_aval(self) -> Any:
        """The type of cotangents: that of tangents."""
        return self.to_tangent_aval()

    def attribute(self, value: Any, name: str) -> Any:
        """An attribute of a traced value: a method or property of the type."""
        return attribute_of(self, value, name)

    def made(self, state: Any, held: Sequence[Any]) -> Any:
        """A new value in that state."""
        return self.new_from_loval(state, *held)

    def read(self, state: Any, value: Any) -> list[Any]:
        """What a value in that state holds."""
        return self.read_loval(state, value)

    def write(self, state: Any, value: Any, held: Sequence[Any]) -> None:
        """Put a value in that state."""
        self.update_from_loval(state, value, *held)
