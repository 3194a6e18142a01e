"""Gather and scatter that never leave their operands.

IREE 3.13 moves no window back in: a gather out of bounds reads, and a scatter out of bounds writes, memory that belongs to
others (measured: wrong values, then a segfault). It also refuses windows longer than 1 along an axis that is indexed, and
scatters into the result of a slice. So starts are clamped here, and every scatter takes one of two plain forms: a slice that
is updated in place for a single window, and rows of the leading axes for several.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from plugjax.core import RuleSet, ShapedArray, lowering
from plugjax.core.dtypes import BOOL, INT32
from plugjax.core.physical import DType
from plugjax.lax import gather_scatter as lax
from plugjax.lax.dimension_numbers import (
    GatherDimensionNumbers,
    GatherScatterMode,
    ScatterDimensionNumbers,
    scatter_slice_sizes,
)
from plugjax.stablehlo import gather_scatter as stablehlo
from plugjax.stablehlo import mlir
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.mlir import Value
from plugjax.stablehlo.reducers import MAXIMUM, MINIMUM, PRODUCT, SUM, Reducer
from plugjax.stablehlo.reduction import reduce

rules = RuleSet(__name__)
