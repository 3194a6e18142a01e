"""Groups of operations for XLA's scheduler: the names of ``jax.experimental.scheduling_groups``."""

import importlib
from typing import Any

from plugjax.experimental.annotations.calls import (
    scheduling_group,
    xla_metadata_call,
    xla_metadata_call_p,
)


def attr_get(x: Any) -> Any:
    """A text as an attribute of MLIR, while a program is lowered.

    Raises:
        NotImplementedError: it is no text.

    Example:
        >>> from plugjax.experimental.scheduling_groups import attr_get
        >>> attr_get(1)
        Traceback (most recent call last):
        NotImplementedError: metadata of a call is text, got 1 of <class 'int'>
    """
    # MLIR needs jaxlib.
    return importlib.import_module("plugjax.experimental.annotations.lowering").text_attribute(x)


__all__ = ["attr_get", "scheduling_group", "xla_metadata_call", "xla_metadata_call_p"]
