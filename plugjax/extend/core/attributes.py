"""JAX's names on objects of the core that the core itself does without: of programs, equations, primitives, ``plugjax.core``."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from types import ModuleType
from typing import Any

from plugjax.calls.defined_primitives import define
from plugjax.core import registry
from plugjax.core.aval import ShapedArray
from plugjax.core.device import Backend, Device, Sharding
from plugjax.core.effects import Effects, effects_rule, no_effects
from plugjax.core.jaxpr import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, eval_jaxpr
from plugjax.core.primitive import Primitive, Trace, Tracer
from plugjax.core.rules import abstract_eval
from plugjax.execution.compile_time import ensure_compile_time_eval
from plugjax.execution.memories import checked_memory_kind, memories, memory
from plugjax.extend import core
from plugjax.extend.core.debug_info import DebugInfo
from plugjax.extend.core.programs import max_dim, min_dim
from plugjax.extend.core.trace_state import eval_context, set_current_trace
from plugjax.extend.core.types_of_arrays import ARRAY_TYPES
from plugjax.extend.source_info_util import source_info_of
from plugjax.meshes import geometry
from plugjax.transforms.expansion import Kept, computed, expand_rule
from plugjax.transforms.high_values import has_high
from plugjax.transforms.jaxpr_print import print_jaxpr
from plugjax.transforms.marks import NO_MARKS, Marks, marking, marks_of


class EquationSettings:
    """What was set around an equation when it was written and has to be set again where it is evaluated: its marks."""

    def __init__(self, marks: Marks) -> None:
        self._marks = marks

    @property
    def manager(self) -> AbstractContextManager[None]:
        """A context to evaluate the equation in."""
        if self._marks is NO_MARKS:
            return nullcontext()
        return marking(lambda outer: self._marks)

    @property
    def xla_metadata(self) -> dict[str, str] | None:
        """The metadata of its operations, for XLA."""
        return dict(self._marks.results) or None


def _replace(jaxpr: Jaxpr, /, **changes: Any) -> Jaxpr:
    info = changes.get("debug_info")
    return Jaxpr(
        changes.get("constvars", jaxpr.constvars),
        changes.get("invars", jaxpr.invars),
        changes.get("outvars", jaxpr.outvars),
        changes.get("eqns", jaxpr.eqns),
        jaxpr.debug_name if info is None else info.func_name,
    )


def _replace_closed(jaxpr: ClosedJaxpr, /, **changes: Any) -> ClosedJaxpr:
    return ClosedJaxpr(changes.get("jaxpr", jaxpr.jaxpr), changes.get("consts", jaxpr.consts))


def _pretty_print(
    jaxpr: Jaxpr | ClosedJaxpr, *, source_info: bool = False, use_color: bool = False
) -> str:
    inner = jaxpr.jaxpr if isinstance(jaxpr, ClosedJaxpr) else jaxpr
    return print_jaxpr(inner, sources=source_info)


def _def_effectful_abstract_eval(
    primitive: Primitive, rule: Callable[..., tuple[Any, Any]]
) -> Callable[..., Any]:
    found: dict[Any, Effects] = {}

    def avals(*in_avals: Any, **params: Any) -> Any:
        result, effects = rule(*in_avals, **params)
        key = tuple(params.items())
        found[key] = found.get(key, no_effects) | frozenset(effects)
        return result

    define(abstract_eval, primitive, avals)
    define(effects_rule, primitive, lambda **params: found.get(tuple(params.items()), no_effects))
    return rule


def _abstract_eval(primitive: Primitive, *avals: Any, **params: Any) -> tuple[Any, Effects]:
    result = registry.table(abstract_eval)[primitive](*avals, **params)
    effect = registry.table(effects_rule).find(primitive)
    return result, no_effects if effect is None else effect(**params)


def _process(trace: Trace, primitive: Primitive, args: Sequence[Any], params: Any) -> Any:
    """Have a trace of a library interpret a primitive: its method ``process_primitive``, as JAX calls it.

    Raises:
        TypeError: it has no such method.
    """
    interpret = getattr(type(trace), "process_primitive", None)
    if interpret is None:
        raise TypeError(f"{type(trace).__name__} does not interpret primitives")
    expand = registry.table(expand_rule).get(primitive)
    callee = None if expand is None else expand(**params)
    if callee is not None and not isinstance(callee, Kept):
        # A call with rules of the user's own stands for its function.
        results = computed(callee, args)
        return results if primitive.multiple_results else results[0]
    # The trace itself sets the one that it hands operations on to.
    with eval_context():
        return interpret(trace, primitive, args, params)


def _bind_with_trace(
    primitive: Primitive, trace: Trace, args: Sequence[Any], avals: Any, params: Any
) -> Any:
    with set_current_trace(trace):
        return primitive.bind(*args, **params)


def _impl(primitive: Primitive, *args: Any, **params: Any) -> Any:
    with eval_context():
        return primitive.bind(*args, **params)


def _method(function: Callable[..., Any]) -> Callable[[Any], Any]:
    return lambda owner: partial(function, owner)


def _debug_info(jaxpr: Jaxpr) -> DebugInfo:
    return DebugInfo(traced_for="jit", func_src_info=jaxpr.debug_name)


def _avals(atoms: Sequence[Any]) -> list[Any]:
    return [atom.aval for atom in atoms]


# By class, from a name to the attribute of an object.
_ATTRIBUTES: dict[type, dict[str, Callable[[Any], Any]]] = {
    JaxprEqn: {
        "source_info": lambda eqn: source_info_of(eqn.source),
        "ctx": lambda eqn: EquationSettings(marks_of(eqn.source)),
    },
    Jaxpr: {
        "replace": _method(_replace),
        "pretty_print": _method(_pretty_print),
        "in_avals": lambda jaxpr: _avals(jaxpr.invars),
        "out_avals": lambda jaxpr: _avals(jaxpr.outvars),
        "debug_info": _debug_info,
        "is_high": lambda jaxpr: has_high(ClosedJaxpr(jaxpr, ())),
    },
    ClosedJaxpr: {
        "replace": _method(_replace_closed),
        "pretty_print": _method(_pretty_print),
        "literals": lambda jaxpr: jaxpr.consts,
        "map_jaxpr": _method(lambda jaxpr, f: ClosedJaxpr(f(jaxpr.jaxpr), jaxpr.consts)),
        "constvars": lambda jaxpr: jaxpr.jaxpr.constvars,
        "invars": lambda jaxpr: jaxpr.jaxpr.invars,
        "outvars": lambda jaxpr: jaxpr.jaxpr.outvars,
        "debug_info": lambda jaxpr: _debug_info(jaxpr.jaxpr),
        "is_high": has_high,
    },
    ShapedArray: ARRAY_TYPES,
    Backend: {
        "platform": lambda backend: backend.devices()[0].platform,
        "platform_version": lambda backend: backend.name,
        "runtime_type": lambda backend: f"plugjax_{backend.name}",
        "device_count": _method(lambda backend: len(backend.devices())),
        "local_devices": _method(lambda backend: list(backend.devices())),
        "process_index": _method(lambda backend: backend.processes[0]),
    },
    Trace: {"main": lambda trace: trace, "process": _method(_process)},
    Sharding: geometry.ATTRIBUTES,
    Device: {
        "client": lambda device: device.backend,
        "addressable_memories": _method(memories),
        "checked_memory_kind": _method(checked_memory_kind),
        "default_memory": _method(lambda device: memories(device)[0]),
        "memory": _method(memory),
        # Backends do not tell, as with JAX on CPUs.
        "memory_stats": _method(lambda device: None),
    },
    Primitive: {
        "abstract_eval": _method(_abstract_eval),
        "bind_with_trace": _method(_bind_with_trace),
        "call_primitive": lambda primitive: False,
        "def_effectful_abstract_eval": _method(_def_effectful_abstract_eval),
        "get_bind_params": lambda primitive: dict,
        "impl": _method(_impl),
        "is_high": lambda primitive: False,
    },
}

# Names of ``jax.core`` that modules of the core and packages above define.
_CORE: dict[str, Any] = {
    "Atom": Atom,
    "Trace": Trace,
    "Tracer": Tracer,
    "eval_jaxpr": eval_jaxpr,
    "ParamDict": dict[str, Any],
    "Value": Any,
    "ensure_compile_time_eval": ensure_compile_time_eval,
    "eval_context": eval_context,
    "max_dim": max_dim,
    "min_dim": min_dim,
}
# Those that JAX still has there, with a warning.
_DEPRECATED = (
    "CallPrimitive", "DebugInfo", "DropVar", "Effect", "Effects", "InconclusiveDimensionOperation", "JaxprTypeError",
    "check_jaxpr", "concrete_or_error", "find_top_trace", "gensym", "get_opaque_trace_state", "jaxprs_in_params",
    "new_jaxpr_eqn", "no_effects", "nonempty_axis_env_DO_NOT_USE", "primal_dtype_to_tangent_dtype",
    "unsafe_am_i_under_a_jit_DO_NOT_USE", "unsafe_am_i_under_a_vmap_DO_NOT_USE", "unsafe_get_axis_names_DO_NOT_USE",
    "valid_jaxtype",
)  # fmt: skip
# Those that JAX has removed from there, and where they are.
_MOVED = {
    "get_aval": "plugjax.typeof",
    **{
        name: f"plugjax.extend.core.{name}"
        for name in (
            "AbstractToken", "TraceTag", "call_impl", "mapped_aval", "set_current_trace", "subjaxprs", "take_current_trace",
            "unmapped_aval",
        )
    },
}  # fmt: skip


def attribute(owner: Any, name: str) -> Any:
    """An attribute of an object of the core, or of ``plugjax.core``.

    Raises:
        AttributeError: it has none of this name.
    """
    if isinstance(owner, ModuleType):
        return _of_core(owner, name)
    for kind in type(owner).__mro__:
        found = _ATTRIBUTES.get(kind, {}).get(name)
        if found is not None:
            return found(owner)
    raise AttributeError(f"'{type(owner).__name__}' object has no attribute '{name}'")


def _of_core(module: ModuleType, name: str) -> Any:
    if name in _CORE:
        return _CORE[name]
    if name in _DEPRECATED:
        warnings.warn(
            f"plugjax.core.{name} is deprecated. Use plugjax.extend.core.{name}.",
            DeprecationWarning,
            stacklevel=4,
        )
        return getattr(core, name)
    if name in _MOVED:
        raise AttributeError(f"plugjax.core.{name} was removed. Use {_MOVED[name]}.")
    raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")


__all__ = ["attribute"]
