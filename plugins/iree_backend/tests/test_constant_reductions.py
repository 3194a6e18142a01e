"""Reductions of what IREE may find to be constant: it computes them wrongly unless it cannot see that."""

import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp
from plugjax import lax, nn

ONES = np.ones(4, np.float32)
T = np.arange(1, 11, dtype=np.int32).reshape(2, 5)
X = np.linspace(-1, 1, 10, dtype=np.float32).reshape(2, 5)

CONSTANT = {
    "weights": lambda x, t: (jnp.ones(4) / 4).sum() + x,
    "product": lambda x, t: jnp.prod(jnp.exp(jnp.full(3, 0.5))) + x,
    "largest": lambda x, t: jnp.max(-jnp.full((2, 5), 2.0), axis=0) + x,
    "place": lambda x, t: jnp.argmax(-jnp.ones(4)) + x,
    "windows": lambda x, t: lax.reduce_window(
        jnp.exp(jnp.zeros(4)), 0.0, lax.add, (2,), (1,), "VALID"
    ),
    "closed over": lambda x, t: jnp.sum(jnp.sqrt(ONES * 4)) + x,
    "in a loop": lambda x, t: lax.fori_loop(
        0, 2, lambda i, c: c + jnp.sum(jnp.sin(jnp.ones(3))), x
    ),
    "in a branch": lambda x, t: lax.cond(
        x[0, 0] > 0, lambda: jnp.sum(-jnp.ones(3)), lambda: x[0, 0]
    ),
    "mean of squares": lambda x, t: jnp.mean((jnp.ones((3, 2)) * 2) ** 2) * x,
    "argument of a function": lambda x, t: plugjax.jit(lambda y: jnp.sum(y))(jnp.ones(3) / 3) + x,
    "not constant": lambda x, t: jnp.sum(jnp.ones((2, 5)) * x),
    "not less than 0": lambda x, t: jnp.sum(t.astype(jnp.uint32) >= 0, axis=1),
    "rest of 1": lambda x, t: jnp.sum(t % 1 + 1),
    "no nan": lambda x, t: jnp.sum(~jnp.isnan(t)),
    "nan": lambda x, t: jnp.sum(x != jnp.nan),
    "itself": lambda x, t: jnp.sum(t == t, axis=0),
    "times 0": lambda x, t: jnp.sum(t * 0 + 3),
    "without itself": lambda x, t: jnp.sum(t - t + 2),
    "exclusive": lambda x, t: jnp.sum((t ^ t) + 2),
    "masked": lambda x, t: jnp.sum((t & 0) | 1),
    "at least": lambda x, t: jnp.sum(jnp.minimum(t.astype(jnp.uint8), 0) + 1),
    "clipped": lambda x, t: jnp.prod(jnp.clip(t, 2, 2)),
    "to the power of 0": lambda x, t: jnp.sum(x**0),
    "mean of a mask": lambda x, t: jnp.mean((t == t).astype(jnp.float32)),
    "chosen": lambda x, t: jnp.sum(jnp.where(t == t, 2.0, x)),
    "weighted choice": lambda x, t: jnp.sum(jnp.where(t >= t, x, 1.0), axis=1),
    "padded": lambda x, t: jnp.sum(jnp.pad(t[:, :0] + 1, ((0, 0), (2, 1)), constant_values=3)),
    "joined": lambda x, t: jnp.sum(jnp.concatenate([x[:0] + 1, jnp.full((2, 5), 3.0)])),
    "loop of length 0": lambda x, t: jnp.sum(
        lax.fori_loop(0, 0, lambda i, c: c * 2, jnp.ones(5) * 2)
    ),
    "loop of length 1": lambda x, t: jnp.sum(
        lax.fori_loop(0, 1, lambda i, c: jnp.full((2, 5), 2.0), x)
    ),
    "all branches": lambda x, t: jnp.sum(
        lax.cond(x[0, 0] > 0, lambda v: jnp.full(3, 2.0), lambda v: jnp.full(3, 2.0), x)
    ),
    "cotangents of a branch": lambda x, t: plugjax.grad(
        lambda s: jnp.sum(lax.cond(t[0, 0] > 0, lambda v: v * s, lambda v: v, jnp.ones(4) * s))
    )(2.0),
    "product of constants": lambda x, t: jnp.dot(jnp.ones((2, 3)), jnp.full((3, 4), 0.5)),
    "products of rows": lambda x, t: (
        jnp.einsum("bi,bi->b", jnp.exp(jnp.ones((2, 5))), jnp.exp(jnp.ones((2, 5)) / 2)) + x[:, 0]
    ),
    "products of rows that are gathered": lambda x, t: plugjax.vmap(
        lambda i: jnp.dot(
            jnp.ones(1).at[i].get(mode="promise_in_bounds"),
            jnp.ones(1).at[i].get(mode="promise_in_bounds") / 2,
        )
    )(t * 0),
    "product of zeros": lambda x, t: jnp.dot(jnp.zeros((2, 3)), jnp.full((3, 4), 0.5)),
    "convolution of constants": lambda x, t: jnp.convolve(jnp.ones(5), jnp.full(3, 0.5)) + t[0, 0],
    "window of what is computed": lambda x, t: lax.reduce_window(
        t * 0 + 1, 0, lax.add, (1, 2), (1, 1), "VALID"
    ),
}


def test_they_are_what_numpy_computes():
    def together(x, t):
        return [program(x, t) for program in CONSTANT.values()]

    with plugjax.default_device("numpy"):
        expected = [np.asarray(y) for y in together(jnp.asarray(X), jnp.asarray(T))]
    with plugjax.default_device("iree"):
        found = plugjax.jit(together)(X, T)
    for name, y, z in zip(CONSTANT, found, expected, strict=True):
        np.testing.assert_allclose(y, z, rtol=1e-6, atol=1e-6, err_msg=name)


ORDINARY = {
    "softmax": lambda x, t: nn.softmax(x),
    "layer norm": lambda x, t: nn.standardize(x),
    "cross-entropy": lambda x, t: -jnp.sum(nn.one_hot(t[:, 0], 5) * nn.log_softmax(x)),
    "rectified": lambda x, t: jnp.sum(nn.relu(x * 2)),
    "gradient": lambda x, t: plugjax.grad(lambda y: jnp.sum(nn.relu(y @ X.T) ** 2))(x),
    "integers": lambda x, t: jnp.sum(t),
    "positive": lambda x, t: jnp.sum(x > 0),
    "masked": lambda x, t: jnp.sum(jnp.where(t > 3, x, 0.0), axis=1),
    "loop": lambda x, t: lax.scan(lambda c, r: (c + jnp.sum(r * 2), None), 0.0, x)[0],
}


def test_other_reductions_stay_merged(changes):
    with plugjax.default_device("iree"):
        plugjax.jit(lambda x, t: [program(x, t) for program in ORDINARY.values()])(X, T)
    assert changes["constant_reductions"] == 0


@pytest.mark.parametrize("name", ["weights", "rest of 1", "not less than 0"])
def test_without_barriers(name):
    """They can go when this fails."""
    with plugjax.default_device("numpy"):
        expected = CONSTANT[name](jnp.asarray(X), jnp.asarray(T))
    with plugjax.default_device("iree"):
        wrong = plugjax.jit(CONSTANT[name], compiler_options={"without": "constant_reductions"})
        found = wrong(X, T)
    assert not np.allclose(found, expected)
