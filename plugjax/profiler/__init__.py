"""Traces of what a program does: the names of ``jax.profiler``."""

from typing import Any

from plugjax.extend.transforms import show_only
from plugjax.profiler.annotations import StepTraceAnnotation, TraceAnnotation, annotate_function
from plugjax.profiler.memory import device_memory_profile, save_device_memory_profile
from plugjax.profiler.native import of_xla, register_subprocess, start_server, stop_server
from plugjax.profiler.sessions import ProfileOptions, start_trace, stop_trace, trace

# What XLA's profiler wrote, as XLA reads it.
_OF_XLA = ("ProfileData", "ProfileEvent", "ProfilePlane")


def __getattr__(name: str) -> Any:
    if name in _OF_XLA:
        return of_xla(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "ProfileData", "ProfileEvent", "ProfileOptions", "ProfilePlane", "StepTraceAnnotation", "TraceAnnotation", "annotate_function",
    "device_memory_profile", "register_subprocess", "save_device_memory_profile", "start_server", "start_trace", "stop_server",
    "stop_trace", "trace",
]  # fmt: skip

show_only(globals(), __all__)
