"""Events of a process, and who listens to them: the names of ``jax.monitoring``.

A program or a library records events by name; listeners are called at once, in the order in which they were registered, in the
thread that records. plugjax records, with ``fun_name`` and ``platform``, ``/jax/core/compile/backend_compile_duration`` for each program
that a backend compiles (lowering included), and ``/jax/core/compile/jaxpr_to_mlir_module_duration`` for each that is lowered to
StableHLO. A listener that raises ends the call that recorded the event.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from plugjax.extend.transforms import show_only

EventListener = Callable[..., None]
"""Called with the event's name and keywords."""
DurationListener = Callable[..., None]
"""Called with the event's name, seconds, and keywords."""
TimeSpanListener = Callable[..., None]
"""Called with the event's name, its start and end in seconds, and keywords."""
ScalarListener = Callable[..., None]
"""Called with the event's name, a number, and keywords."""

LOWERED = "/jax/core/compile/jaxpr_to_mlir_module_duration"

_events: list[EventListener] = []
_durations: list[DurationListener] = []
_spans: list[TimeSpanListener] = []
_scalars: list[ScalarListener] = []


def record_event(event: str, **kwargs: str | int) -> None:
    """Tell the listeners that an event happened.

    Args:
        event: its name, a path such as ``"/my_library/checkpoint/saved"``.
        **kwargs: what else listeners are told.

    Example:
        >>> import plugjax
        >>> from plugjax import monitoring
        >>> monitoring.register_event_listener(lambda event, **more: print(event, more))
        >>> monitoring.record_event("/app/started", step=3)
        /app/started {'step': 3}
        >>> monitoring.clear_event_listeners()
    """
    for listener in tuple(_events):
        listener(event, **kwargs)


def record_event_duration_secs(event: str, duration: float, **kwargs: str | int) -> None:
    """Tell the listeners of durations how long an event took.

    Args:
        event: its name.
        duration: seconds.
        **kwargs: what else listeners are told.

    Example:
        >>> from plugjax import monitoring
        >>> monitoring.register_event_duration_secs_listener(lambda event, seconds, **more: print(event, seconds))
        >>> monitoring.record_event_duration_secs("/app/load", 0.5)
        /app/load 0.5
        >>> monitoring.clear_event_listeners()
    """
    for listener in tuple(_durations):
        listener(event, duration, **kwargs)


def record_event_time_span(
    event: str, start_time: float, end_time: float, **kwargs: str | int
) -> None:
    """Tell the listeners of time spans when an event began and ended.

    Args:
        event: its name.
        start_time: seconds since the epoch.
        end_time: seconds since the epoch.
        **kwargs: what else listeners are told.

    Example:
        >>> from plugjax import monitoring
        >>> monitoring.register_event_time_span_listener(lambda event, start, end, **more: print(event, end - start))
        >>> monitoring.record_event_time_span("/app/load", 10.0, 12.5)
        /app/load 2.5
        >>> monitoring.clear_event_listeners()
    """
    for listener in tuple(_spans):
        listener(event, start_time, end_time, **kwargs)


def record_scalar(event: str, value: float | int, **kwargs: str | int) -> None:
    """Tell the listeners of scalars a number.

    Args:
        event: what the number is.
        value: the number.
        **kwargs: what else listeners are told.

    Example:
        >>> from plugjax import monitoring
        >>> monitoring.register_scalar_listener(lambda event, value, **more: print(event, value))
        >>> monitoring.record_scalar("/app/files", 7)
        /app/files 7
        >>> monitoring.clear_event_listeners()
    """
    for listener in tuple(_scalars):
        listener(event, value, **kwargs)


def register_event_listener(callback: EventListener) -> None:
    """Call ``callback(event, **kwargs)`` for each :func:`record_event`.

    Example:
        >>> from plugjax import monitoring
        >>> seen = []
        >>> monitoring.register_event_listener(lambda event, **more: seen.append(event))
        >>> monitoring.record_event("/app/started")
        >>> seen
        ['/app/started']
        >>> monitoring.clear_event_listeners()
    """
    _events.append(callback)


def register_event_duration_secs_listener(callback: DurationListener) -> None:
    """Call ``callback(event, seconds, **kwargs)`` for each :func:`record_event_duration_secs`.

    Example:
        >>> import plugjax
        >>> from plugjax import monitoring
        >>> seen = []
        >>> monitoring.register_event_duration_secs_listener(
        ...     lambda event, seconds, **more: seen.append((event, more["fun_name"]))
        ... )
        >>> def double(x):
        ...     return 2 * x
        >>> y = plugjax.jit(double)(3)
        >>> seen
        [('/jax/core/compile/backend_compile_duration', 'double')]
        >>> monitoring.clear_event_listeners()
    """
    _durations.append(callback)


def register_event_time_span_listener(callback: TimeSpanListener) -> None:
    """Call ``callback(event, start, end, **kwargs)`` for each :func:`record_event_time_span`.

    Example:
        >>> from plugjax import monitoring
        >>> seen = []
        >>> monitoring.register_event_time_span_listener(lambda *event: seen.append(event))
        >>> monitoring.record_event_time_span("/app/load", 1.0, 2.0)
        >>> seen
        [('/app/load', 1.0, 2.0)]
        >>> monitoring.clear_event_listeners()
    """
    _spans.append(callback)


def register_scalar_listener(callback: ScalarListener) -> None:
    """Call ``callback(event, value, **kwargs)`` for each :func:`record_scalar`.

    Example:
        >>> from plugjax import monitoring
        >>> seen = []
        >>> monitoring.register_scalar_listener(lambda *event: seen.append(event))
        >>> monitoring.record_scalar("/app/files", 7)
        >>> seen
        [('/app/files', 7)]
        >>> monitoring.clear_event_listeners()
    """
    _scalars.append(callback)


def unregister_event_listener(callback: EventListener) -> None:
    """Call a listener of events no more.

    Raises:
        AssertionError: it is not registered, as in JAX.

    Example:
        >>> from plugjax import monitoring
        >>> seen = []
        >>> keep = lambda event: seen.append(event)
        >>> monitoring.register_event_listener(keep)
        >>> monitoring.record_event("/app/first")
        >>> monitoring.unregister_event_listener(keep)
        >>> monitoring.record_event("/app/second")
        >>> seen
        ['/app/first']
    """
    _remove(_events, callback)


def unregister_event_duration_listener(callback: DurationListener) -> None:
    """Call a listener of durations no more.

    Raises:
        AssertionError: it is not registered, as in JAX.

    Example:
        >>> from plugjax import monitoring
        >>> seen = []
        >>> keep = lambda event, seconds: seen.append(event)
        >>> monitoring.register_event_duration_secs_listener(keep)
        >>> monitoring.record_event_duration_secs("/app/first", 0.5)
        >>> monitoring.unregister_event_duration_listener(keep)
        >>> monitoring.record_event_duration_secs("/app/second", 0.5)
        >>> seen
        ['/app/first']
    """
    _remove(_durations, callback)


def unregister_event_time_span_listener(callback: TimeSpanListener) -> None:
    """Call a listener of time spans no more.

    Raises:
        AssertionError: it is not registered, as in JAX.

    Example:
        >>> from plugjax import monitoring
        >>> seen = []
        >>> keep = lambda event, start, end: seen.append(event)
        >>> monitoring.register_event_time_span_listener(keep)
        >>> monitoring.record_event_time_span("/app/first", 1.0, 2.0)
        >>> monitoring.unregister_event_time_span_listener(keep)
        >>> monitoring.record_event_time_span("/app/second", 1.0, 2.0)
        >>> seen
        ['/app/first']
    """
    _remove(_spans, callback)


def unregister_scalar_listener(callback: ScalarListener) -> None:
    """Call a listener of scalars no more.

    Raises:
        AssertionError: it is not registered, as in JAX.

    Example:
        >>> from plugjax import monitoring
        >>> seen = []
        >>> keep = lambda event, value: seen.append(event)
        >>> monitoring.register_scalar_listener(keep)
        >>> monitoring.record_scalar("/app/first", 7)
        >>> monitoring.unregister_scalar_listener(keep)
        >>> monitoring.record_scalar("/app/second", 7)
        >>> seen
        ['/app/first']
    """
    _remove(_scalars, callback)


def clear_event_listeners() -> None:
    """Drop all listeners of all kinds (JAX keeps those of scalars).

    Example:
        >>> from plugjax import monitoring
        >>> seen = []
        >>> keep = lambda event: seen.append(event)
        >>> monitoring.register_event_listener(keep)
        >>> monitoring.record_event("/app/first")
        >>> monitoring.clear_event_listeners()
        >>> monitoring.record_event("/app/second")
        >>> seen
        ['/app/first']
    """
    for listeners in (_events, _durations, _spans, _scalars):
        listeners.clear()


def _remove(listeners: list[Any], callback: Any) -> None:
    if callback not in listeners:
        raise AssertionError(
            f"plugjax.monitoring: {callback!r} is not registered; its kind of listener has {len(listeners)}."
        )
    listeners.remove(callback)


__all__ = [
    "DurationListener",
    "EventListener",
    "ScalarListener",
    "TimeSpanListener",
    "clear_event_listeners",
    "record_event",
    "record_event_duration_secs",
    "record_event_time_span",
    "record_scalar",
    "register_event_duration_secs_listener",
    "register_event_listener",
    "register_event_time_span_listener",
    "register_scalar_listener",
    "unregister_event_duration_listener",
    "unregister_event_listener",
    "unregister_event_time_span_listener",
    "unregister_scalar_listener",
]

show_only(globals(), __all__)
