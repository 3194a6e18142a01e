"""Binary operations of reductions, windows and scatters, and their neutral elements."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from plugjax.extend.dtypes import BOOL, DType, is_integer
from plugjax.stablehlo import mlir
from plugjax.stablehlo.mlir import Value

# Dtypes without infinities: the largest finite value takes their place.
_FINITE_FLOATS = (
    "float8_e4m3b11fnuz",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2fnuz",
    "float4_e2m1fn",
)


def extreme(dtype: DType, sign: int) -> Any:
    """The least (``sign`` -1) or greatest (+1) value of a dtype, infinity included."""
    if dtype == BOOL:
        return sign > 0
    if is_integer(dtype):
        # NumPy's iinfo lacks the small dtypes.
        name = dtype.name
        bits = int(name.lstrip("uint"))
        if name.startswith("u"):
            return 2**bits - 1 if sign > 0 else 0
        return 2 ** (bits - 1) - 1 if sign > 0 else -(2 ** (bits - 1))
    if dtype.name in _FINITE_FLOATS:
        return sign * float(ml_dtypes.finfo(dtype).max)
    return sign * np.inf


def _all_ones(dtype: DType) -> Any:
    unsigned = dtype == BOOL or dtype.name.startswith("u")
    return extreme(dtype, 1) if unsigned else -1


@dataclass(frozen=True)
class Reducer:
    """A commutative and associative operation.

    Attributes:
        operation: name of the operation.
        on_bool: its name for bools.
        neutral: the neutral element for a dtype.
    """

    operation: str
    on_bool: str
    neutral: Callable[[DType], Any]

    def body(self, dtype: DType) -> Callable[[Value, Value], list[Value]]:
        """The operation on two scalars, as the body of a region."""
        name = self.on_bool if dtype == BOOL else self.operation
        return lambda a, b: [mlir.op(name, [a.type], [a, b]).result]

    def initial(self, dtype: DType) -> Value:
        """The neutral element."""
        return mlir.constant(np.asarray(self.neutral(dtype), dtype))


SUM = Reducer("stablehlo.add", "stablehlo.or", lambda d: 0)
PRODUCT = Reducer("stablehlo.multiply", "stablehlo.and", lambda d: 1)
MAXIMUM = Reducer("stablehlo.maximum", "stablehlo.maximum", lambda d: extreme(d, -1))
MINIMUM = Reducer("stablehlo.minimum", "stablehlo.minimum", lambda d: extreme(d, 1))
AND = Reducer("stablehlo.and", "stablehlo.and", _all_ones)
OR = Reducer("stablehlo.or", "stablehlo.or", lambda d: 0)
XOR = Reducer("stablehlo.xor", "stablehlo.xor", lambda d: 0)
