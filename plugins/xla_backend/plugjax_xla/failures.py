"""Failures of XLA as errors of plugjax."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NoReturn

from plugjax.extend.errors import JaxRuntimeError
from plugjax_xla import pjrt
from plugjax_xla.host_callbacks import raise_original
from plugjax_xla.processes import ProcessGroup
from plugjax_xla.transfer_server import explained


def largest(specs: Sequence[tuple[Sequence[int], Any]]) -> str:
    """The type of the largest of some values, from their shapes and dtypes."""
    shape, dtype = max(specs, key=lambda spec: math.prod(spec[0]), default=((), "no value"))
    return f"{dtype}[{','.join(map(str, shape))}]"


def raise_as_ours(
    error: RuntimeError, group: ProcessGroup | None = None, value: str = ""
) -> NoReturn:
    """Raise a failure of XLA as ``JaxRuntimeError``, and an exception of a host call unchanged.

    Args:
        error: what the runtime raised.
        group: the processes that compute together.
        value: the type of the value that was waited for, if one was.
    """
    if not pjrt.is_runtime_error(error):
        raise error
    if group is not None and (lost := group.on_failure(error)) is not None:
        raise JaxRuntimeError(str(lost)) from error
    try:
        raise_original(error)
    except RuntimeError as found:
        if found is not error:
            raise
    message = str(error)
    # A computation that waits for one without memory fails with an internal error around that one's.
    if message.startswith("INTERNAL") and ": Out of memory allocating" in message:
        message = f"RESOURCE_EXHAUSTED: Out of memory allocating{message.rpartition('Out of memory allocating')[2]}"
    if value and message.startswith("RESOURCE_EXHAUSTED"):
        message = f"{message} The program has the result {value}."
    raise JaxRuntimeError(explained(message)) from error
