"""Programs that XLA is told something of, as calls: groups of its scheduler, the hardware to compute on, one fused kernel.

A call goes through every transformation as a call of ``jit`` does. For backends without a lowering of it, the program takes its place
(``inlined``).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from plugjax.extend import pytree
from plugjax.extend.calls import define_call
from plugjax.extend.core import ClosedJaxpr, Primitive, Zero, as_array
from plugjax.extend.memories import MemorySpace
from plugjax.extend.rules import (
    RuleSet,
    discharge_rule,
    expand_rule,
    linearize_rule,
    lowered_rule,
    printed_rule,
)
from plugjax.extend.transforms import (
    Kept,
    Marks,
    cached_trace,
    discharged,
    flat_call,
    linearize_jaxpr,
    lowered,
    marking,
    stage,
)

rules = RuleSet(__name__)

xla_metadata_call_p = Primitive("xla_metadata_call", multiple_results=True, structured=True)
compute_on_p = Primitive("compute_on", multiple_results=True, structured=True)
fused_p = Primitive("fused_call", multiple_results=True, structured=True)
CALLS = (xla_metadata_call_p, compute_on_p, fused_p)

Function = Callable[..., Any]


def _called(
    primitive: Primitive,
    function: Function,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    params: Callable[[Any, int], Mapping[str, Any]],
    around: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> Any:
    """Call a function as an equation.

    Args:
        primitive: of the equation.
        function: the function, of pytrees.
        args: its arguments.
        kwargs: its keyword arguments.
        params: the other parameters, from the structure and the number of the results.
        around: a block that the function is traced in.
    """
    name = getattr(function, "__name__", "a function")
    who = f"{primitive.name} of {name}"
    leaves, in_tree = pytree.flatten((args, dict(kwargs)))
    operands = [as_array(x, who) for x in leaves]
    avals = [x.aval for x in operands]

    def call(positional: tuple[Any, ...], named: dict[str, Any]) -> Any:
        return function(*positional, **named)

    with around():
        program, consts, out_tree = cached_trace(
            function,
            (who, in_tree, *avals),
            lambda out: stage(flat_call(call, in_tree, out, who), avals, name),
        )
    found = params(out_tree, len(program.out_avals))
    return pytree.unflatten(out_tree, primitive.bind(*consts, *operands, jaxpr=program, **found))


# Groups -------------------------------------------------------------------------------------------


def scheduling_group(name: str) -> Callable[[Function], Function]:
    """A decorator: XLA's scheduler keeps the operations of a function together.

    Args:
        name: of the group.

    Differs from JAX:
        On backends other than XLA it changes nothing.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> from plugjax.experimental.scheduling_groups import scheduling_group
        >>> f = plugjax.jit(scheduling_group("first")(jnp.sin))
        >>> 'mhlo.frontend_attributes = {scheduling_group = "first"}' in f.lower(1.0).as_text("stablehlo")
        True
    """
    decorator: Callable[[Function], Function] = xla_metadata_call(scheduling_group=name)
    return decorator


def xla_metadata_call(f: Function | None = None, **meta: str) -> Any:
    """A function whose call has metadata; without ``f``, a decorator.

    Args:
        f: the function, of pytrees of arrays.
        **meta: names and texts.

    Raises:
        NotImplementedError: a value is no text; raised when the call is lowered for XLA.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.experimental.scheduling_groups import xla_metadata_call
        >>> xla_metadata_call(jnp.square, kind="cheap")(3.0)
        Array(9., dtype=float32, weak_type=True)
    """
    if f is None:
        return lambda g: xla_metadata_call(g, **meta)

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return _called(xla_metadata_call_p, f, args, kwargs, lambda _, __: meta)

    return wrapped


# Where to compute ---------------------------------------------------------------------------------

_COMPUTE_TYPES = {"device_host": "host", "device": "dense", "tpu_sparsecore": "sparseoffload"}
STREAM = "gpu_stream:"


def compute_attributes(compute_type: str) -> dict[str, str]:
    """What XLA is told of where to compute."""
    if compute_type.startswith(STREAM):
        return {
            "_xla_stream_annotation": compute_type.removeprefix(STREAM),
            "inlineable": "false",
        }
    return {"_xla_compute_type": _COMPUTE_TYPES[compute_type]}


def _check_compute_type(compute_type: Any) -> None:
    if not isinstance(compute_type, str):
        raise TypeError(
            f"`compute_on`'s compute_type argument must be a string, got {compute_type!r}."
        )
    if compute_type not in _COMPUTE_TYPES and not compute_type.startswith(STREAM):
        raise ValueError(
            f"Invalid compute type {compute_type}. Current supported values are `device_host`, `device`, `tpu_sparsecore`, and "
            "`gpu_stream:#`."
        )


@contextmanager
def compute_on(compute_type: str) -> Iterator[None]:
    """Within the block, operations are marked for XLA with the hardware that is to compute them.

    Args:
        compute_type: ``"device_host"``, ``"device"``, ``"tpu_sparsecore"``, or ``"gpu_stream:"`` and a number.

    Raises:
        TypeError: it is no string.
        ValueError: it is another one.

    Differs from JAX:
        On backends other than XLA it changes nothing.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> from plugjax.experimental.compute_on import compute_on
        >>> @plugjax.jit
        ... def f(x):
        ...     with compute_on("device_host"):
        ...         return jnp.sin(x)
        >>> '_xla_compute_type = "host"' in f.lower(1.0).as_text("stablehlo")
        True
    """
    _check_compute_type(compute_type)
    pairs = tuple(sorted(compute_attributes(compute_type).items()))

    def change(marks: Marks) -> Marks:
        return marks._replace(operations=pairs)

    with marking(change):
        yield


def compute_on2(
    f: Function | None = None,
    *,
    compute_type: str,
    out_memory_spaces: Any,
    compiler_options: Mapping[str, Any] | None = None,
) -> Any:
    """A function that is computed as one call, for which XLA is told the hardware; without ``f``, a decorator.

    Args:
        f: the function, of pytrees of arrays.
        compute_type: as in :func:`compute_on`.
        out_memory_spaces: ``plugjax.memory.Space`` of each result, or a pytree prefix of them.
        compiler_options: what the compiler for that hardware is told, for JSON.

    Raises:
        TypeError: ``compute_type`` is no string.
        ValueError: an unknown ``compute_type``, or calls within one another.

    Differs from JAX:
        On backends other than XLA it changes nothing, and types of values do not say in which memory they are.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> from plugjax.experimental.compute_on import compute_on2
        >>> host = compute_on2(jnp.square, compute_type="device_host", out_memory_spaces=plugjax.memory.Space.Device)
        >>> plugjax.jit(host)(3.0)
        Array(9., dtype=float32, weak_type=True)
    """
    options = {
        "compute_type": compute_type,
        "out_memory_spaces": out_memory_spaces,
        "compiler_options": compiler_options,
    }
    if f is None:
        return lambda g: compute_on2(g, **options)
    _check_compute_type(compute_type)

    def params(out_tree: Any, count: int) -> dict[str, Any]:
        full = pytree.unflatten(out_tree, [0] * count)
        return {
            "compute_type": compute_type,
            "out_memory_spaces": tuple(pytree.broadcast_prefix(out_memory_spaces, full)),
            "compiler_options_json": None
            if compiler_options is None
            else json.dumps(compiler_options),
        }

    def wrapped(*args: Any) -> Any:
        return _called(compute_on_p, f, args, {}, params, lambda: compute_on(compute_type))

    return wrapped


# One kernel ---------------------------------------------------------------------------------------


def fused(*, out_spaces: Sequence[MemorySpace]) -> Callable[[Function], Function]:
    """A decorator: XLA compiles a function to one kernel, on GPUs.

    Args:
        out_spaces: ``plugjax.memory.Space`` of each result.

    Differs from JAX:
        Elsewhere, where JAX refuses, the function is computed as usual. Types of values do not say in which memory they are.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> from plugjax.experimental.fused import fused
        >>> fused(out_spaces=(plugjax.memory.Space.Device,))(jnp.square)(3.0)
        Array(9., dtype=float32, weak_type=True)
    """

    def wrap(f: Function) -> Function:
        def wrapped(*args: Any) -> Any:
            return _called(fused_p, f, args, {}, lambda _, __: {"out_spaces": tuple(out_spaces)})

        return wrapped

    return wrap


# Rules --------------------------------------------------------------------------------------------


def spaces(given: Sequence[Any] | None, jaxpr: ClosedJaxpr) -> tuple[Any, ...]:
    """The memory of each result; what a transformation made is on the device."""
    return (MemorySpace.Device,) * len(jaxpr.out_avals) if given is None else tuple(given)


def _derived(_: str, params: dict[str, Any]) -> dict[str, Any]:
    return {k: None if k in ("out_memory_spaces", "out_spaces") else v for k, v in params.items()}


def _define(primitive: Primitive) -> None:
    define_call(rules, primitive, _derived)

    @rules.define(linearize_rule, primitive)
    def _linearize(
        primals: Sequence[Any], tangents: Sequence[Any], *, jaxpr: ClosedJaxpr, **params: Any
    ) -> tuple[list[Any], list[Any]]:
        split = linearize_jaxpr(jaxpr, [type(t) is not Zero for t in tangents])
        others = _derived("linearize", params)
        results = primitive.bind(*primals, jaxpr=split.primal, **others)
        count = len(jaxpr.out_avals)
        residuals = split.residuals(primals, results[count:])
        given = [t for t in tangents if type(t) is not Zero]
        found = primitive.bind(*residuals, *given, jaxpr=split.linear, **others)
        return results[:count], split.tangents(found)

    @rules.define(discharge_rule, primitive)
    def _discharge(
        marked: Sequence[bool], operands: Sequence[Any], *, jaxpr: ClosedJaxpr, **params: Any
    ) -> tuple[list[Any], list[Any]]:
        outs = primitive.bind(
            *operands, jaxpr=discharged(jaxpr, marked), **_derived("discharge", params)
        )
        count = len(jaxpr.out_avals)
        return outs[:count], outs[count:]

    @rules.define(expand_rule, primitive)
    def _expand(*, jaxpr: ClosedJaxpr, **_: Any) -> Kept:
        return Kept(jaxpr, inline=False)

    @rules.define(lowered_rule, primitive)
    def _lowered(
        in_avals: Sequence[Any], arrays: Sequence[Any], *, jaxpr: ClosedJaxpr, **params: Any
    ) -> list[Any]:
        found: list[Any] = primitive.bind(
            *arrays, jaxpr=lowered(jaxpr), **_derived("lower", params)
        )
        return found


for _primitive in CALLS:
    _define(_primitive)


@rules.define(printed_rule, compute_on_p)
def _printed_compute(
    *, jaxpr: ClosedJaxpr, out_memory_spaces: Any, **params: Any
) -> dict[str, Any]:
    return {**params, "jaxpr": jaxpr, "out_memory_spaces": spaces(out_memory_spaces, jaxpr)}


@rules.define(printed_rule, fused_p)
def _printed_fused(*, jaxpr: ClosedJaxpr, out_spaces: Any) -> dict[str, Any]:
    return {"jaxpr": jaxpr, "out_spaces": spaces(out_spaces, jaxpr)}
