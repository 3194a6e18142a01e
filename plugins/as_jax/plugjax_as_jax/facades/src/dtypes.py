"""``jax._src.dtypes``: what ``plugjax.dtypes`` lacks."""

import numpy as np

from plugjax.errors import TypePromotionError as TypePromotionError
from plugjax.extend.dtypes import DType as DType, ExtendedDType as ExtendedDType


def supports_inf(dtype: np.dtype) -> bool:
    """Whether a floating dtype has infinities.

    Example:
        >>> import numpy as np
        >>> supports_inf(np.dtype("float32"))
        True
    """
    return bool(np.isinf(np.array(np.inf).astype(dtype)))
