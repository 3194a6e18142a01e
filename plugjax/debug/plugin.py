"""Debugging as a plugin: the search for nans and for leaks, explanations of cache misses, compilations as a log and as files."""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from plugjax.extend.backend import Executable
from plugjax.extend.core import ClosedJaxpr, Option, Trace, boolean, config
from plugjax.extend.execution import CacheMiss
from plugjax.extend.rules import PluginInfo, hookimpl

plugjax_plugin = PluginInfo(
    "debug",
    provides=(
        "jax_debug_nans",
        "jax_check_tracer_leaks",
        "jax_explain_cache_misses",
        "jax_log_compiles",
        "jax_dump_ir_to",
        "jax_progress",
    ),
)


def _module(name: str) -> Any:
    """A module of this package, loaded when its option is first set."""
    return importlib.import_module(f"plugjax.debug.{name}")


@hookimpl
def plugjax_options() -> list[Option]:
    """The debugging options, all off."""
    return [
        Option(
            "debug_nans", False, boolean, in_key=True, help="raise where a nan appears",
            observes={True: "equations"},
        ),
        Option(
            "debug_infs", False, boolean, in_key=True, help="raise where an inf appears",
            observes={True: "equations"},
        ),
        Option(
            "check_tracer_leaks", False, boolean, help="raise if a tracer outlives its trace",
            observes={True: "ended traces"},
        ),
        Option(
            "explain_cache_misses", False, boolean, help="log why jit traces a function again",
            observes={True: "cache misses"},
        ),
        Option("progress", True, boolean, help="show compilations and exports over a second in terminals and notebooks"),
        Option("log_compiles", False, boolean, help="log each compilation"),
        Option("dump_ir_to", "", help="a folder for programs that are compiled, as text"),
        Option("dump_ir_modes", "stablehlo", help="their forms, by commas: stablehlo, jaxpr"),
        Option(
            "include_debug_info_in_dumps", True, boolean, help="with the user's lines in them",
        ),
    ]  # fmt: skip


@hookimpl
def plugjax_instrument(program: Callable[[], ClosedJaxpr]) -> Callable[[Any], Any] | None:
    """Check outputs for nans or infinities."""
    if not (config.read("debug_nans") or config.read("debug_infs")):
        return None
    return functools.partial(_module("nonfinite").checked, program=program)


@hookimpl
def plugjax_traces_ended(traces: list[Trace]) -> None:
    """Raise for tracers that outlive their trace."""
    if config.read("check_tracer_leaks"):
        _module("leaks").check_ended(traces)


@hookimpl
def plugjax_cache_miss(miss: CacheMiss) -> None:
    """Log the reason of a miss."""
    if config.read("explain_cache_misses"):
        _module("cache_misses").explain(miss)


@hookimpl(wrapper=True)
def plugjax_compile(
    jaxpr: ClosedJaxpr, device: Any, options: Mapping[str, Any]
) -> Generator[None, Executable, Executable]:
    """Log compilations, write their programs to files, record them for listeners, and show that long ones go on."""
    if config.read("dump_ir_to"):
        _module("dumps").dump(jaxpr, device, options)
    with _progress(device, options):
        executable: Executable = yield from _observed(jaxpr, device, options)
    return executable


def _observed(
    jaxpr: ClosedJaxpr, device: Any, options: Mapping[str, Any]
) -> Generator[None, Executable, Executable]:
    if config.read("log_compiles") or "plugjax.monitoring" in sys.modules:
        executable: Executable = yield from _module("compilations").observed(jaxpr, device, options)
        return executable
    return (yield)


def _progress(device: Any, options: Mapping[str, Any]) -> AbstractContextManager[None]:
    """What shows a long compilation; nothing, where there is neither a terminal nor a notebook.

    In other threads a program is compiled while NumPy computes it (``tiered``): no one waits for that.
    """
    if "ipykernel" not in sys.modules and (sys.stderr is None or not sys.stderr.isatty()):
        return nullcontext()
    name = options.get("name", "program")
    found: AbstractContextManager[None] = _module("progress").if_long(
        f"compiling {name} for {device}"
    )
    return found
