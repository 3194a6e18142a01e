"""Traces from start to file."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import platform
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from plugjax import monitoring
from plugjax.core import registry
from plugjax.core.config import config
from plugjax.monitoring import LOWERED
from plugjax.profiler.measured_memory import MemoryRecording
from plugjax.profiler.recording import Recording, active


@dataclass
class ProfileOptions:
    """What a trace holds, under JAX's names. XLA's events follow it; the others are always recorded.

    Attributes:
        host_tracer_level: 0: no events of XLA on the host; 1 to 3: more of them.
        device_tracer_level: events of devices.
        python_tracer_level: events of every Python function, of which the trace has none.
        enable_hlo_proto: whether the programs of XLA are in its file.
        include_dataset_ops: of TensorFlow; it changes nothing.
        duration_ms: how long a trace may take; 0: until it is stopped.
        session_id: name of the folder of the trace; the time by default.
        advanced_configuration: settings of devices.
    """

    host_tracer_level: int = 2
    device_tracer_level: int = 1
    python_tracer_level: int = 0
    enable_hlo_proto: bool = True
    include_dataset_ops: bool = False
    duration_ms: int = 0
    session_id: str = ""
    advanced_configuration: dict[str, Any] = field(default_factory=dict)


@dataclass
class _Session:
    folder: Path
    perfetto: bool
    native: Any


class _State:
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.session: _Session | None = None


_state = _State()


def start_trace(
    log_dir: os.PathLike[str] | str,
    create_perfetto_link: bool = False,
    create_perfetto_trace: bool = False,
    profiler_options: ProfileOptions | None = None,
) -> None:
    """Begin to record what the process does; :func:`stop_trace` writes it.

    Recorded are, with their function, device and backend: tracing, lowering to StableHLO, compilations (lowering included), executions of
    compiled functions and of eager primitives until their results are there, transfers (where they begin, with the number of
    bytes), and annotations. If jaxlib is in use, XLA's events too.
    Functions are made ready anew for a trace: their first calls trace and compile.

    Args:
        log_dir: the folder; the files are in ``plugins/profile/<time>/`` within it, where TensorBoard and XProf look.
        create_perfetto_link: print where to open ``perfetto_trace.json.gz``; implies it.
        create_perfetto_trace: write ``perfetto_trace.json.gz`` too.
        profiler_options: what XLA records, and the name of the run.

    Raises:
        RuntimeError: a trace is being taken.

    Differs from JAX:
        The link names the file to open at ui.perfetto.dev; there is no server, and the program does not wait.

    Example:
        >>> import tempfile, plugjax, plugjax.numpy as jnp
        >>> folder = tempfile.TemporaryDirectory()
        >>> plugjax.profiler.start_trace(folder.name)
        >>> x = jnp.ones(3) + 1
        >>> plugjax.profiler.stop_trace()
        >>> folder.cleanup()
    """
    options = profiler_options or ProfileOptions()
    with _state.lock:
        if _state.session is not None:
            raise RuntimeError(
                "Profile has already been started. Only one profile may be run at a time: call stop_trace first."
            )
        run = options.session_id or time.strftime("%Y_%m_%d_%H_%M_%S")
        folder = Path(log_dir).absolute() / "plugins" / "profile" / run
        folder.mkdir(parents=True, exist_ok=True)
        _state.session = _Session(
            folder,
            create_perfetto_trace or create_perfetto_link,
            _native_session(options),
        )
        _switch(True)
        active.recording = Recording()
        if create_perfetto_link:
            _say(
                f"Open {folder / 'perfetto_trace.json.gz'} at https://ui.perfetto.dev after stop_trace."
            )


def stop_trace() -> None:
    """End the trace and write its files.

    ``<host>.trace.json.gz`` has the events as Chrome's trace events in JSON, which Perfetto opens too; ``<host>.xplane.pb`` is
    XLA's own, if jaxlib was in use.

    Raises:
        RuntimeError: no trace is being taken.

    Example:
        >>> import plugjax
        >>> plugjax.profiler.stop_trace()
        Traceback (most recent call last):
        RuntimeError: No profile started. Call start_trace first.
    """
    with _state.lock:
        session, recording = _state.session, active.recording
        if session is None or recording is None:
            raise RuntimeError("No profile started. Call start_trace first.")
        active.recording = None
        _state.session = None
        _switch(False)
        events = recording.trace_events()
        if session.native is not None:
            events += session.native.stop(session.folder)
        document = {"displayTimeUnit": "ns", "traceEvents": events}
        _write(session.folder / f"{platform.node() or 'host'}.trace.json.gz", document)
        if session.perfetto:
            _write(session.folder / "perfetto_trace.json.gz", document)


@contextlib.contextmanager
def trace(
    log_dir: os.PathLike[str] | str,
    create_perfetto_link: bool = False,
    create_perfetto_trace: bool = False,
    profiler_options: ProfileOptions | None = None,
) -> Iterator[None]:
    """Record what the block does; see :func:`start_trace`.

    Example:
        >>> import pathlib, tempfile, plugjax, plugjax.numpy as jnp
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with plugjax.profiler.trace(folder, create_perfetto_trace=True):
        ...         y = plugjax.jit(jnp.sin)(1.0)
        ...     "perfetto_trace.json.gz" in [f.name for f in pathlib.Path(folder).rglob("*.gz")]
        True
    """
    start_trace(log_dir, create_perfetto_link, create_perfetto_trace, profiler_options)
    try:
        yield
    finally:
        stop_trace()


def _switch(on: bool) -> None:
    if on:
        monitoring.register_event_duration_secs_listener(_record_lowering)
    else:
        with contextlib.suppress(AssertionError):  # The program may have cleared all listeners.
            monitoring.unregister_event_duration_listener(_record_lowering)
    config.update("profiling_traces", on)
    config.update("profiling_transfers", on)
    config.update("profiling", on or active.memory is not None)


@contextlib.contextmanager
def measured_memory() -> Iterator[MemoryRecording]:
    """Measure the memory of what a block calls; see :class:`MemoryRecording`.

    Raises:
        RuntimeError: memory is being measured already.
    """
    with _state.lock:
        if active.memory is not None:
            raise RuntimeError("memory is being measured already: one block at a time can do so.")
        found = active.memory = MemoryRecording()
    config.update("profiling", True)
    try:
        yield found
    finally:
        active.memory = None
        config.update("profiling", active.recording is not None)
        found.close()


def _record_lowering(event: str, duration: float, **details: Any) -> None:
    if event == LOWERED and active.recording is not None:
        start = time.perf_counter_ns() - int(duration * 1e9)
        about = {"function": details["fun_name"], "backend": details["platform"]}
        active.recording.add(f"lower {about['function']}", "lowering", start, about)


def _native_session(options: ProfileOptions) -> Any:
    """A session of XLA's own profiler, if XLA is in use in this process."""
    if "jaxlib" not in sys.modules:
        return None
    for modules in registry.active().hook.plugjax_extensions():
        if "profiler" in modules:
            return modules["profiler"]().start(options)
    return None


def _write(file: Path, document: Any) -> None:
    with gzip.open(file, "wt", encoding="utf-8") as stream:
        json.dump(document, stream)


def _say(text: str) -> None:
    print(text)  # noqa: T201  # what the caller asked for
