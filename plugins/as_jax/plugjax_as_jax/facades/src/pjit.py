"""``jax._src.pjit``: the primitive of jitted calls, beside the names of ``jax.experimental.pjit``."""

from plugjax.extend.calls import jit_p as jit_p
