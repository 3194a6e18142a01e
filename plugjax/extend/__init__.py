"""The public surface for authors of primitives, transformations, backends and passes.

The names of every plugin are here. Each submodule holds all names of one subject, with those that few plugins need:

* :mod:`plugjax.extend.core`: arrays, avals, primitives, programs, and the primitives that the core itself uses;
* :mod:`plugjax.extend.rules`: rule kinds, rule sets, and what a plugin says of itself;
* :mod:`plugjax.extend.transforms`: transformations of functions and of programs;
* :mod:`plugjax.extend.calls`: calls that hold programs, and functions with rules of the user's own;
* :mod:`plugjax.extend.execution`: evaluation, compilation, and the cache of compilations;
* :mod:`plugjax.extend.backend`: what a backend is, and those that are installed;
* :mod:`plugjax.extend.random`: generators of random numbers;
* :mod:`plugjax.extend.sharding`: XLA's descriptions of shardings as bytes;
* :mod:`plugjax.extend.registry`, :mod:`~plugjax.extend.dtypes`, :mod:`~plugjax.extend.errors`, :mod:`~plugjax.extend.pytree`.

``API_VERSION`` is the version of this surface: a plugin that says another one in its ``PluginInfo`` is skipped.
"""

import importlib
from types import ModuleType

from plugjax.extend import dtypes, errors, pytree, registry
from plugjax.extend.backend import Backend, BackendSpec, Executable
from plugjax.extend.calls import jit_p
from plugjax.extend.core import (
    Array,
    ArrayLike,
    ClosedJaxpr,
    Device,
    Jaxpr,
    JaxprEqn,
    Literal,
    Placement,
    Primitive,
    ShapedArray,
    ShapeDtypeStruct,
    SingleDeviceSharding,
    Trace,
    Tracer,
    Var,
    Zero,
    add_any,
    as_array,
    aval_of,
    config,
    device_get,
    device_put,
    eval_jaxpr,
    instantiate,
    jaxpr_as_fun,
    memoise,
    methods,
    programs_in,
    state,
)
from plugjax.extend.execution import Compiled, EvalTrace
from plugjax.extend.registry import Registry
from plugjax.extend.rules import (
    API_VERSION,
    LazyRules,
    PluginInfo,
    RuleKind,
    RuleSet,
    abstract_eval,
    batching_rule,
    dce_rule,
    hookimpl,
    impl,
    jvp_rule,
    linearize_rule,
    lowering,
    physical_rule,
    transpose_rule,
)
from plugjax.extend.transforms import Axis, UndefinedPrimal, is_undefined_primal, stage
from plugjax.transforms.namespaces import show_only

# Loaded on first use: ``mlir`` needs jaxlib, ``random`` plugins.
_SUBMODULES = ("linear_util", "lowering", "mlir", "random", "sharding", "source_info_util")


def __getattr__(name: str) -> ModuleType:
    if name in _SUBMODULES:
        return importlib.import_module(f"plugjax.extend.{name}")
    raise AttributeError(f"module 'plugjax.extend' has no attribute {name!r}")


__all__ = [
    "API_VERSION",
    "Array",
    "ArrayLike",
    "Axis",
    "Backend",
    "BackendSpec",
    "ClosedJaxpr",
    "Compiled",
    "Device",
    "EvalTrace",
    "Executable",
    "Jaxpr",
    "JaxprEqn",
    "LazyRules",
    "Literal",
    "Placement",
    "PluginInfo",
    "Primitive",
    "Registry",
    "RuleKind",
    "RuleSet",
    "ShapeDtypeStruct",
    "ShapedArray",
    "SingleDeviceSharding",
    "Trace",
    "Tracer",
    "UndefinedPrimal",
    "Var",
    "Zero",
    "abstract_eval",
    "add_any",
    "as_array",
    "aval_of",
    "batching_rule",
    "config",
    "dce_rule",
    "device_get",
    "device_put",
    "dtypes",
    "errors",
    "eval_jaxpr",
    "hookimpl",
    "impl",
    "instantiate",
    "is_undefined_primal",
    "jaxpr_as_fun",
    "jit_p",
    "jvp_rule",
    "linearize_rule",
    "lowering",
    "memoise",
    "methods",
    "physical_rule",
    "programs_in",
    "pytree",
    "registry",
    "stage",
    "state",
    "transpose_rule",
]

show_only(globals(), __all__)
