"""Constants that are not finite: what LLVM computes of them while it compiles is not what the processor computes."""

import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp
import plugjax.scipy.special
from plugjax import lax, nn

SPECIAL = np.array([0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 0.5, 88, -88], np.float32)
FUNCTIONS = (
    nn.sigmoid, nn.softplus, nn.gelu, jnp.exp, jnp.log, jnp.tanh, jnp.sin, jnp.cos, jnp.sqrt, jnp.cbrt, jnp.expm1, jnp.log1p,
    jnp.arctan, jnp.floor, jnp.round, jnp.sinc, plugjax.scipy.special.erf,
)  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_functions_of_special_constants(dtype, agrees):
    agrees(lambda: [f(jnp.asarray(SPECIAL).astype(dtype)) for f in FUNCTIONS], rtol=1e-2, atol=2e-3)


def test_functions_of_one_special_constant(agrees):
    def program():
        return [f(jnp.full(3, v)) for f in FUNCTIONS for v in (np.nan, np.inf, -np.inf)]

    agrees(program, rtol=1e-5, atol=1e-6)


def test_subnormal_constants_are_zeros_throughout():
    with plugjax.default_device("iree"):
        found = plugjax.jit(lambda: jnp.sinc(jnp.array([-9.18e-41, 1e-40, 0.0])))()
    np.testing.assert_array_equal(found, 1.0)


def test_remainders_of_constants(agrees):
    numbers = np.array([2.0, 0.48170236, 3.0], np.float32)
    agrees(lambda: nn.sigmoid(lax.rem(jnp.asarray(numbers), jnp.zeros(3))), rtol=1e-5, atol=1e-6)
