"""Control flow as primitives: programs as parameters, so that every transformation works on them."""

from plugjax.lax.control_flow.cond import cond, cond_p, switch
from plugjax.lax.control_flow.cond import rules as _cond_rules
from plugjax.lax.control_flow.fori_loop import fori_loop
from plugjax.lax.control_flow.replaying import rules as _replay_rules
from plugjax.lax.control_flow.scan import map, scan, scan_p
from plugjax.lax.control_flow.scan import rules as _scan_rules
from plugjax.lax.control_flow.while_loop import rules as _while_rules
from plugjax.lax.control_flow.while_loop import while_loop, while_p

rule_sets = [_cond_rules, _scan_rules, _while_rules, _replay_rules]

__all__ = [
    "cond",
    "cond_p",
    "fori_loop",
    "map",
    "rule_sets",
    "scan",
    "scan_p",
    "switch",
    "while_loop",
    "while_p",
]
