"""JAX as an oracle compiles twice as fast: its values matter, not its speed.

Most of what the tests cost is XLA compiling JAX's side of them, operation by operation. The options are JAX's alone: `plugjax_xla`
compiles as it always does. They change the last bit of sums of products: what compares bits uses `optimised`.
"""

from contextlib import contextmanager

import jax
from jax._src import compiler

QUICK = {
    "xla_cpu_use_fusion_emitters": False,
    "xla_backend_optimization_level": 0,
    "xla_llvm_disable_expensive_passes": True,
}
_options = compiler.get_compile_options


def install():
    """Have every compilation of JAX in this process use the options."""

    def quick(*args, env_options_overrides=None, **kwargs):
        overrides = {**QUICK, **(env_options_overrides or {})}
        return _options(*args, env_options_overrides=overrides, **kwargs)

    compiler.get_compile_options = quick


@contextmanager
def optimised():
    """JAX compiles as its users know it."""
    quick = compiler.get_compile_options
    jax.clear_caches()
    compiler.get_compile_options = _options
    try:
        yield
    finally:
        compiler.get_compile_options = quick
