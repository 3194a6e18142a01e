"""Calls that hold programs or functions, and functions with rules of the user's own."""

from plugjax.calls.call import define_call, jit_p
from plugjax.calls.checkpoint import checkpoint, checkpoint_p
from plugjax.calls.closures import closure_convert, custom_gradient
from plugjax.calls.custom_jvp import custom_jvp, custom_jvp_call_p
from plugjax.calls.custom_vjp import CustomVJPPrimal, custom_lin_p, custom_vjp, custom_vjp_call_p
from plugjax.calls.custom_vmap import custom_vmap, custom_vmap_call_p
from plugjax.calls.defined_primitives import Definitions, apply_primitive, define, defined
from plugjax.calls.linear_call import linear_call, linear_call_p
from plugjax.calls.python_calls import UserRule, define_python_call
from plugjax.calls.remat_opt import remat_opt_p
from plugjax.calls.remat_policy import Policy, SplitEquation, SplitProgram, split_by_policy

__all__ = [
    "CustomVJPPrimal",
    "Definitions",
    "Policy",
    "SplitEquation",
    "SplitProgram",
    "UserRule",
    "apply_primitive",
    "checkpoint",
    "checkpoint_p",
    "closure_convert",
    "custom_gradient",
    "custom_jvp",
    "custom_jvp_call_p",
    "custom_lin_p",
    "custom_vjp",
    "custom_vjp_call_p",
    "custom_vmap",
    "custom_vmap_call_p",
    "define",
    "define_call",
    "define_python_call",
    "defined",
    "jit_p",
    "linear_call",
    "linear_call_p",
    "remat_opt_p",
    "split_by_policy",
]
