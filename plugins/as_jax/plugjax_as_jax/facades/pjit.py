"""``jax.experimental.pjit``: older names of ``jit`` over several devices."""

from plugjax import jit as pjit
from plugjax.lax import with_sharding_constraint as with_sharding_constraint

__all__ = ["pjit", "with_sharding_constraint"]
