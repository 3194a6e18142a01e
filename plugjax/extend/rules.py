"""Rule kinds, rule sets, and what a plugin says of itself."""

from plugjax.calls.remat_policy import partial_eval_rule, remat_rule
from plugjax.core.effects import effects_rule
from plugjax.core.hookspecs import API_VERSION, PluginInfo, hookimpl
from plugjax.core.rules import (
    AbsentRule,
    LazyRules,
    Rule,
    RuleKind,
    RuleSet,
    abstract_eval,
    impl,
    lowering,
    scalar_impl,
)
from plugjax.transforms.batching import batching_rule
from plugjax.transforms.dce import dce_rule
from plugjax.transforms.discharge import discharge_rule
from plugjax.transforms.expansion import expand_rule
from plugjax.transforms.high_values import lowered_rule
from plugjax.transforms.jaxpr_print import notation_rule, printed_rule
from plugjax.transforms.jvp import JvpRule, jvp_rule
from plugjax.transforms.linearize import TransposeRule, linearize_rule
from plugjax.transforms.named_axes import ANY_AXIS, axis_names_rule, binds_rule
from plugjax.transforms.physical import PhysicalRule, physical_rule
from plugjax.transforms.replay import ReplayRule, replay_rule
from plugjax.transforms.simplify import fold_rule, same_rule
from plugjax.transforms.staging import opened_rule, stage_rule
from plugjax.transforms.transpose import transpose_rule
from plugjax.transforms.varying import conversion_rule, varying_rule
from plugjax.transforms.work import Work, work_rule

__all__ = [
    "ANY_AXIS",
    "API_VERSION",
    "AbsentRule",
    "JvpRule",
    "LazyRules",
    "PhysicalRule",
    "PluginInfo",
    "ReplayRule",
    "Rule",
    "RuleKind",
    "RuleSet",
    "TransposeRule",
    "Work",
    "abstract_eval",
    "axis_names_rule",
    "batching_rule",
    "binds_rule",
    "conversion_rule",
    "dce_rule",
    "discharge_rule",
    "effects_rule",
    "expand_rule",
    "fold_rule",
    "hookimpl",
    "impl",
    "jvp_rule",
    "linearize_rule",
    "lowered_rule",
    "lowering",
    "notation_rule",
    "opened_rule",
    "partial_eval_rule",
    "physical_rule",
    "printed_rule",
    "remat_rule",
    "replay_rule",
    "same_rule",
    "scalar_impl",
    "stage_rule",
    "transpose_rule",
    "varying_rule",
    "work_rule",
]
