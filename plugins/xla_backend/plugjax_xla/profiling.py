"""XLA's own profiler: its events beside those of plugjax."""

from __future__ import annotations

import gzip
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

from plugjax_xla import pjrt
from plugjax_xla.jaxlib_shim import (
    new_profiler_session,
    profile_class,
    profiled_instructions,
    register_profiled_process,
    start_profiler_server,
)


class Session:
    """XLA records from now until ``stop``."""

    def __init__(self, options: Any) -> None:
        self._session = new_profiler_session(
            host_tracer_level=options.host_tracer_level,
            python_tracer_level=options.python_tracer_level,
            enable_hlo_proto=options.enable_hlo_proto,
        )

    def stop(self, folder: Path) -> list[dict[str, Any]]:
        """End it; ``.xplane.pb`` goes to the folder, the events are given as Chrome's trace events."""
        with tempfile.TemporaryDirectory() as own:
            self._session.stop_and_export(own)
            found: list[dict[str, Any]] = []
            for file in Path(own).rglob("*.pb"):
                shutil.copy(file, folder / file.name)
            for file in Path(own).rglob("*.trace.json.gz"):
                with gzip.open(file, "rt", encoding="utf-8") as stream:
                    found += json.load(stream)["traceEvents"]
        return [event for event in found if event]


def start(options: Any) -> Session:
    """Start a session."""
    return Session(options)


def start_server(port: int, requires_backend: bool) -> Any:
    """Serve the profiler; with ``requires_backend``, the runtime starts first."""
    if requires_backend:
        pjrt.cpu_client()
    return start_profiler_server(port)


register_subprocess = register_profiled_process
get_profiled_instructions_proto = profiled_instructions

_CLASSES = ("ProfileData", "ProfileEvent", "ProfilePlane")


def __getattr__(name: str) -> Any:
    if name in _CLASSES:
        return profile_class(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [  # noqa: F822  # some are found by __getattr__
    "ProfileData",
    "ProfileEvent",
    "ProfilePlane",
    "get_profiled_instructions_proto",
    "register_subprocess",
    "start",
    "start_server",
]
