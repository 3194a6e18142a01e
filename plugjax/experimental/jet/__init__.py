"""Derivatives of high order in one pass: the names of ``jax.experimental.jet``.

``jet`` pushes truncated Taylor series through a function. ``taylor`` is the rule kind that says how to push one through a primitive; a
primitive without such a rule is pushed through by its jvp rule. ``jet_rules`` holds the rules in JAX's form, for programs that define
primitives of their own.
"""

from plugjax.experimental.jet.table import (
    ZeroSeries,
    ZeroTerm,
    def_comp,
    def_deriv,
    deflinear,
    defzero,
    deriv_prop,
    fact,
    jet2,
    jet_rules,
    linear_prop,
    zero_prop,
    zero_series,
    zero_term,
)
from plugjax.experimental.jet.tracing import JetTracer, taylor
from plugjax.experimental.jet.transform import jet
from plugjax.extend.transforms import show_only

__all__ = [
    "JetTracer",
    "ZeroSeries",
    "ZeroTerm",
    "def_comp",
    "def_deriv",
    "deflinear",
    "defzero",
    "deriv_prop",
    "fact",
    "jet",
    "jet2",
    "jet_rules",
    "linear_prop",
    "taylor",
    "zero_prop",
    "zero_series",
    "zero_term",
]

show_only(globals(), __all__)
