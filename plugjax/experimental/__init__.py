"""Names that JAX keeps under ``jax.experimental``."""

from typing import TYPE_CHECKING

from plugjax.experimental.tangent_dtypes import primal_tangent_dtype
from plugjax.lax.callback import io_callback
from plugjax.transforms.namespaces import late

if TYPE_CHECKING:
    from plugjax.experimental.extended_arrays import EArray
    from plugjax.experimental.hijax.mutable_types import cur_qdd

__all__ = ["EArray", "cur_qdd", "io_callback", "primal_tangent_dtype"]

__getattr__ = late(globals(), {"EArray": ".extended_arrays", "cur_qdd": ".hijax"})
