"""Programs in which IREE 3.13 merges operations with several users wrongly, unless it is told not to."""

import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp

RNG = np.random.default_rng(0)
X = RNG.normal(size=(3, 7, 3)).astype(np.float32)
Y = RNG.normal(size=(3, 7, 3)).astype(np.float32)
W = RNG.normal(size=(3, 3)).astype(np.float32)


def gathered_and_updated(x, y):
    """The gather reads one place of what the update needs all of."""
    total = jnp.sum(x[:, :, np.array([0, 0])], 2)[:, :, None]
    return (y + jnp.pad(total, ((0, 0), (0, 0), (2, 0)))) + x.at[:, :, 1].set(0.0)


def equal_results(x, y):
    """Two products that are the same, and what both are made of."""
    half = y * 0.5
    one, other = half * y, y * half
    return one + jnp.tensordot(x, W, 1), half, one, other


def transposed_indices(x, y):
    """The transposition would be merged into the reduction that finds them."""

    def three(x):
        return x * jnp.floor(x * 3).astype(np.int32), jnp.argmax(x), x.astype(np.int8)

    def along_a_last_axis(f):
        return lambda x: plugjax.vmap(f, -1, -1)(jnp.stack([x, x * 0.5], -1))

    return along_a_last_axis(along_a_last_axis(three))(x[0, 0])


def transposed_for_two_functions(x, y):
    """Both begin with the same operation, and IREE inlines them before it looks for such."""
    inner = plugjax.jit(lambda x, y: jnp.sin(x) * y)

    def twice(x):
        return inner(x, x * 2.0) + inner(x, 1.0)

    return plugjax.vmap(plugjax.hessian(twice), -1, -1)(jnp.stack([x[0, 0], y[0, 0]], -1))


PROGRAMS = [gathered_and_updated, equal_results, transposed_indices, transposed_for_two_functions]


@pytest.mark.parametrize("function", PROGRAMS)
def test_values_are_those_of_numpy(function, agrees):
    agrees(function, X, Y, rtol=1e-5, atol=1e-5)
