"""lax as a plugin: the first one, with no privilege over any other."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Sequence
from typing import Any

from plugjax.extend.core import ClosedJaxpr, Option, Primitive
from plugjax.extend.registry import Registry
from plugjax.extend.rules import LazyRules, PluginInfo, RuleKind, RuleSet, hookimpl
from plugjax.lax.approximate_top_k import rules as approximate_top_k_rules
from plugjax.lax.arithmetic import rules as arithmetic_rules
from plugjax.lax.barrier import rules as barrier_rules
from plugjax.lax.bessel import rules as bessel_rules
from plugjax.lax.broadcasting import rules as broadcasting_rules
from plugjax.lax.callback import rules as callback_rules
from plugjax.lax.collectives import rules as collectives_rules
from plugjax.lax.comparison import rules as comparison_rules
from plugjax.lax.complex import rules as complex_rules
from plugjax.lax.composite import rules as composite_rules
from plugjax.lax.control_flow import rule_sets as control_flow_rules
from plugjax.lax.control_flow.platform_dependent import for_platform
from plugjax.lax.conversion import rules as conversion_rules
from plugjax.lax.convolution import rules as convolution_rules
from plugjax.lax.dce_sink import rules as dce_sink_rules
from plugjax.lax.debug_callback import rules as debug_callback_rules
from plugjax.lax.derived import derive
from plugjax.lax.dot import rules as dot_rules
from plugjax.lax.dynamic_slicing import rules as dynamic_slicing_rules
from plugjax.lax.exponential import rules as exponential_rules
from plugjax.lax.fft import rules as fft_rules
from plugjax.lax.folding import rules as folding_rules
from plugjax.lax.folds import rules as folds_rules
from plugjax.lax.gather_scatter import rules as gather_scatter_rules
from plugjax.lax.incomplete_beta import rules as incomplete_beta_rules
from plugjax.lax.incomplete_gamma import rules as incomplete_gamma_rules
from plugjax.lax.inspection import rules as inspection_rules
from plugjax.lax.joining import rules as joining_rules
from plugjax.lax.placement import rules as placement_rules
from plugjax.lax.printing import rules as printing_rules
from plugjax.lax.ragged import rules as ragged_rules
from plugjax.lax.ragged_exchange import rules as ragged_exchange_rules
from plugjax.lax.random_bits import rules as random_bits_rules
from plugjax.lax.random_generators import rules as random_generators_rules
from plugjax.lax.reduction import rules as reduction_rules
from plugjax.lax.scaled_dot import rules as scaled_dot_rules
from plugjax.lax.scattering import rules as scattering_rules
from plugjax.lax.selection import rules as selection_rules
from plugjax.lax.shape import rules as shape_rules
from plugjax.lax.sharded.primitive import rules as sharded_rules
from plugjax.lax.sharded.whole import rules as whole_rules
from plugjax.lax.slicing import rules as slicing_rules
from plugjax.lax.sorting import rules as sorting_rules
from plugjax.lax.special import rules as special_rules
from plugjax.lax.summands import rules as summands_rules
from plugjax.lax.tokens import rules as tokens_rules
from plugjax.lax.trigonometric import rules as trigonometric_rules
from plugjax.lax.window_selection import rules as window_selection_rules
from plugjax.lax.windowed import rules as windowed_rules

plugjax_plugin = PluginInfo("lax", provides=("primitives of jax.lax and their mathematics",))


def _load_linalg() -> list[RuleSet]:
    found: list[RuleSet] = importlib.import_module("plugjax.lax.linalg").rule_sets
    return found


def _load_rounding() -> list[RuleSet]:
    return [importlib.import_module("plugjax.lax.rounding").rules]


def _load_spreading() -> list[RuleSet]:
    return [
        importlib.import_module(f"plugjax.lax.sharded.{name}").rules
        for name in ("spreading", "spreading_programs")
    ]


def _load_typing() -> list[RuleSet]:
    return [
        importlib.import_module(f"plugjax.lax.sharded.typing_{name}").rules
        for name in ("products", "structure")
    ]


def _load_unreduced() -> list[RuleSet]:
    return [importlib.import_module("plugjax.lax.sharded.typing_unreduced").rules]


def _load_work() -> list[RuleSet]:
    return [importlib.import_module("plugjax.lax.work").rules]


def _load_storage() -> list[RuleSet]:
    return [importlib.import_module("plugjax.lax.storage").rules]


@hookimpl
def plugjax_rules() -> list[RuleSet | LazyRules]:
    """Abstract evaluation, derivatives and batching of the lax primitives."""
    return [
        approximate_top_k_rules,
        arithmetic_rules,
        barrier_rules,
        bessel_rules,
        broadcasting_rules,
        callback_rules,
        debug_callback_rules,
        collectives_rules,
        summands_rules,
        comparison_rules,
        complex_rules,
        composite_rules,
        conversion_rules,
        convolution_rules,
        dce_sink_rules,
        dot_rules,
        dynamic_slicing_rules,
        exponential_rules,
        fft_rules,
        gather_scatter_rules,
        incomplete_beta_rules,
        incomplete_gamma_rules,
        inspection_rules,
        joining_rules,
        placement_rules,
        printing_rules,
        ragged_rules,
        ragged_exchange_rules,
        random_bits_rules,
        random_generators_rules,
        reduction_rules,
        scaled_dot_rules,
        scattering_rules,
        selection_rules,
        shape_rules,
        sharded_rules,
        whole_rules,
        slicing_rules,
        sorting_rules,
        special_rules,
        tokens_rules,
        trigonometric_rules,
        folding_rules,
        folds_rules,
        window_selection_rules,
        windowed_rules,
        *control_flow_rules,
        LazyRules(kinds=("abstract_eval", "jvp", "batching", "transpose"), load=_load_linalg),
        LazyRules(kinds=("rounding", "terms"), load=_load_rounding),
        LazyRules(kinds=("spread", "inner spread"), load=_load_spreading),
        LazyRules(kinds=("sharding",), load=_load_typing),
        LazyRules(kinds=("unreduced",), load=_load_unreduced),
        LazyRules(kinds=("storage",), load=_load_storage),
        LazyRules(kinds=("work",), load=_load_work),
    ]


@hookimpl
def plugjax_options() -> list[Option]:
    """The precision of products, and the promotion of dtypes."""
    return [
        Option(
            "default_matmul_precision", None, in_key=True, help="precision of dot and convolution"
        ),
        Option(
            "numpy_dtype_promotion", "standard", choices=("standard", "strict"), in_key=True,
            help="implicit promotion between dtypes",
        ),
        Option(
            "callback_errors", "original", choices=("original", "runtime"),
            help="an exception of a callback as it is, or as the text of a JaxRuntimeError",
        ),
    ]  # fmt: skip


@hookimpl
def plugjax_jaxpr_passes(
    platform: str, hardware: str | None
) -> Sequence[Callable[[ClosedJaxpr], ClosedJaxpr]]:
    """The branches for the device in place of choices between platforms, wherever the program runs after all."""
    return [] if hardware is None else [functools.partial(for_platform, platform, hardware)]


@hookimpl(trylast=True)
def plugjax_missing_rule(
    registry: Registry, kind: RuleKind[Any], primitive: Primitive, platform: str | None
) -> Callable[..., Any] | None:
    """Batching by a loop, abstract evaluation by a sample."""
    return derive(registry, kind, primitive, platform)
