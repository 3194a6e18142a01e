"""The NumPy backend as a plugin."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Mapping
from typing import Any

from plugjax.extend.backend import Backend, BackendSpec
from plugjax.extend.core import ClosedJaxpr, Placement, register_internal
from plugjax.extend.rules import LazyRules, PluginInfo, RuleSet, hookimpl

register_internal(os.path.dirname(__file__))

plugjax_plugin = PluginInfo(
    "numpy", provides=("backend numpy", "host kernels (impl) of all primitives")
)

_FAMILIES = (
    "arithmetic", "barrier", "bessel", "broadcasting", "callback", "comparison", "complex", "composite", "control_flow", "conversion", "convolution", "dce_sink", "dot", "exponential", "fft", "gather_scatter",
    "incomplete_beta", "incomplete_gamma", "joining", "linalg_eigen", "linalg_qr", "linalg_systems", "random", "random_generators", "reduction", "selection", "shape", "slicing", "sorting", "special", "tokens", "trigonometric", "windowed",
)  # fmt: skip


def _load_rules() -> list[RuleSet]:
    return [importlib.import_module(f"plugjax_numpy.impl.{name}").rules for name in _FAMILIES]


def _load_backend() -> Backend:
    return importlib.import_module("plugjax_numpy.backend").NumpyBackend()


@hookimpl
def plugjax_rules() -> list[LazyRules]:
    """Host kernels, loaded when the first primitive runs."""
    return [LazyRules(kinds=("impl", "scalar_impl", "ufunc", "fresh"), load=_load_rules)]


@hookimpl
def plugjax_backends() -> list[BackendSpec]:
    """The backend ``numpy``."""
    return [BackendSpec("numpy", _load_backend, priority=0)]


@hookimpl
def plugjax_host_program(
    jaxpr: ClosedJaxpr,
    placement: Placement,
    conversions: Mapping[int, Callable[[Any], Any]],
    otherwise: Callable[..., Any],
) -> Callable[..., Any]:
    """A generated Python function."""
    write = importlib.import_module("plugjax_numpy.host_programs").host_program
    found: Callable[..., Any] = write(jaxpr, placement, conversions, otherwise)
    return found
