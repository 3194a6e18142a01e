"""Functions of one matrix, mapped over leading axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from plugjax.extend.transforms import vmap


def over_matrices(function: Callable[..., Any], *operands: Any) -> Any:
    """Apply a function of matrices, operands with equal leading axes."""
    for _ in range(operands[0].ndim - 2):
        function = vmap(function)
    return function(*operands)
