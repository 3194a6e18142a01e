"""Control flow as primitives: programs as parameters, so that every transformation works on them."""

from plugjax.lax.control_flow.associative_scan import associative_scan
from plugjax.lax.control_flow.cond import cond, cond_p, rules as _cond_rules, switch
from plugjax.lax.control_flow.custom_linear_solve import (
    custom_linear_solve,
    linear_solve_p,
    rules as _solve_rules,
)
from plugjax.lax.control_flow.custom_root import custom_root
from plugjax.lax.control_flow.discharging import rules as _discharge_rules
from plugjax.lax.control_flow.fori_loop import fori_loop
from plugjax.lax.control_flow.mapping import map
from plugjax.lax.control_flow.platform_dependent import platform_branch, platform_dependent
from plugjax.lax.control_flow.rematerialization import rules as _remat_rules
from plugjax.lax.control_flow.replaying import rules as _replay_rules
from plugjax.lax.control_flow.scan import rules as _scan_rules, scan, scan_p
from plugjax.lax.control_flow.scan_derivatives import rules as _scan_derivative_rules
from plugjax.lax.control_flow.scan_transpose import rules as _scan_transpose_rules
from plugjax.lax.control_flow.while_loop import rules as _while_rules, while_loop, while_p

rule_sets = [
    _cond_rules, _scan_rules, _scan_derivative_rules, _scan_transpose_rules, _while_rules, _remat_rules, _replay_rules, _solve_rules, _discharge_rules,
]  # fmt: skip

__all__ = [
    "associative_scan",
    "cond",
    "cond_p",
    "custom_linear_solve",
    "custom_root",
    "fori_loop",
    "linear_solve_p",
    "map",
    "platform_branch",
    "platform_dependent",
    "rule_sets",
    "scan",
    "scan_p",
    "switch",
    "while_loop",
    "while_p",
]
