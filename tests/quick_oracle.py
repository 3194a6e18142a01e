"""JAX as an oracle, compiled without optimisation in half the time.

XLA's compilation of JAX's operations dominates the cost of the tests. The options apply to JAX only: `plugjax_xla`
compiles as usual. They change the last bit of sums of products; tests that compare bits use `optimised`.
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
    """Apply the options to every compilation of JAX in this process."""

    def quick(*args, env_options_overrides=None, **kwargs):
        overrides = {**QUICK, **(env_options_overrides or {})}
        return _options(*args, env_options_overrides=overrides, **kwargs)

    compiler.get_compile_options = quick


@contextmanager
def optimised():
    """JAX with its usual compiler options."""
    quick = compiler.get_compile_options
    jax.clear_caches()
    compiler.get_compile_options = _options
    try:
        yield
    finally:
        compiler.get_compile_options = quick
