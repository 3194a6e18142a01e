"""What is said about each compilation: a log under ``log_compiles``, and an event for listeners of ``plugjax.monitoring``."""

from __future__ import annotations

import logging
import time
from collections.abc import Generator, Mapping
from typing import Any

from plugjax import monitoring
from plugjax.extend.backend import Executable
from plugjax.extend.core import ClosedJaxpr, config

_log = logging.getLogger(__name__)
_EVENT = "/jax/core/compile/backend_compile_duration"


def observed(
    jaxpr: ClosedJaxpr, device: Any, options: Mapping[str, Any]
) -> Generator[None, Executable, Executable]:
    """Around a compilation: log its begin and end, and record how long it took.

    A program that the cache on disk holds is recorded too, with the time it took to load.
    """
    name, logs = str(options.get("name", "program")), config.read("log_compiles")
    if logs:
        shapes = ", ".join(aval.str_short() for aval in jaxpr.in_avals)
        _log.warning("Compiling %s with global shapes and types [%s] for %s.", name, shapes, device)
    start = time.perf_counter()
    executable = yield
    seconds = time.perf_counter() - start
    if logs:
        _log.warning("Finished compilation of %s for %s in %.6f sec", name, device, seconds)
    monitoring.record_event_duration_secs(
        _EVENT, seconds, fun_name=name, platform=device.backend.name
    )
    return executable
