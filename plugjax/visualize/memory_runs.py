"""Memory measured while a program runs: over its calls, with the arrays that held it and the calls that needed most."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from plugjax.profiler.measured_memory import Measured, MemoryRecording
from plugjax.profiler.sessions import measured_memory
from plugjax.visualize.columns import Step, chart
from plugjax.visualize.elements import bytes_words, note, shortened, table
from plugjax.visualize.holders import table_of_holders
from plugjax.visualize.picture import Picture
from plugjax.visualize.timelines import Run, time_words

# Rows of a table.
_ROWS = 30
_ABOUT = (
    "Below: bytes of the arrays that existed after each call. On top: what NumPy and Python allocated within the call and freed before it ended. "
    "What XLA and IREE allocate inside is in neither."
)


@contextmanager
def record_memory() -> Iterator[Run]:
    """Measure the memory of what a block does; the ``picture`` of what the ``with`` gives shows it call by call.

    Measured are the calls of compiled functions and of eager primitives: the arrays that exist when a call ends, with what made them, and what NumPy and
    Python allocated within it. A compiled function is one call; under ``plugjax.disable_jit()`` each of its primitives is one. Calls
    are slower while they are measured, and functions are made ready anew.

    Raises:
        RuntimeError: memory is being measured already.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> with plugjax.visualize.record_memory() as run:
        ...     x = jnp.ones((1000, 1000))
        ...     y = plugjax.jit(jnp.sin)(x)
        >>> "float32[1000,1000]" in run.picture.html
        True
    """
    run = Run()
    with measured_memory() as found:
        yield run
    run.picture = picture_of_memory(found)


def picture_of_memory(found: MemoryRecording) -> Picture:
    """The calls of a recording."""
    calls = found.calls
    held = max([found.first, *(call.arrays for call in calls)])
    more = max([0, *(call.temporary for call in calls)])
    title = (
        f"measured: at most {bytes_words(held)} in arrays, {bytes_words(more)} more within a call"
    )
    steps = [Step(call.arrays, call.temporary, call.name, _hint(call)) for call in calls]
    before = Step(found.first, 0, "before", "before the first call")
    level = found.first, "arrays before"
    about = f"{len(calls):,} calls in their order →"
    svg = chart([before, *steps], level, about, title)
    return Picture(
        title,
        svg,
        svg
        + note(_ABOUT)
        + table_of_holders("arrays when they were most", found.holders)
        + _needed(calls),
    )


def _hint(call: Measured) -> str:
    sizes = f"arrays {bytes_words(call.arrays)}, {bytes_words(call.temporary)} more within"
    return f"{call.name}, {time_words(call.seconds * 1e6)}\n{sizes}\n{call.source}".strip()


def _needed(calls: Sequence[Measured]) -> str:
    """The calls that allocated most."""
    largest = sorted(calls, key=lambda call: call.most - call.before, reverse=True)[:_ROWS]
    rows = [
        (
            shortened(call.name, 60), bytes_words(call.most - call.before), bytes_words(call.temporary),
            time_words(call.seconds * 1e6), call.source,
        )
        for call in largest
    ]  # fmt: skip
    return table(("call", "allocated within", "and freed", "time", "line"), rows)


__all__ = ["picture_of_memory", "record_memory"]
