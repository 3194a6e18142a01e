"""Functions of single matrices, mapped over leading axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from plugjax.extend.core import aval_of
from plugjax.extend.transforms import vmap


def batched(function: Callable[..., Any], rank: int) -> Callable[..., Any]:
    """``function``, whose first operand has ``rank`` axes, mapped over the leading axes."""

    def mapped(*operands: Any, **params: Any) -> Any:
        def single(*matrices: Any) -> Any:
            return function(*matrices, **params)

        for _ in range(aval_of(operands[0]).ndim - rank):
            single = vmap(single)
        return single(*operands)

    return mapped
