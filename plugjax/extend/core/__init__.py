"""Values, primitives, programs and the primitives that the core itself uses; JAX's names of ``jax.extend.core`` among them."""

from plugjax.core.array import (
    Array,
    as_array,
    aval_of,
    default_placement,
    from_host,
    scalar_aval,
    scalar_value,
    transfer,
    value_types,
)
from plugjax.core.aval import AbstractReference, AbstractValue, Shape, ShapedArray, physical_aval
from plugjax.core.caches import Cache, new_cache
from plugjax.core.config import Config, Fingerprint, Option, boolean, config
from plugjax.core.device import (
    Device,
    Placement,
    Sharding,
    SingleDeviceSharding,
)
from plugjax.core.effects import Effect, Effects, no_effects
from plugjax.core.errors import InconclusiveDimensionOperation
from plugjax.core.jaxpr import (
    Atom,
    ClosedJaxpr,
    DropVar,
    Jaxpr,
    JaxprEqn,
    Literal,
    Var,
    eval_closed,
    eval_jaxpr,
    memoise,
    new_eqn,
    programs_in,
)
from plugjax.core.operators import ArrayLike, methods
from plugjax.core.primitive import Primitive, Trace, Tracer, state
from plugjax.core.source_info import Source, is_internal, register_internal, user_source
from plugjax.core.vocabulary import (
    Zero,
    add_any,
    add_any_p,
    broadcast_in_dim_p,
    convert_element_type_p,
    instantiate,
    mul_p,
    optimization_barrier_p,
    reduce_sum_p,
    reshape_p,
    reshard_p,
    select_n_p,
    sharding_constraint_p,
    stop_gradient_p,
    transpose_p,
    zeros,
)
from plugjax.execution.device_put import device_put, device_put_p
from plugjax.execution.fetching import block_until_ready, device_get
from plugjax.extend.core import primitives as primitives
from plugjax.extend.core.call_primitives import CallPrimitive, call_impl
from plugjax.extend.core.debug_info import DebugInfo
from plugjax.extend.core.effect_types import (
    EffectTypeSet,
    control_flow_allowed_effects,
    lowerable_effects,
)
from plugjax.extend.core.programs import (
    gensym,
    jaxpr_as_fun,
    jaxprs_in_params,
    mapped_aval,
    max_dim,
    min_dim,
    new_jaxpr_eqn,
    subjaxprs,
    unmapped_aval,
)
from plugjax.extend.core.token_types import AbstractToken, Token, abstract_token
from plugjax.extend.core.trace_state import (
    TraceTag,
    eval_context,
    find_top_trace,
    get_opaque_trace_state,
    nonempty_axis_env as nonempty_axis_env_DO_NOT_USE,  # noqa: N812  # JAX's name
    set_current_trace,
    take_current_trace,
    unsafe_am_i_under_a_jit as unsafe_am_i_under_a_jit_DO_NOT_USE,  # noqa: N812
    unsafe_am_i_under_a_vmap as unsafe_am_i_under_a_vmap_DO_NOT_USE,  # noqa: N812
    unsafe_get_axis_names as unsafe_get_axis_names_DO_NOT_USE,  # noqa: N812
)
from plugjax.extend.core.values import (
    array_types,
    concrete_or_error,
    primal_dtype_to_tangent_dtype,
    valid_jaxtype,
)
from plugjax.meshes.placements import common_placement
from plugjax.transforms.axes import broadcast_axis, moveaxis
from plugjax.transforms.jaxpr_check import JaxprTypeError, check_jaxpr
from plugjax.transforms.namespaces import show_only
from plugjax.transforms.shape_struct import ShapeDtypeStruct

__all__ = [
    "AbstractReference",
    "AbstractToken",
    "AbstractValue",
    "Array",
    "ArrayLike",
    "Atom",
    "Cache",
    "CallPrimitive",
    "ClosedJaxpr",
    "Config",
    "DebugInfo",
    "Device",
    "DropVar",
    "Effect",
    "EffectTypeSet",
    "Effects",
    "Fingerprint",
    "InconclusiveDimensionOperation",
    "Jaxpr",
    "JaxprEqn",
    "JaxprTypeError",
    "Literal",
    "Option",
    "Placement",
    "Primitive",
    "Shape",
    "ShapeDtypeStruct",
    "ShapedArray",
    "Sharding",
    "SingleDeviceSharding",
    "Source",
    "Token",
    "Trace",
    "TraceTag",
    "Tracer",
    "Var",
    "Zero",
    "abstract_token",
    "add_any",
    "add_any_p",
    "array_types",
    "as_array",
    "aval_of",
    "block_until_ready",
    "boolean",
    "broadcast_axis",
    "broadcast_in_dim_p",
    "call_impl",
    "check_jaxpr",
    "common_placement",
    "concrete_or_error",
    "config",
    "control_flow_allowed_effects",
    "convert_element_type_p",
    "default_placement",
    "device_get",
    "device_put",
    "device_put_p",
    "eval_closed",
    "eval_context",
    "eval_jaxpr",
    "find_top_trace",
    "from_host",
    "gensym",
    "get_opaque_trace_state",
    "instantiate",
    "is_internal",
    "jaxpr_as_fun",
    "jaxprs_in_params",
    "lowerable_effects",
    "mapped_aval",
    "max_dim",
    "memoise",
    "methods",
    "min_dim",
    "moveaxis",
    "mul_p",
    "new_cache",
    "new_eqn",
    "new_jaxpr_eqn",
    "no_effects",
    "nonempty_axis_env_DO_NOT_USE",
    "optimization_barrier_p",
    "physical_aval",
    "primal_dtype_to_tangent_dtype",
    "primitives",
    "programs_in",
    "reduce_sum_p",
    "register_internal",
    "reshape_p",
    "reshard_p",
    "scalar_aval",
    "scalar_value",
    "select_n_p",
    "set_current_trace",
    "sharding_constraint_p",
    "state",
    "stop_gradient_p",
    "subjaxprs",
    "take_current_trace",
    "transfer",
    "transpose_p",
    "unmapped_aval",
    "unsafe_am_i_under_a_jit_DO_NOT_USE",
    "unsafe_am_i_under_a_vmap_DO_NOT_USE",
    "unsafe_get_axis_names_DO_NOT_USE",
    "user_source",
    "valid_jaxtype",
    "value_types",
    "zeros",
]

show_only(globals(), __all__)
