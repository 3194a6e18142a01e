"""Calls of Python functions from programs: ``pure_callback`` and ``io_callback``.

The equation holds the function, the structure of its arguments (:class:`FlatCallback`, hashable) and the declared avals
of the results. The function's results are checked against these avals before compiled code reads them. There is no
derivative. Under ``vmap`` a pure callback follows its ``vmap_method``. A callback with IO is called once per instance;
an ordered one is refused, because a batch has no order.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np

from plugjax.contexts import default_device, enable_x64
from plugjax.extend import dtypes, pytree, registry
from plugjax.extend.backend import default_device as current_device, get_backend
from plugjax.extend.core import (
    Array,
    Device,
    Effects,
    Primitive,
    ShapedArray,
    Sharding,
    Tracer,
    as_array,
    config,
    moveaxis,
)
from plugjax.extend.errors import JaxRuntimeError, UnknownBackendError
from plugjax.extend.rules import (
    RuleSet,
    abstract_eval,
    batching_rule,
    effects_rule,
    jvp_rule,
    physical_rule,
    transpose_rule,
)
from plugjax.extend.transforms import Axis
from plugjax.lax.callback_batching import batched_call, check_vmap_method, mapped_operands
from plugjax.lax.control_flow import map as lax_map
from plugjax.lax.effects import io_effect, ordered_io_effect

rules = RuleSet(__name__)

pure_callback_p = Primitive("pure_callback", multiple_results=True)
io_callback_p = Primitive("io_callback", multiple_results=True)


class Opaque:
    """Any object as a hashable part of a parameter: compared by value if hashable, else by identity."""

    __slots__ = ("_key", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        try:
            hash(value)
            self._key: Any = (type(value), value)
        except TypeError:
            self._key = id(value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Opaque) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        return repr(self.value)


@dataclass(frozen=True, slots=True)
class FlatCallback:
    """A Python function of pytrees as a function of arrays; the parameter ``callback`` of callback primitives.

    Two of them are equal if they call the same function with the same structure of arguments.

    Attributes:
        function: the user's function.
        in_tree: structure of ``(args, kwargs)``.
        static: leaves of the arguments that are not arrays, with their positions.
        out_tree: structure of the results, for messages.
        x64: whether 64-bit dtypes are kept in the function; the thread that runs it has its own configuration.
        avals: avals of the arguments, if they differ from those of the stored arrays.
    """

    function: Opaque
    in_tree: Any
    static: tuple[tuple[int, Opaque], ...] = ()
    out_tree: Any = None
    x64: bool = False
    avals: tuple[ShapedArray, ...] | None = None

    @property
    def name(self) -> str:
        """The name of the function in messages."""
        function = self.function.value
        return str(getattr(function, "__qualname__", None) or repr(function))

    def run(self, values: Sequence[Any]) -> Any:
        """Call the function on host values; they become arrays on a device whose memory the host sees."""
        device = _host_device()
        placement = device.uncommitted
        if self.avals is None:
            leaves: list[Any] = [Array(ShapedArray(x.shape, x.dtype), placement, x) for x in values]
        else:
            leaves = [Array(a, placement, x) for a, x in zip(self.avals, values, strict=True)]
        return self.call(leaves, device)

    def call(self, leaves: Sequence[Any], device: Device | None = None) -> Any:
        """Call the function on arrays, with ``device`` as the default device inside."""
        full = list(leaves)
        for position, value in self.static:
            full.insert(position, value.value)
        args, kwargs = pytree.unflatten(self.in_tree, full)
        with ExitStack() as stack:
            # Kernels run without NumPy's warnings; the user's NumPy code has its usual ones.
            stack.enter_context(np.errstate(all="warn", under="ignore"))
            if config.enable_x64 != self.x64:
                stack.enter_context(enable_x64(self.x64))
            if device is not None and device is not current_device():
                stack.enter_context(default_device(device))
            try:
                return self.function.value(*args, **kwargs)
            except Exception as error:
                if config.read("callback_errors") == "original":
                    raise
                raise JaxRuntimeError(
                    f"INTERNAL: error calling callback {self.name!r}: {traceback.format_exc()}"
                ) from error

    def results(
        self, values: Sequence[Any], avals: Sequence[ShapedArray]
    ) -> list[np.ndarray[Any, Any]]:
        """Call the function on host values and return NumPy arrays of exactly these avals.

        Raises:
            JaxRuntimeError: number, shape or dtype of the results differ from ``avals``.
        """
        returned = self.run(values)
        leaves = pytree.leaves(returned)
        if len(leaves) != len(avals):
            came = pytree.first_difference(self.out_tree, pytree.structure(returned))
            raise JaxRuntimeError(
                f"callback {self.name!r} gave {len(leaves)} arrays, result_shape_dtypes declares {len(avals)}; "
                f"{came}. Return one array for each leaf."
            )
        return [self._checked(i, y, a) for i, (y, a) in enumerate(zip(leaves, avals, strict=True))]

    def _checked(self, index: int, leaf: Any, aval: ShapedArray) -> np.ndarray[Any, Any]:
        value = np.asarray(leaf)
        dtype = value.dtype
        if not self.x64:
            dtype = _NARROW.get(dtype, dtype)
        if value.shape != aval.shape:
            self._refuse("shape", index, leaf, value, aval)
        if dtype != aval.dtype:
            self._refuse("dtype", index, leaf, value, aval)
        return value.astype(dtype, copy=False)

    def _refuse(
        self, what: str, index: int, leaf: Any, value: np.ndarray[Any, Any], aval: ShapedArray
    ) -> NoReturn:
        path = pytree.paths_of(self.out_tree)[index]
        came = f"{value.dtype.name}[{','.join(map(str, value.shape))}]"
        if value.dtype.kind == "O":
            came = f"{leaf!r} of type {type(leaf).__name__}"
        raise JaxRuntimeError(
            f"callback {self.name!r}: return value {index}, output{path}, has another {what} than declared: {came} "
            f"came, {aval.str_short()} is needed. Return what result_shape_dtypes declares."
        )

    def __repr__(self) -> str:
        return f"FlatCallback(function={self.function!r}, in_tree={self.in_tree})"


_NARROW = {
    np.dtype(wide): np.dtype(narrow)
    for wide, narrow in (
        (np.float64, np.float32),
        (np.int64, np.int32),
        (np.uint64, np.uint32),
        (np.complex128, np.complex64),
    )
}


def _host_device() -> Device:
    """The default device if the host sees its memory, else another one: callbacks must not wait for an accelerator."""
    device = current_device()
    if device.host_visible:
        return device
    for name in registry.active().backends():
        try:
            backend = get_backend(name)
        except UnknownBackendError:
            continue
        found = next((each for each in backend.devices() if each.host_visible), None)
        if found is not None:
            return found
    return device


def pure_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    *args: Any,
    sharding: Sharding | None = None,
    vmap_method: str | None = None,
    **kwargs: Any,
) -> Any:
    """Call a Python function without side effects from a program.

    It may be called several times, once for equal arguments, or not at all if its results are unused. It has no
    derivative; define one with ``custom_jvp`` or ``custom_vjp``.

    Args:
        callback: takes ``args`` and ``kwargs`` with arrays as leaves, gives a pytree of arrays.
        result_shape_dtypes: pytree of objects with ``shape`` and ``dtype``, such as ``ShapeDtypeStruct``.
        *args: pytrees of arrays.
        sharding: the device to call it from; there is one host.
        vmap_method: the rule under ``vmap``. ``"sequential"`` calls it once per instance in a loop,
            ``"sequential_unrolled"`` without a loop; ``"expand_dims"`` calls it once with a batch axis in front of
            every argument, of size 1 where there is none, ``"broadcast_all"`` with all of them repeated, and
            ``"legacy_vectorized"`` leaves arguments without a batch axis as they are. ``None`` refuses.
        **kwargs: pytrees of arrays.

    Returns:
        A pytree of arrays as ``result_shape_dtypes`` says.

    Raises:
        ValueError: an unknown ``vmap_method``, 64-bit results without ``jax_enable_x64``, or differentiation.
        TypeError: an argument is not an array.
        JaxRuntimeError: the results do not match ``result_shape_dtypes``.

    Differs from JAX:
        An exception of the function is raised unchanged, not as the text of a ``JaxRuntimeError``.

    Example:
        >>> import numpy as np
        >>> import plugjax, plugjax.numpy as jnp
        >>> shape = plugjax.ShapeDtypeStruct((2,), "float32")
        >>> plugjax.jit(lambda x: plugjax.pure_callback(np.sort, shape, x))(jnp.array([2.0, 1.0]))
        Array([1., 2.], dtype=float32)
    """
    check_vmap_method("pure_callback", vmap_method)
    leaves, flat, avals = _flat("pure_callback", callback, result_shape_dtypes, args, kwargs)
    outs = pure_callback_p.bind(
        *leaves, callback=flat, result_avals=avals, sharding=sharding, vmap_method=vmap_method
    )
    return pytree.unflatten(flat.out_tree, outs)


def io_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    *args: Any,
    sharding: Sharding | None = None,
    ordered: bool = False,
    **kwargs: Any,
) -> Any:
    """Call a Python function with side effects from a program.

    It is called once per execution of the equation, even if its results are unused.

    Args:
        callback: takes ``args`` and ``kwargs`` with arrays as leaves, gives a pytree of arrays.
        result_shape_dtypes: pytree of objects with ``shape`` and ``dtype``; ``None`` if there are no results.
        *args: pytrees of arrays.
        sharding: the device to call it from; there is one host.
        ordered: whether it runs in program order with other ordered callbacks.
        **kwargs: pytrees of arrays.

    Returns:
        A pytree of arrays as ``result_shape_dtypes`` says.

    Raises:
        ValueError: ``vmap`` of an ordered callback, 64-bit results without ``jax_enable_x64``, or differentiation.
        TypeError: an argument is not an array.
        JaxRuntimeError: the results do not match ``result_shape_dtypes``.

    Differs from JAX:
        An exception of the function is raised unchanged, not as the text of a ``JaxRuntimeError``.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> from plugjax.experimental import io_callback
        >>> seen = []
        >>> plugjax.jit(lambda x: io_callback(lambda y: seen.append(float(y)), None, x, ordered=True))(2.0)
        >>> seen
        [2.0]
    """
    leaves, flat, avals = _flat("io_callback", callback, result_shape_dtypes, args, kwargs)
    outs = io_callback_p.bind(
        *leaves, callback=flat, result_avals=avals, sharding=sharding, ordered=ordered
    )
    return pytree.unflatten(flat.out_tree, outs)


def _flat(
    who: str,
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> tuple[list[Any], FlatCallback, tuple[ShapedArray, ...]]:
    """Arguments as arrays, the callback that takes them, and the avals of its results."""
    if not callable(callback):
        raise TypeError(f"{who}: callback must be callable, got {callback!r}")
    results, out_tree = pytree.flatten(result_shape_dtypes)
    avals = tuple(_result_aval(r) for r in results)
    values, in_tree = pytree.flatten((args, kwargs))
    leaves = []
    for position, x in enumerate(values):
        try:
            leaves.append(x if isinstance(x, (Array, Tracer)) else as_array(x, who))
        except TypeError as error:
            path = pytree.paths((args, kwargs))[position]
            raise TypeError(
                f"{who}: {path} of (args, kwargs), of type {type(x)}, is not a JAX value. Make it an array."
            ) from error
    flat = FlatCallback(Opaque(callback), in_tree, out_tree=out_tree, x64=config.enable_x64)
    return leaves, flat, avals


def _result_aval(struct: Any) -> ShapedArray:
    dtype = np.dtype(struct.dtype)
    if dtypes.canonicalize(dtype) != dtype:
        raise ValueError(
            f"result_shape_dtypes declares {dtype.name}, but 64-bit types are off. Declare a narrower one, or turn "
            "jax_enable_x64 on."
        )
    return ShapedArray(tuple(struct.shape), dtype)


@rules.define(abstract_eval, pure_callback_p, io_callback_p)
def _callback_avals(
    *avals: ShapedArray, result_avals: tuple[ShapedArray, ...], **_: Any
) -> list[ShapedArray]:
    return list(result_avals)


@rules.define(effects_rule, io_callback_p)
def _io_effects(*, ordered: bool, **_: Any) -> Effects:
    return frozenset({ordered_io_effect if ordered else io_effect})


@rules.define(jvp_rule, pure_callback_p)
def _pure_jvp(primals: Sequence[Any], tangents: Sequence[Any], **_: Any) -> tuple[Any, Any]:
    raise ValueError(
        "Pure callbacks do not support JVP, as functions on the host have no derivative. Give the derivative by plugjax.custom_jvp."
    )


@rules.define(transpose_rule, pure_callback_p)
def _pure_transpose(cotangents: Sequence[Any], *operands: Any, **_: Any) -> list[Any]:
    raise ValueError(
        "pure_callback: a function on the host has no transpose. Give the derivative by plugjax.custom_vjp."
    )


@rules.define(jvp_rule, io_callback_p)
def _io_jvp(primals: Sequence[Any], tangents: Sequence[Any], **_: Any) -> tuple[Any, Any]:
    raise ValueError(
        "IO callbacks do not support JVP, as functions on the host have no derivative."
    )


@rules.define(transpose_rule, io_callback_p)
def _io_transpose(cotangents: Sequence[Any], *operands: Any, **_: Any) -> list[Any]:
    raise ValueError("io_callback: a function on the host has no transpose.")


@rules.define(batching_rule, pure_callback_p)
def _pure_batching(
    axis: Axis,
    args: Sequence[Any],
    dims: Sequence[int | None],
    *,
    result_avals: tuple[ShapedArray, ...],
    vmap_method: str | None,
    **params: Any,
) -> tuple[list[Any], list[int]]:
    def call(xs: Sequence[Any], avals: tuple[ShapedArray, ...], _: Sequence[bool]) -> list[Any]:
        return pure_callback_p.bind(*xs, result_avals=avals, vmap_method=vmap_method, **params)

    return batched_call("pure_callback", vmap_method, axis, args, dims, result_avals, call)


@rules.define(batching_rule, io_callback_p)
def _io_batching(
    axis: Axis, args: Sequence[Any], dims: Sequence[int | None], *, ordered: bool, **params: Any
) -> tuple[list[Any], list[int]]:
    if ordered:
        raise ValueError(
            "Cannot `vmap` ordered IO callback: a batch has no order. Pass ordered=False."
        )
    moved = [x if d is None else moveaxis(x, d, 0) for x, d in zip(args, dims, strict=True)]
    mapped, merge = mapped_operands(moved, dims)
    outs = lax_map(lambda xs: io_callback_p.bind(*merge(xs), ordered=False, **params), mapped)
    return outs, [0] * len(outs)


@rules.define(physical_rule, pure_callback_p)
def _pure_physical(
    in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], *stored: Any, **params: Any
) -> list[Any]:
    return pure_callback_p.bind(*stored, **with_avals(params, in_avals))


@rules.define(physical_rule, io_callback_p)
def _io_physical(
    in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], *stored: Any, **params: Any
) -> list[Any]:
    return io_callback_p.bind(*stored, **with_avals(params, in_avals))


def with_avals(params: dict[str, Any], avals: Sequence[ShapedArray]) -> dict[str, Any]:
    """Parameters of a callback whose stored arrays become arrays of ``avals`` inside."""
    return {**params, "callback": replace(params["callback"], avals=tuple(avals))}
