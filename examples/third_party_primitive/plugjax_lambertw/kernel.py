"""The host kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special

from plugjax.extend import RuleSet, impl
from plugjax_lambertw.lambertw import lambertw_p

rules = RuleSet(__name__)


@rules.define(impl, lambertw_p)
def _lambertw(x: Any) -> Any:
    w = scipy.special.lambertw(np.asarray(x, np.float64))
    return np.where(np.isreal(w), np.real(w), np.nan).astype(x.dtype)
