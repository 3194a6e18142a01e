"""``jax._src.dispatch``: programs that run, and their effects."""

from plugjax import effects_barrier
from plugjax.interpreters.xla import apply_primitive as apply_primitive


def wait_for_tokens() -> None:
    """Wait until all effects have taken place."""
    effects_barrier()
