"""Lowering rules for platform ``iree``, in files named as in ``plugjax.lax``.

They are for operations that IREE 3.13 lacks, refuses, or computes wrongly or slowly. Each reason is measured and has a row in the table of
workarounds. Where a whole file is one workaround, its rules are switched here; elsewhere the rule asks `plugjax_iree.workarounds.is_on`.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from plugjax.extend import registry
from plugjax.extend.rules import Rule, RuleSet, lowering
from plugjax.stablehlo.context import EqnContext
from plugjax_iree.lowering import (
    arithmetic,
    complex as complex_functions,
    control_flow,
    conversion,
    convolution,
    copies,
    division,
    dot,
    exponential,
    fft,
    gather_scatter,
    linalg,
    random_bits,
    random_generators,
    reduction,
    slicing,
    sorting,
    special,
    trigonometric,
    windowed,
)
from plugjax_iree.workarounds import is_on, padded_complex, unsigned_reversals, written_barriers

# Rules of the workarounds that are whole files, by the name of the workaround.
_SWITCHED = {
    "angles": trigonometric.rules,
    "complex_functions": complex_functions.rules,
    "decompositions": linalg.rules,
    "feature_order": convolution.rules,
    "fourier_transforms": fft.rules,
    "hidden_random_state": random_generators.rules,
    "indices_out_of_bounds": gather_scatter.rules,
    "powers": exponential.rules,
    "sorts": sorting.rules,
    "special_functions": special.rules,
    "vulkan_integers": division.rules,
    "vulkan_remainders": arithmetic.rules,
}


def _switched(name: str, rules: RuleSet) -> RuleSet:
    """Rules that leave an operation to its general lowering while the workaround is off."""
    found = RuleSet(rules.module)
    found.rules = [dataclasses.replace(rule, function=_either(name, rule)) for rule in rules.rules]
    return found


def _either(name: str, rule: Rule) -> Any:
    def lower(ctx: EqnContext, *operands: Any, **params: Any) -> Any:
        if is_on(name):
            return rule.function(ctx, *operands, **params)
        return registry.table(lowering)[rule.primitive](ctx, *operands, **params)

    return lower


RULE_SETS = [
    *(_switched(name, rules) for name, rules in _SWITCHED.items()),
    control_flow.rules,
    conversion.rules,
    copies.rules,
    dot.rules,
    padded_complex.rules,
    random_bits.rules,
    reduction.rules,
    slicing.rules,
    unsigned_reversals.rules,
    windowed.rules,
    written_barriers.rules,
]
