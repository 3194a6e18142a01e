"""``jax._src.ad_util``: the zeros and primitives of derivatives that ``plugjax.interpreters.ad`` does not name."""

from plugjax.extend.core import (
    Zero as Zero,
    instantiate as instantiate,
    stop_gradient_p as stop_gradient_p,
)
from plugjax.interpreters.ad import zeros_like_aval as zeros_like_aval

SymbolicZero = Zero
