"""Control flow as primitives: programs as parameters, so that every transformation works on them."""

from plugjax.lax.control_flow.cond import cond, cond_p, switch
from plugjax.lax.control_flow.fori_loop import fori_loop
from plugjax.lax.control_flow.scan import map, scan, scan_p
from plugjax.lax.control_flow.while_loop import while_loop, while_p

__all__ = [
    "cond",
    "cond_p",
    "fori_loop",
    "map",
    "scan",
    "scan_p",
    "switch",
    "while_loop",
    "while_p",
]
