"""Functions of references: ``new_ref``, ``freeze``, ``get``, ``set``, ``swap``, ``addupdate``."""

from __future__ import annotations

from typing import Any

from plugjax.extend import dtypes
from plugjax.extend.core import (
    AbstractReference,
    Array,
    ShapedArray,
    Tracer,
    as_array,
    aval_of,
    convert_element_type_p,
)
from plugjax.lax.promotion import promote
from plugjax.state.aval import METHODS
from plugjax.state.indices import split
from plugjax.state.primitives import (
    addupdate_p,
    empty_ref_p,
    free_ref_p,
    freeze_p,
    get_p,
    new_ref_p,
    swap_p,
    zero_ref_p,
)
from plugjax.state.reference import Ref
from plugjax.state.views import View


def new_ref(init_val: Any, *, memory_space: Any = None, kind: str | None = None) -> Ref:
    """A reference to a mutable array.

    Args:
        init_val: the array that it refers to first; it is not changed by what is written.
        memory_space: where the array lies; within ``jit`` only.
        kind: how writes behave under rematerialization, as in JAX; kept in the type, and without effect.

    Returns:
        The reference. It cannot be returned from a function that is transformed.

    Raises:
        TypeError: ``init_val`` is a reference.
        NotImplementedError: a memory space outside of ``jit``.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> ref = plugjax.new_ref(jnp.arange(3))
        >>> ref[0] += 5
        >>> ref[...]
        Array([5, 1, 2], dtype=int32)
    """
    if isinstance(aval_of(init_val), AbstractReference):
        raise TypeError(
            f"new_ref needs an array, got a reference: {init_val}. Read it first: ref[...]."
        )
    found: Ref = new_ref_p.bind(
        as_array(init_val, "new_ref"), memory_space=memory_space, kind=kind
    )[0]
    return found


def empty_ref(ty: Any, memory_space: Any = None) -> Ref:
    """A reference to an array whose values are not given yet; they are zeros here.

    Args:
        ty: what has shape and dtype, a ``ShapeDtypeStruct`` for example.
        memory_space: where the array lies.

    Example:
        >>> import plugjax
        >>> plugjax.empty_ref(plugjax.ShapeDtypeStruct((2,), "float32"))
        Ref([0., 0.], dtype=float32)
    """
    aval = (
        ty
        if isinstance(ty, ShapedArray)
        else ShapedArray(ty.shape, dtypes.canonicalize(ty.dtype, "empty_ref"))
    )
    found: Ref = empty_ref_p.bind(ty=aval, memory_space=memory_space)[0]
    return found


def freeze(ref: Ref) -> Array:
    """The last value of a reference, which is not to be used any more.

    Raises:
        ValueError: ``ref`` is no reference.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> ref = plugjax.new_ref(jnp.arange(3))
        >>> plugjax.freeze(ref)
        Array([0, 1, 2], dtype=int32)
    """
    _check("freeze", ref)
    found: Array = freeze_p.bind(ref)[0]
    return found


def free_ref(ref: Ref) -> None:
    """Say that a reference is not used any more.

    Raises:
        ValueError: ``ref`` is no reference.

    Example:
        >>> import plugjax
        >>> plugjax.make_jaxpr(lambda x: plugjax.free_ref(plugjax.new_ref(x)))(1.0)
        { lambda ; a:f32[]. let
            b:Ref{f32[]} = new_ref[kind=None memory_space=None] a
            free_ref b
          in () }
    """
    _check("free_ref", ref)
    free_ref_p.bind(ref)


def get(ref: Any, idx: Any = None) -> Array:
    """Read a part of a reference's array; ``ref[idx]`` is the same.

    Args:
        ref: a reference, or a part of one (``ref.at[idx]``).
        idx: an index as NumPy takes it; ``None`` for all.

    Raises:
        ValueError: ``ref`` is no reference, or an integer is out of bounds.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> plugjax.ref.get(plugjax.new_ref(jnp.arange(5)), slice(1, 3))
        Array([1, 2], dtype=int32)
    """
    if type(ref) is View:
        return ref.get(() if idx is None else idx)
    _check("ref_get", ref)
    return _get_item(ref, ... if idx is None else idx)


def set(ref: Any, idx: Any, value: Any) -> None:
    """Write a part of a reference's array; ``ref[idx] = value`` is the same.

    Args:
        ref: a reference, or a part of one (``ref.at[idx]``).
        idx: an index as NumPy takes it; ``None`` for all.
        value: array of the shape and dtype of ``ref[idx]``; a number takes its dtype.

    Raises:
        ValueError: ``ref`` is no reference, ``value`` is one, or its shape or dtype is another.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> ref = plugjax.new_ref(jnp.zeros(3))
        >>> plugjax.ref.set(ref, 1, 10.0)
        >>> ref
        Ref([ 0., 10.,  0.], dtype=float32)
    """
    swap(ref, idx, value, "ref_set")


def swap(ref: Any, idx: Any, value: Any, _function_name: str = "ref_swap") -> Array:
    """Write a part of a reference's array, and give what it was.

    Args:
        ref: a reference, or a part of one (``ref.at[idx]``).
        idx: an index as NumPy takes it; ``None`` for all.
        value: array of the shape and dtype of ``ref[idx]``; a number takes its dtype.

    Raises:
        ValueError: ``ref`` is no reference, ``value`` is one, or its shape or dtype is another.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> ref = plugjax.new_ref(jnp.arange(3))
        >>> plugjax.ref.swap(ref, 0, 7), ref
        (Array(0, dtype=int32), Ref([7, 1, 2], dtype=int32))
    """
    if type(ref) is View:
        return ref.swap(value, () if idx is None else idx)
    _check(_function_name, ref)
    return _swap(ref, ... if idx is None else idx, value)


def addupdate(ref: Any, idx: Any, x: Any) -> None:
    """Add to a part of a reference's array; indices that occur twice count twice.

    Args:
        ref: a reference, or a part of one (``ref.at[idx]``).
        idx: an index as NumPy takes it; ``None`` for all.
        x: array of the shape and dtype of ``ref[idx]``; a number takes its dtype.

    Raises:
        ValueError: ``ref`` is no reference, ``x`` is one, or its shape or dtype is another.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> ref = plugjax.new_ref(jnp.zeros(3))
        >>> plugjax.ref.addupdate(ref, (jnp.array([0, 0]),), jnp.ones(2))
        >>> ref
        Ref([2., 0., 0.], dtype=float32)
    """
    if type(ref) is View:
        ref.addupdate(x, () if idx is None else idx)
        return
    _check("ref_addupdate", ref)
    _add(ref, ... if idx is None else idx, x)


def _check(who: str, ref: Any) -> None:
    if not isinstance(ref, Ref):
        raise ValueError(
            f"Can only call `{who}` on a `Ref`: got {type(ref).__name__}. new_ref makes one of an array."
        )


def _get_item(ref: Any, index: Any) -> Array:
    static, operands = split(ref.aval.shape, index)
    found: Array = get_p.bind(ref, *operands, index=static)[0]
    return found


def _operand(ref: Any, value: Any, strong: bool) -> Any:
    """What is written: a number or a weak array takes the dtype of the reference, if that loses nothing.

    Args:
        ref: the reference.
        value: what the user gives.
        strong: whether a weak array of that dtype becomes one that is not weak, as in JAX where a value is replaced.
    """
    if isinstance(value, Ref):
        return value
    array = as_array(value, "ref_set")
    aval, dtype = array.aval, ref.aval.dtype
    if aval.weak_type and (strong or aval.dtype != dtype):
        joint, _ = promote([(dtype, False), (aval.dtype, True)])
        if joint == dtype == aval.dtype and not isinstance(array, Tracer):
            array = array._alias()
            array.aval = aval.strip_weak_type()
        elif joint == dtype:
            return convert_element_type_p.bind(array, new_dtype=dtype, weak_type=False)
    return array


def _swap(ref: Any, index: Any, value: Any) -> Array:
    static, operands = split(ref.aval.shape, index)
    found: Array = swap_p.bind(ref, _operand(ref, value, strong=True), *operands, index=static)[0]
    return found


def _add(ref: Any, index: Any, value: Any) -> None:
    static, operands = split(ref.aval.shape, index)
    addupdate_p.bind(ref, _operand(ref, value, strong=False), *operands, index=static)


def _set_item(ref: Any, index: Any, value: Any) -> None:
    _swap(ref, index, value)


METHODS.update(
    {
        "__getitem__": _get_item,
        "__setitem__": _set_item,
        "get": lambda ref, idx=(): _get_item(ref, idx),
        "set": lambda ref, value, idx=(): _set_item(ref, idx, value),
        "swap": lambda ref, value, idx=(): _swap(ref, idx, value),
        "addupdate": lambda ref, value, idx=(): _add(ref, idx, value),
        "at": lambda ref: View(ref, ()).at,
        "of_zeros": lambda aval: zero_ref_p.bind(aval=aval)[0],
    }
)
