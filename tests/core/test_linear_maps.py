"""Pullbacks and pushforwards as values, functions with a custom transpose, and saved residuals."""

import jax
import jax.ad_checkpoint
import jax.custom_derivatives
import jax.numpy as jnp
import numpy as np
import pytest

import plugjax
import plugjax.ad_checkpoint
import plugjax.custom_derivatives
import plugjax.numpy as pnp

X = np.float32(0.7)
V = np.linspace(-1, 1, 3, dtype=np.float32)
BOTH = ((plugjax, pnp), (jax, jnp))


def close(found, expected):
    found, expected = jax.tree.leaves(plugjax.tree.leaves(found)), jax.tree.leaves(expected)
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=2e-5, atol=1e-6)


def both(program):
    close(*(program(j, n) for j, n in BOTH))


def pair(n):
    return lambda p, i: {"y": n.sin(p["x"]) * p["v"] * i, "n": i + 1}


def point():
    return {"x": X, "v": V}, np.int32(3)


def bar(n):
    return {"y": n.ones(3), "n": np.zeros((), jax.dtypes.float0)}


PASSES = {
    "jit": lambda j, n: j.jit(lambda p, i: j.vjp(pair(n), p, i))(*point())[1](bar(n))[0],
    "both passes compiled": lambda j, n: j.jit(lambda pull: pull(bar(n))[0])(
        j.jit(lambda p, i: j.vjp(pair(n), p, i))(*point())[1]
    ),
    "linearize": lambda j, n: j.jit(lambda x: j.linearize(lambda y: n.sin(y) * y, x))(X)[1](X),
    "pushforward in jit": lambda j, n: j.jit(lambda push, t: push(t))(
        j.linearize(lambda y: n.sin(y) * y, X)[1], X
    ),
    "vmap": lambda j, n: j.vmap(lambda pull: pull(1.0))(
        j.vmap(lambda v: j.vjp(lambda y: n.sin(y) * y, v)[1])(V)
    ),
    "cond": lambda j, n: j.lax.cond(
        X > 0, lambda pull: pull(1.0)[0], lambda pull: 2 * pull(1.0)[0], j.vjp(n.sin, X)[1]
    ),
    "scan": lambda j, n: j.lax.scan(
        lambda c, pull: (c + pull(1.0)[0], None),
        0.0,
        j.vmap(lambda v: j.vjp(lambda y: n.sin(y) * y, v)[1])(V),
    )[0],
    "second derivative": lambda j, n: j.grad(
        lambda x: j.jit(lambda y: j.vjp(lambda z: n.sin(z) * z, y)[1])(x)(1.0)[0]
    )(X),
    "map of its leaves": lambda j, n: j.tree.map(lambda r: 2 * r, j.vjp(n.sin, V)[1])(n.ones(3))[0],
}


@pytest.mark.parametrize("name", PASSES)
def test_derivatives_at_a_point_are_containers(name):
    both(PASSES[name])


def test_a_pullback_as_the_residual_of_a_custom_rule(backend):
    def program(j, n):
        @j.custom_vjp
        def f(x):
            return n.sin(x)

        f.defvjp(lambda x: j.vjp(n.sin, x), lambda pull, g: (3 * pull(g)[0],))
        return j.jit(j.grad(lambda x: f(x) * x))(X)

    expected = program(jax, jnp)
    with plugjax.default_device(plugjax.devices(backend)[0]):
        close(program(plugjax, pnp), expected)


@pytest.mark.parametrize("jitted", [True, False])
@pytest.mark.parametrize("argnums", [0, (1, 0), -1])
def test_fwd_and_bwd(argnums, jitted):
    def program(j, n):
        fwd, bwd = j.fwd_and_bwd(lambda x, w: n.sin(x) * w, argnums, jitted=jitted)
        first, again = fwd(X, V), fwd(2 * X, 2 * V)
        return first[0], bwd(first[1], n.ones(3)), bwd(again[1], n.ones(3))

    both(program)


def test_fwd_and_bwd_compile_once_and_have_aux():
    traced = []

    def f(x):
        traced.append(1)
        return pnp.sin(x), x * 2

    fwd, bwd = plugjax.fwd_and_bwd(f, 0, has_aux=True)
    for x in (1.0, 2.0, 3.0):
        _, residuals, aux = fwd(x)
        close((bwd(residuals, 1.0), aux), (np.cos(x), 2 * x))
    assert len(traced) == fwd._cache_size() == bwd._cache_size() == 1
    with pytest.raises(TypeError, match="callable"):
        plugjax.fwd_and_bwd(3, 0)


def test_pullbacks_check_their_cotangents_when_they_come_out_of_jit():
    _, pull = plugjax.jit(lambda x: plugjax.vjp(pnp.sin, x))(V)
    with pytest.raises(ValueError, match="tree structure"):
        pull((V, V))
    with pytest.raises(ValueError, match=r"float32\[2\]"):
        pull(V[:2])


def divide(j):
    return lambda x, r: j.custom_derivatives.linear_call(
        lambda r, x: x / r, lambda r, y: 7 * y / r, r, x
    )


LINEAR = {
    "value": lambda j, n: divide(j)(X, np.float32(2)),
    "jit": lambda j, n: j.jit(divide(j))(X, np.float32(2)),
    "jvp": lambda j, n: j.jvp(lambda x: divide(j)(x, 2.0), (X,), (X,)),
    "grad": lambda j, n: j.grad(lambda x: divide(j)(x, 2.0) ** 2)(X),
    "jit grad": lambda j, n: j.jit(j.grad(lambda x: divide(j)(x, 2.0) ** 2))(X),
    "transposed": lambda j, n: j.linear_transpose(lambda x: divide(j)(x, 2.0), X)(X),
    "transposed twice": lambda j, n: j.linear_transpose(
        lambda y: j.linear_transpose(lambda x: divide(j)(x, 2.0), X)(y)[0], X
    )(X),
    "pytrees": lambda j, n: j.grad(
        lambda p: sum(
            j.custom_derivatives.linear_call(
                lambda _, q: (q["a"] + q["b"],), lambda _, y: {"a": 2 * y[0], "b": 3 * y[0]}, (), p
            )
        )
    )({"a": X, "b": 2 * X}),
    "closure": lambda j, n: j.jit(
        lambda c: j.grad(
            lambda x: j.custom_derivatives.linear_call(
                lambda _, y: y * c, lambda _, y: 5 * y * c, (), x
            )
        )(X)
    )(X),
}


@pytest.mark.parametrize("name", LINEAR)
def test_linear_call(name):
    both(LINEAR[name])


def test_linear_call_under_vmap():
    """JAX has no rule for this: each instance must have the result of a single call."""
    f = divide(plugjax)
    pull = plugjax.grad(lambda x, r: f(x, r) ** 2)
    for in_axes, args in [((0, None), (V, X)), ((0, 0), (V, V + 2)), ((None, 0), (X, V + 2))]:
        expected = [
            pull(*(a[i] if d == 0 else a for a, d in zip(args, in_axes, strict=True)))
            for i in range(3)
        ]
        close(list(plugjax.vmap(pull, in_axes)(*args)), expected)
    mapped = plugjax.jit(plugjax.grad(lambda x: plugjax.vmap(f, (0, None))(x, 2.0).sum()))
    close(mapped(V), np.full(3, 3.5, np.float32))


def test_linear_call_on_backends(backend):
    with plugjax.default_device(plugjax.devices(backend)[0]):
        close(LINEAR["jit grad"](plugjax, pnp), LINEAR["jit grad"](jax, jnp))


def test_linear_call_refuses():
    with pytest.raises(ValueError, match="residual arguments"):
        plugjax.grad(lambda r: divide(plugjax)(1.0, r))(2.0)
    wrong = lambda x: plugjax.custom_derivatives.linear_call(  # noqa: E731
        lambda _, y: y, lambda _, y: (y, y), (), x
    )
    with pytest.raises(TypeError, match="pytree structure"):
        plugjax.grad(wrong)(1.0)


def test_custom_vjp_primal_tree_values():
    seen = []

    def run(j, n):
        @j.custom_vjp
        def f(p):
            return p["a"] * p["b"]

        def fwd(p):
            values = j.custom_derivatives.custom_vjp_primal_tree_values(p)
            seen.append(sorted(values))
            return f(values), values

        f.defvjp(fwd, lambda p, g: ({"a": g * p["b"], "b": g * p["a"]},), symbolic_zeros=True)
        return j.grad(f)({"a": X, "b": X})

    both(run)
    assert seen == [["a", "b"]] * len(seen)
    with pytest.raises(TypeError, match="unexpected leaf type"):
        plugjax.custom_derivatives.custom_vjp_primal_tree_values(1.0)


def test_saved_residuals_tell_where_they_come_from(capsys):
    def f(w, x):
        return plugjax.jit(pnp.tanh)(plugjax.ad_checkpoint.checkpoint_name(x * w, "product")).sum()

    words = [w for _, w in plugjax.ad_checkpoint.saved_residuals(f, V, V)]
    assert words[:2] == ["from the argument w", "from the argument x"]
    assert all(__file__ in w for w in words[2:])
    assert any("output of jit(tanh)" in w for w in words)
    plugjax.ad_checkpoint.print_saved_residuals(plugjax.checkpoint(f), V, V)
    lines = capsys.readouterr().out.splitlines()
    assert lines == ["float32[3] from the argument w", "float32[3] from the argument x"]
