"""``jax._src.literals``: types of constants of programs. Those of plugjax are arrays, so no program gives values of these."""

from typing import Any

import numpy as np


class TypedNdArray(np.ndarray):
    """A NumPy array with a weak type."""


class TypedInt(int):
    """An integer with a dtype."""

    dtype: Any


class TypedFloat(float):
    """A number with a dtype."""

    dtype: Any


class TypedComplex(complex):
    """A complex number with a dtype."""

    dtype: Any
