"""The core: values, traces, rules and transformations. It knows no primitive beyond its vocabulary, and no backend.

Everything that a plugin needs is here; ``hookspecs`` is the map of extension points.
"""

from plugjax.core import dtypes, errors, hookspecs, registry
from plugjax.core.array import Array, as_array, aval_of, device_get, device_put
from plugjax.core.aval import ShapedArray, ShapeDtypeStruct
from plugjax.core.backend import Backend, BackendSpec, Executable
from plugjax.core.config import config
from plugjax.core.device import Device, Placement, SingleDeviceSharding
from plugjax.core.eval import EvalTrace
from plugjax.core.hookspecs import PluginInfo, hookimpl
from plugjax.core.jaxpr import (
    ClosedJaxpr,
    Jaxpr,
    JaxprEqn,
    Literal,
    Var,
    eval_jaxpr,
    jaxpr_as_fun,
    memoise,
    set_printer,
    subjaxprs,
)
from plugjax.core.jaxpr_print import print_jaxpr
from plugjax.core.operators import methods
from plugjax.core.primitive import Primitive
from plugjax.core.registry import Registry
from plugjax.core.rules import LazyRules, RuleKind, RuleSet, abstract_eval, impl, lowering
from plugjax.core.trace import Trace, Tracer, state
from plugjax.core.transforms.batching import Axis, batching_rule
from plugjax.core.transforms.call import jit_p
from plugjax.core.transforms.compile import Compiled
from plugjax.core.transforms.dce import dce_rule
from plugjax.core.transforms.jit import set_evaluator_type
from plugjax.core.transforms.jvp import jvp_rule
from plugjax.core.transforms.linearize import linearize_rule
from plugjax.core.transforms.physical import physical_rule
from plugjax.core.transforms.staging import stage
from plugjax.core.transforms.transpose import (
    UndefinedPrimal,
    is_undefined_primal,
    transpose_rule,
)
from plugjax.core.vocabulary import Zero, add_any, instantiate

batching = batching_rule
jvp = jvp_rule
transpose = transpose_rule

set_evaluator_type(EvalTrace)
set_printer(print_jaxpr)


def _array_methods() -> dict[str, object]:
    found: dict[str, object] = {}
    for provided in reversed(registry.active().hook.plugjax_array_methods()):
        found.update(provided)
    return found


methods.refill(_array_methods)  # type: ignore[arg-type]  # functions, as plugins give them

__all__ = [
    "Array", "Axis", "Backend", "BackendSpec", "ClosedJaxpr", "Compiled", "Device", "EvalTrace", "Executable", "Jaxpr",
    "JaxprEqn", "LazyRules", "Literal", "Placement", "PluginInfo", "Primitive", "Registry", "RuleKind", "RuleSet",
    "ShapeDtypeStruct", "ShapedArray", "SingleDeviceSharding", "Trace", "Tracer", "UndefinedPrimal", "Var", "Zero",
    "abstract_eval", "add_any", "as_array", "aval_of", "batching", "batching_rule", "config", "dce_rule", "device_get",
    "device_put", "dtypes", "errors", "eval_jaxpr", "hookimpl", "hookspecs", "impl", "instantiate",
    "is_undefined_primal", "jaxpr_as_fun", "jit_p", "jvp", "jvp_rule", "linearize_rule", "lowering", "memoise", "methods",
    "physical_rule", "registry", "stage", "state", "subjaxprs", "transpose", "transpose_rule",
]  # fmt: skip
