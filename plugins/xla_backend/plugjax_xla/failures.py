"""Failures of XLA as errors of plugjax."""

from __future__ import annotations

from typing import NoReturn

from plugjax.extend.errors import JaxRuntimeError
from plugjax_xla import pjrt
from plugjax_xla.host_callbacks import raise_original
from plugjax_xla.processes import ProcessGroup
from plugjax_xla.transfer_server import explained


def raise_as_ours(error: RuntimeError, group: ProcessGroup | None = None) -> NoReturn:
    """Raise a failure of XLA as ``JaxRuntimeError``, and an exception of a host call unchanged."""
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
    raise JaxRuntimeError(explained(message)) from error
