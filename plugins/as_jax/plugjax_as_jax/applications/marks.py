"""Times that an application takes of itself: its first result, and its steps after that."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from typing import Any

# Seconds since the process was started, if the one that started it says when.
_STARTED = float(os.environ.get("PLUGJAX_AS_JAX_STARTED", "0")) or time.time()
# The variable that says how many seconds a loop of steps goes on at least. Its numbers are then not those that are recorded.
STEP_SECONDS = "PLUGJAX_AS_JAX_STEP_SECONDS"
_SECONDS = float(os.environ.get(STEP_SECONDS, "0"))
# What the line with the answer begins with.
ANSWER = "answer: "
times: dict[str, float] = {}


def first_result() -> None:
    """Say that the application has computed something for the first time: after what time, and time of the processor."""
    times.setdefault("first", time.time() - _STARTED)
    times.setdefault("first_cpu", time.process_time())


def steps(count: int) -> Iterator[int]:
    """Count the steps of a loop, and keep the time of the fastest, since machines are noisy."""
    until = time.monotonic() + _SECONDS
    step = 0
    while step < count or time.monotonic() < until:
        begin = time.perf_counter()
        yield step
        taken = time.perf_counter() - begin
        first_result()
        times["step"] = min(taken, times.get("step", taken))
        step += 1


def tell(run: Callable[[], dict[str, Any]], tolerance: float) -> None:
    """Run an application and print what it gives as one line: numbers, tolerance, times."""
    numbers = run()
    first_result()
    times["whole"] = time.time() - _STARTED
    answer = {"numbers": numbers, "tolerance": tolerance, "times": times}
    print(ANSWER + json.dumps(answer))  # noqa: T201  # what the parent process reads
