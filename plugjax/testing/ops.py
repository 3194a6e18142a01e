"""The op table: at least one row per primitive. The checks of ``testing.checks`` come from the rows."""

from __future__ import annotations

from plugjax.testing.row import Op
from plugjax.testing.rows_callbacks import CALLBACKS
from plugjax.testing.rows_calls import CALLS
from plugjax.testing.rows_collectives import COLLECTIVES
from plugjax.testing.rows_elementwise import ELEMENTWISE
from plugjax.testing.rows_fft import FOURIER
from plugjax.testing.rows_indexing import INDEXING
from plugjax.testing.rows_linalg import LINALG
from plugjax.testing.rows_programs import CONTROL_FLOW, RANDOM
from plugjax.testing.rows_reductions import REDUCTIONS
from plugjax.testing.rows_special import SPECIAL
from plugjax.testing.rows_structural import STRUCTURAL
from plugjax.testing.rows_windowed import WINDOWED

OPS: list[Op] = [
    *ELEMENTWISE,
    *SPECIAL,
    *STRUCTURAL,
    *INDEXING,
    *REDUCTIONS,
    *WINDOWED,
    *LINALG,
    *FOURIER,
    *CALLS,
    *CONTROL_FLOW,
    *COLLECTIVES,
    *CALLBACKS,
    *RANDOM,
]
