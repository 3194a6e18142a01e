"""What a pullback holds: arguments, and what was computed, as in JAX."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import plugjax


def programs(np_):
    return [
        lambda p, y: p["a"] * y + np_.sin(y),
        lambda p, y: np_.sin(p["a"]) + y,
        lambda p, y: p["a"] * p["a"],
    ]


@pytest.mark.parametrize("which", range(3))
@pytest.mark.parametrize("jitted", [False, True])
def test_residuals_are_those_of_jax(which, jitted):
    seen = []
    for framework, numpy in ((jax, jnp), (plugjax, plugjax.numpy)):
        f = programs(numpy)[which]

        def pullback(p, y, f=f, framework=framework):
            return framework.vjp(f, p, y)[1]

        x, y = {"a": numpy.arange(3.0)}, numpy.ones(3) * 2
        pull = framework.jit(pullback)(x, y) if jitted else pullback(x, y)
        assert len(pull.args_res) == 2
        kept = [
            [
                type(leaf).__name__ != "NotNeeded"
                for leaf in framework.tree.leaves(
                    arg, is_leaf=lambda z: type(z).__name__ == "NotNeeded"
                )
            ]
            for arg in pull.args_res
        ]
        opaque = sorted(np.asarray(r).tolist() for r in pull.opaque_residuals)
        seen.append(
            (
                kept,
                [np.round(r, 5).tolist() for r in opaque],
                [np.asarray(c) for c in framework.tree.leaves(pull(y))],
            )
        )
    (kept, opaque, bars), (own_kept, own_opaque, own_bars) = seen
    assert kept == own_kept
    np.testing.assert_allclose(np.array(opaque), np.array(own_opaque), rtol=1e-4)
    for a, b in zip(bars, own_bars, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)


def test_an_argument_is_taken_out_and_put_back():
    x, y = plugjax.numpy.arange(3.0), plugjax.numpy.ones(3)
    _, pull = plugjax.vjp(lambda x, y: x * y, x, y)
    expected = [b.tolist() for b in pull(y)]
    assert pull.args_res[0] is x
    pull.args_res[0] = None
    with pytest.raises(ValueError, match="taken out of args_res"):
        pull(y)
    pull.args_res[0] = x
    assert [b.tolist() for b in pull(y)] == expected
    pull.args_res = [10 * x, y]
    assert pull(y)[1].tolist() == [0.0, 10.0, 20.0]
    assert len(plugjax.tree.leaves(pull)) == 2
    assert pull.in_tree == plugjax.tree.structure((0, 0))
    assert len(pull.jaxpr.eqns) >= 2
