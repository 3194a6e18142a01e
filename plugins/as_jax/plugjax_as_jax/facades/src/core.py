"""``jax._src.core``: what neither ``plugjax.core`` nor ``plugjax.extend.core`` has."""

from plugjax.extend.core import aval_of, eval_context as eval_context, get_opaque_trace_state

get_aval = aval_of
typeof = aval_of


def trace_state_clean() -> bool:
    """Whether no transformation is open: what is computed is evaluated at once."""
    with eval_context():
        outside = get_opaque_trace_state()
    return get_opaque_trace_state() == outside
