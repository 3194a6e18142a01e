"""Products with scaled blocks: JAX has them on GPUs only, so NumPy is the oracle."""

import jax
import ml_dtypes
import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp
from plugjax import lax, nn

_rng = np.random.RandomState(0)
A = _rng.randn(2, 32, 64).astype(np.float32)
B = _rng.randn(2, 64, 3, 32).astype(np.float32)
NUMBERS = (((2,), (1,)), ((0,), (0,)))


def test_scaled_matmul_multiplies_blocks_by_their_scales():
    a = _rng.randint(-8, 8, (2, 3, 64)).astype(ml_dtypes.float8_e4m3fn)
    b = _rng.randint(-8, 8, (2, 5, 64)).astype(ml_dtypes.float8_e4m3fn)
    sa = (2.0 ** _rng.randint(-3, 3, (2, 3, 2))).astype(ml_dtypes.float8_e8m0fnu)
    sb = (2.0 ** _rng.randint(-3, 3, (2, 5, 2))).astype(ml_dtypes.float8_e8m0fnu)
    wide = [
        q.astype(np.float64) * s.astype(np.float64).repeat(32, -1) for q, s in ((a, sa), (b, sb))
    ]
    found = plugjax.jit(nn.scaled_matmul)(a, b, sa, sb)
    np.testing.assert_array_equal(found, np.einsum("bmk,bnk->bmn", *wide))
    assert nn.scaled_matmul(a, b, sa, sb, jnp.bfloat16).dtype == jnp.bfloat16


@pytest.mark.parametrize("shapes", [((3, 64), (2, 5, 64), (2, 3, 2), (2, 5, 2)), ((2, 3, 64), (2, 5, 32), (2, 3, 2), (2, 5, 2)),
                                    ((2, 3, 64), (2, 5, 64), (2, 3, 2), (2, 5, 1)), ((2, 3, 64), (2, 5, 64), (2, 4, 2), (2, 5, 2))])  # fmt: skip
def test_shapes_that_do_not_fit_raise(shapes):
    arrays = [np.ones(s, np.float32) for s in shapes]
    with pytest.raises(ValueError):
        jax.nn.scaled_matmul(*arrays)
    with pytest.raises(ValueError):
        nn.scaled_matmul(*arrays)


@pytest.mark.parametrize(("mode", "error"), [("mxfp8", 0.05), ("nvfp4", 0.2)])
def test_scaled_dot_general_is_near_the_product(mode, error):
    configs = [nn.get_scaled_dot_general_config(mode)] * 3
    found = plugjax.jit(lambda a, b: nn.scaled_dot_general(a, b, NUMBERS, configs=configs))(A, B)
    exact = np.asarray(lax.dot_general(A, B, NUMBERS))
    assert found.shape == exact.shape
    assert np.linalg.norm(found - exact) < error * np.linalg.norm(exact)
    assert np.abs(found - exact).max() > 0


@pytest.mark.parametrize(("mode", "error"), [("mxfp8", 0.1), ("nvfp4", 0.4)])
def test_gradients_are_near_those_of_the_product(mode, error):
    configs = [nn.get_scaled_dot_general_config(mode)] * 3

    def loss(**options):
        return lambda a, b: (nn.scaled_dot_general(a, b[:, :, 0], NUMBERS, **options) ** 2).sum()

    ours = plugjax.grad(loss(configs=configs), argnums=(0, 1))(A, B)
    exact = plugjax.grad(loss(), argnums=(0, 1))(A, B)
    for a, b in zip(ours, exact, strict=True):
        assert np.linalg.norm(a - b) < error * np.linalg.norm(b)


def test_wrong_options_raise():
    configs = [nn.get_scaled_dot_general_config("mxfp8")] * 3
    with pytest.raises(ValueError, match="mode"):
        nn.get_scaled_dot_general_config("mxfp4")
    with pytest.raises(TypeError):
        nn.scaled_dot_general(A, B, NUMBERS, jnp.int32, configs)
    with pytest.raises(ValueError, match="block"):
        nn.scaled_dot_general(A[..., :8], B[:, :8], NUMBERS, configs=configs)
