"""A result that does not fit into memory is JAX's error, on every backend."""

import jax
import jax.numpy
import numpy as np
import pytest

import plugjax
import plugjax.numpy
from plugjax.errors import JaxRuntimeError

# Half a tebibyte and more: no machine that runs tests has so much to give.
SIDE = 1 << 20

CALLS = {
    "zeros": lambda j, np_: np_.zeros((SIDE, SIDE)),
    "operator": lambda j, np_: np_.ones((SIDE, 1)) * np_.ones((1, SIDE)),
    "operator with a number": lambda j, np_: np_.broadcast_to(np_.float32(1), (SIDE, SIDE)) + 1,
    "matmul": lambda j, np_: np_.ones((SIDE, 1)) @ np_.ones((1, SIDE)),
    "jit": lambda j, np_: j.jit(lambda x, y: x * y)(np_.ones((SIDE, 1)), np_.ones((1, SIDE))),
    "grad": lambda j, np_: j.grad(lambda x: np_.sum(x * np_.ones((SIDE, 1))))(np_.ones((1, SIDE))),
}  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
def test_jax_raises_it(call):
    # A later operation may meet the error first; it then says only what failed.
    with pytest.raises(jax.errors.JaxRuntimeError, match="Out of memory"):
        jax.block_until_ready(CALLS[call](jax, jax.numpy))


@pytest.mark.parametrize("device", ["numpy", "xla"])
@pytest.mark.parametrize("call", CALLS)
def test_out_of_memory_is_a_runtime_error(device, call):
    with (
        plugjax.default_device(device),
        pytest.raises(JaxRuntimeError, match="RESOURCE_EXHAUSTED: Out of memory"),
    ):
        plugjax.block_until_ready(CALLS[call](plugjax, plugjax.numpy))


@pytest.mark.parametrize("call", ["zeros", "jit"])
def test_out_of_memory_on_iree(call):
    with (
        plugjax.default_device("iree"),
        pytest.raises(JaxRuntimeError, match="RESOURCE_EXHAUSTED"),
    ):
        plugjax.block_until_ready(CALLS[call](plugjax, plugjax.numpy))


def test_a_memory_error_of_the_users_own_is_left_alone():
    def fails(x):
        np.ones((SIDE, SIDE))
        return x

    with pytest.raises(MemoryError):
        plugjax.jit(fails)(1.0)
