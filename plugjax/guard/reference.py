"""A program on NumPy, within a time limit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from plugjax.extend.backend import get_backend
from plugjax.extend.core import ClosedJaxpr
from plugjax.extend.execution import Job


class TooLongError(Exception):
    """The time limit is exceeded."""


def computed(
    jaxpr: ClosedJaxpr, values: Sequence[np.ndarray[Any, Any]], seconds: float
) -> list[np.ndarray[Any, Any]]:
    """Run a program on NumPy.

    Raises:
        TooLongError: it takes longer than ``seconds``. The kernel that runs at that time is not interrupted; the caller
            returns without it.
        Exception: the error that a kernel raised.
    """
    backend = get_backend("numpy")

    def run() -> list[np.ndarray[Any, Any]]:
        program = backend.compile(jaxpr, backend.devices()[0], {"name": "reference"})
        return [np.asarray(y) for y in program.run(list(values))]

    job = Job(run, "reference")
    try:
        return job.result(seconds)
    except TimeoutError:
        if job.has_ended:
            raise  # A kernel's own.
        job.give_up()
        raise TooLongError from None
