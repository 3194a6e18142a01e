"""What derivatives give: arrays, also where they are zero, as weakly typed as their primals."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import plugjax
import plugjax.numpy as pnp

ZERO = [
    lambda j: j.grad(lambda x, y: x, (0, 1))(3.0, 2.0)[1],
    lambda j: j.grad(lambda x, y: x, (0, 1))(3.0, np.float32(2))[1],
    lambda j: j.vjp(lambda x, y: x, 3.0, 2.0)[1](1.0)[1],
    lambda j: j.jvp(lambda x: 2.0, (3.0,), (1.0,))[1],
    lambda j: j.jvp(lambda x: j.lax.stop_gradient(x), (3.0,), (1.0,))[1],
    lambda j: j.linearize(lambda x: 2.0, 3.0)[1](1.0),
    lambda j: j.grad(lambda x, y: x.sum(), (0, 1))(np.ones(2, np.float32), np.ones(2, np.float32))[1],
]  # fmt: skip


@pytest.mark.parametrize("derivative", ZERO)
def test_a_derivative_of_zero_is_an_array(derivative):
    ours, theirs = derivative(plugjax), derivative(jax)
    assert isinstance(ours, plugjax.Array)
    assert (ours.shape, ours.dtype, ours.weak_type) == (
        theirs.shape,
        theirs.dtype,
        theirs.weak_type,
    )
    assert (np.asarray(ours) == 0).all()


@pytest.mark.parametrize("x", [0.3, np.float32(0.3)], ids=["weak", "strong"])
@pytest.mark.parametrize("name", ["relu", "gelu", "elu", "soft_sign", "sigmoid"])
def test_a_gradient_is_as_weakly_typed_as_its_argument(name, x):
    ours, theirs = (j.grad(getattr(j.nn, name))(x) for j in (plugjax, jax))
    assert ours.weak_type == theirs.weak_type == isinstance(x, float)


def test_results_of_a_lowered_function_are_not_weakly_typed():
    for j in (plugjax, jax):
        lowered = j.jit(lambda x: x + 1).lower(3)
        assert str(lowered.out_info) == "ShapeDtypeStruct(shape=(), dtype=int32)"
        assert not lowered.compile().out_info.weak_type
        assert j.jit(lambda x: x + 1).trace(3).out_info.weak_type


def test_approximate_top_k_gives_lists():
    for j, np_ in ((plugjax, pnp), (jax, jnp)):
        x = np_.array([1.0, 4.0, 2.0])
        assert type(j.lax.approx_max_k(x, 2)) is type(j.lax.approx_min_k(x, 2)) is list
