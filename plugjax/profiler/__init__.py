"""Traces of what a program does: the names of ``jax.profiler``."""

from plugjax.extend.transforms import show_only
from plugjax.profiler.annotations import StepTraceAnnotation, TraceAnnotation, annotate_function
from plugjax.profiler.memory import device_memory_profile, save_device_memory_profile
from plugjax.profiler.sessions import ProfileOptions, start_trace, stop_trace, trace

__all__ = [
    "ProfileOptions", "StepTraceAnnotation", "TraceAnnotation", "annotate_function", "device_memory_profile",
    "save_device_memory_profile", "start_trace", "stop_trace", "trace",
]  # fmt: skip

show_only(globals(), __all__)
