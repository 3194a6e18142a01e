"""The profiler as a plugin: while a trace is taken, it records tracing, compilations, executions and transfers, with function and backend.

Memory is recorded likewise. The options ``profiling``, ``profiling_traces`` and ``profiling_transfers`` are on while a trace is taken. The first is in the key of compiled programs, so those that a trace records are
made ready anew, and those of other times know nothing of it.
"""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any

from plugjax.extend.backend import Executable
from plugjax.extend.core import ClosedJaxpr, Option, block_until_ready, boolean, config
from plugjax.extend.execution import CacheMiss, Transfer
from plugjax.extend.rules import PluginInfo, hookimpl
from plugjax.profiler.recording import active, span

plugjax_plugin = PluginInfo("profiler", provides=("traces of what a program does",))


class _Misses(threading.local):
    """Functions that are being traced in this thread, with the time at which that began."""

    def __init__(self) -> None:
        self.begun: list[tuple[str, int]] = []


_misses = _Misses()


@hookimpl
def plugjax_options() -> list[Option]:
    """Whether a trace is being taken."""
    return [
        Option(
            "profiling", False, boolean, in_key=True, help="a trace is taken; plugjax.profiler sets it",
            observes={True: "operators"},
        ),
        Option(
            "profiling_traces", False, boolean, help="as profiling: the tracing of functions is recorded",
            observes={True: "cache misses"},
        ),
        Option(
            "profiling_transfers", False, boolean, help="as profiling: transfers are recorded",
            observes={True: "transfers"},
        ),
    ]  # fmt: skip


@hookimpl
def plugjax_cache_miss(miss: CacheMiss) -> None:
    """A function begins to be traced; the compilation of its program ends that."""
    if active.recording is not None and miss.placement is None:
        _misses.begun.append((miss.name, time.perf_counter_ns()))


def _end_of_tracing(function: str) -> None:
    begun = _misses.begun
    for i in reversed(range(len(begun))):
        name, start = begun[i]
        if name == function and active.recording is not None:
            active.recording.add(f"trace {name}", "tracing", start, {"function": name})
            # Those above were traced as part of it.
            del begun[i:]
            return


@hookimpl(wrapper=True)
def plugjax_compile(
    jaxpr: ClosedJaxpr, device: Any, options: Mapping[str, Any]
) -> Generator[None, Executable, Executable]:
    """Record lowering and compiling, which backends do in one step."""
    if active.recording is None:
        return (yield)
    name = str(options.get("name", "program"))
    _end_of_tracing(name)
    with span(
        f"compile {name}", "compiling", function=name, device=str(device), equations=len(jaxpr.eqns)
    ):
        executable = yield
    return executable


@hookimpl
def plugjax_transfer(transfer: Transfer) -> None:
    """Record where values go, and how many bytes they are."""
    if active.recording is None:
        return
    aval, target = transfer.aval, transfer.target
    details: dict[str, Any] = {"explicit": transfer.explicit}
    if aval is not None:
        details |= {"aval": aval.str_short(), "bytes": aval.size * aval.dtype.itemsize}
    if target is not None:
        details["device"] = str(target.device)
    active.recording.mark(transfer.direction, "transfer", details)


@hookimpl
def plugjax_instrument(program: Callable[[], ClosedJaxpr]) -> Callable[[Any], Any] | None:
    """Record the calls of programs and of eager primitives."""
    return functools.partial(_recorded, program=program) if config.read("profiling") else None


def _recorded(
    call: Callable[[Sequence[Any]], Any], program: Callable[[], ClosedJaxpr]
) -> Callable[[Sequence[Any]], Any]:
    jaxpr = program().jaxpr
    name = jaxpr.debug_name
    if not name and len(jaxpr.eqns) == 1:
        name = jaxpr.eqns[0].primitive.name

    def recorded(args: Sequence[Any]) -> Any:
        memory = active.memory
        begun = memory.begin() if memory is not None else None
        start = time.perf_counter_ns()
        results = call(args)
        if active.recording is None and memory is None:
            return results
        # The time until the results are there; calls of XLA return before that.
        block_until_ready(results)
        found = results if isinstance(results, (list, tuple)) else [results]
        if active.recording is not None:
            device = str(found[0].device) if found and hasattr(found[0], "device") else ""
            details = {"function": name, "device": device, "backend": device.partition(":")[0]}
            active.recording.add(name or "program", "execution", start, details)
        if memory is not None and begun is not None:
            memory.end(name or "program", begun, found)
        return results

    return recorded
