"""``jax._src.literals``: types of constants of programs. Those of plugjax are arrays."""

import numpy as np


class TypedNdArray(np.ndarray):
    """A NumPy array with a weak type. No program of plugjax gives one."""
