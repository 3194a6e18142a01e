"""Kernels of tokens. NumPy runs programs in order, so they carry nothing."""

from __future__ import annotations

import numpy as np

from plugjax.extend.rules import RuleSet, impl
from plugjax.lax.tokens import after_all_p, create_token_p
from plugjax_numpy.kernels import Value

rules = RuleSet(__name__)


@rules.define(impl, create_token_p, after_all_p)
def _token(*operands: Value) -> Value:
    return np.int32(0)
