"""Transformations of functions, of programs, and what their rules get and give."""

from plugjax.transforms.batch_steps import BatchStep, batch_axes
from plugjax.transforms.batching import batch_flat, batch_jaxpr, materialize, vmap
from plugjax.transforms.callables import resemble
from plugjax.transforms.dce import dce, prune, prune_closed, prune_outputs
from plugjax.transforms.discharge import ReferenceEffect, discharge, discharged, is_reference
from plugjax.transforms.enclosing import describe_frames, enclosing
from plugjax.transforms.ending import ends_trace
from plugjax.transforms.expansion import Kept, computed, expanded
from plugjax.transforms.flat_calls import Structure, flat_call, named_after, with_fixed
from plugjax.transforms.function_caches import cached_trace, derived_once, kept_for
from plugjax.transforms.grad import grad, jvp, linear_transpose, linearize, value_and_grad, vjp
from plugjax.transforms.high_values import (
    HighType,
    HiPspec,
    MappingSpec,
    has_high,
    is_high,
    low_avals,
    lowered,
    stacked_aval,
    step_aval,
)
from plugjax.transforms.inlining import inlined
from plugjax.transforms.jacobian import hessian, jacfwd, jacrev
from plugjax.transforms.jaxpr_check import check_jaxpr
from plugjax.transforms.jaxpr_print import VariableNames, print_equation, print_jaxpr
from plugjax.transforms.jvp import JVPTrace, JVPTracer, jvp_flat, jvp_jaxpr, with_zeros
from plugjax.transforms.linearize import (
    LinearizedJaxpr,
    TapeTracer,
    linearize_flat,
    linearize_jaxpr,
    linearize_on_tape,
)
from plugjax.transforms.mapped_classes import register_mapped
from plugjax.transforms.marks import NO_MARKS, Marks, marking, marks_of
from plugjax.transforms.mutable_values import (
    MutableType,
    MutableValueError,
    Opened,
    current,
    current_state,
    is_mutable,
    stands_for,
    with_opened,
)
from plugjax.transforms.named_axes import (
    Axis,
    axes_inside,
    bound_axes,
    free_axes,
    named_axis_size,
)
from plugjax.transforms.namespaces import late, public, publish, show_only
from plugjax.transforms.physical import physicalize
from plugjax.transforms.replay import Observer, replay
from plugjax.transforms.simplify import simplify
from plugjax.transforms.staging import StagingTrace, StagingTracer, open_constants, stage
from plugjax.transforms.tracebacks import api_boundary, behind_boundary, shorten_traceback
from plugjax.transforms.transpose import (
    UndefinedPrimal,
    is_undefined_primal,
    transpose_flat,
    transpose_jaxpr,
)
from plugjax.transforms.varying import (
    converted,
    cotangent_aval,
    cotangent_of,
    typed_axes,
    with_varying,
)
from plugjax.transforms.vmappable import register_vmappable

__all__ = [
    "NO_MARKS",
    "Axis",
    "BatchStep",
    "HiPspec",
    "HighType",
    "JVPTrace",
    "JVPTracer",
    "Kept",
    "LinearizedJaxpr",
    "MappingSpec",
    "Marks",
    "MutableType",
    "MutableValueError",
    "Observer",
    "Opened",
    "ReferenceEffect",
    "StagingTrace",
    "StagingTracer",
    "Structure",
    "TapeTracer",
    "UndefinedPrimal",
    "VariableNames",
    "api_boundary",
    "axes_inside",
    "batch_axes",
    "batch_flat",
    "batch_jaxpr",
    "behind_boundary",
    "bound_axes",
    "cached_trace",
    "check_jaxpr",
    "computed",
    "converted",
    "cotangent_aval",
    "cotangent_of",
    "current",
    "current_state",
    "dce",
    "derived_once",
    "describe_frames",
    "discharge",
    "discharged",
    "enclosing",
    "ends_trace",
    "expanded",
    "flat_call",
    "free_axes",
    "grad",
    "has_high",
    "hessian",
    "inlined",
    "is_high",
    "is_mutable",
    "is_reference",
    "is_undefined_primal",
    "jacfwd",
    "jacrev",
    "jvp",
    "jvp_flat",
    "jvp_jaxpr",
    "kept_for",
    "late",
    "linear_transpose",
    "linearize",
    "linearize_flat",
    "linearize_jaxpr",
    "linearize_on_tape",
    "low_avals",
    "lowered",
    "marking",
    "marks_of",
    "materialize",
    "named_after",
    "named_axis_size",
    "open_constants",
    "physicalize",
    "print_equation",
    "print_jaxpr",
    "prune",
    "prune_closed",
    "prune_outputs",
    "public",
    "publish",
    "register_mapped",
    "register_vmappable",
    "replay",
    "resemble",
    "shorten_traceback",
    "show_only",
    "simplify",
    "stacked_aval",
    "stage",
    "stands_for",
    "step_aval",
    "transpose_flat",
    "transpose_jaxpr",
    "typed_axes",
    "value_and_grad",
    "vjp",
    "vmap",
    "with_fixed",
    "with_opened",
    "with_varying",
    "with_zeros",
]
