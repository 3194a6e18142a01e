"""Values and derivatives of loops and branches, alone and under vmap, against JAX."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import plugjax
import plugjax.numpy as pnp

XS = np.linspace(0.1, 1.3, 5).astype(np.float32)
W = np.array([[0.4, -0.3], [0.2, 0.5]], np.float32)


def growing(j, np_):
    """A loop whose number of steps depends on the value."""
    return lambda x: j.lax.while_loop(
        lambda s: s[0] < 4.0, lambda s: (s[0] * 1.5 + 0.2, np_.sin(s[1]) * s[0]), (x, x)
    )[1]


def branches(j, np_):
    """Branches with different residuals, one of which closes over an array."""

    def run(x):
        scale = x * x
        return j.lax.switch(
            (x * 3).astype(int),
            [
                lambda y: (np_.sin(y) * scale, y),
                lambda y: (y, np_.exp(np_.cos(y)) * 2),
                lambda y: (y * y * y, np_.zeros_like(y)),
            ],
            x,
        )

    return lambda x: sum(run(x))


def chosen(j, np_):
    return lambda x: j.lax.cond(x > 0.6, lambda t: np_.sin(t["a"]) * t["b"], lambda t: t["a"] / 3,
                                {"a": x, "b": x * x})  # fmt: skip


def recurrence(j, np_, **options):
    def run(x):
        def step(carry, row):
            h, n = carry
            h = np_.tanh(np_.dot(np_.asarray(W), h) + row * x)
            return (h, n + 1), {"h": h, "n": n}

        carry, ys = j.lax.scan(step, (np_.ones(2), 0), np_.asarray(XS), **options)
        return carry[0].sum() + (ys["h"] * ys["n"][:, None]).sum()

    return run


def nested(j, np_):
    """A scan in a cond in a counted loop."""

    def run(x):
        def body(i, y):
            def inner(z):
                return j.lax.scan(lambda c, r: (c * np_.cos(r * x), c), z, np_.asarray(XS))[0]

            return j.lax.cond(i % 2 == 0, inner, lambda z: z + x, y)

        return j.lax.fori_loop(0, 4, body, x)

    return run


def dynamic(j, np_):
    """A counted loop whose bound is traced."""
    return lambda x: j.lax.fori_loop(0, (x * 7).astype(int), lambda i, y: y * x + i, x)


def prefixes(j, np_):
    def run(x):
        def combine(a, b):
            return {"m": np_.matmul(b["m"], a["m"]), "s": a["s"] + b["s"] * x}

        elems = {"m": np_.asarray(W) * np_.asarray(XS)[:, None, None] * x, "s": np_.asarray(XS) * x}
        found = j.lax.associative_scan(combine, elems)
        return found["m"].sum() * found["s"].sum()

    return run


FORWARD = {"growing": growing, "dynamic": dynamic}
BOTH = {"branches": branches, "chosen": chosen, "recurrence": recurrence, "nested": nested, "prefixes": prefixes,
        "reversed": lambda j, np_: recurrence(j, np_, reverse=True),
        "unrolled": lambda j, np_: recurrence(j, np_, unroll=2)}  # fmt: skip


def forward(j, f):
    def slope(x):
        return j.jvp(f, (x,), (np.float32(1),))

    return {
        "value": f(XS[3]),
        "jvp": slope(XS[3]),
        "vmap": j.vmap(f)(XS),
        "vmap of jvp": j.vmap(slope)(XS),
        "jvp of vmap": j.jvp(j.vmap(f), (XS,), (XS,)),
    }


def reverse(j, f):
    return {
        "grad": j.grad(f)(XS[3]),
        "grad of vmap": j.grad(lambda x: j.vmap(f)(x).sum())(XS),
        "vmap of grad": j.vmap(j.grad(f))(XS),
        "grad of grad": j.grad(j.grad(f))(XS[1]),
    }


def assert_same(found, expected):
    for name in expected:
        for a, b in zip(
            plugjax.tree.leaves(found[name]), jax.tree.leaves(expected[name]), strict=True
        ):
            np.testing.assert_allclose(a, b, rtol=2e-4, atol=1e-5, err_msg=name)


@pytest.mark.spread(6)
@pytest.mark.parametrize("name", {**FORWARD, **BOTH})
def test_values_and_forward_derivatives(name):
    make = {**FORWARD, **BOTH}[name]
    assert_same(forward(plugjax, make(plugjax, pnp)), forward(jax, make(jax, jnp)))


@pytest.mark.spread(6)
@pytest.mark.parametrize("name", BOTH)
def test_reverse_derivatives(name):
    make = BOTH[name]
    assert_same(reverse(plugjax, make(plugjax, pnp)), reverse(jax, make(jax, jnp)))


@pytest.mark.spread(2)
@pytest.mark.parametrize("name", ["growing", "nested", "branches"])
def test_vmapped_loops_and_branches_on_backends(on_backend, name):
    make = {**FORWARD, **BOTH}[name]
    f, g = make(plugjax, pnp), make(jax, jnp)
    found = plugjax.jit(plugjax.vmap(lambda x: plugjax.jvp(f, (x,), (x,))))(XS)
    np.testing.assert_allclose(
        found, jax.vmap(lambda x: jax.jvp(g, (x,), (x,)))(XS), rtol=2e-4, atol=1e-5
    )


@pytest.mark.spread(3)
@pytest.mark.parametrize("name", ["recurrence", "prefixes"])
def test_gradients_on_backends(on_backend, name):
    found = plugjax.jit(plugjax.vmap(plugjax.grad(BOTH[name](plugjax, pnp))))(XS)
    np.testing.assert_allclose(
        found, jax.vmap(jax.grad(BOTH[name](jax, jnp)))(XS), rtol=2e-4, atol=1e-5
    )


def test_steps_of_a_small_complex_constant_on_backends(on_backend):
    start = pnp.array([1 + 2j, 0.5], pnp.complex64)
    found = plugjax.jit(lambda: plugjax.lax.fori_loop(0, 2, lambda i, c: c * 2, start, unroll=2))()
    np.testing.assert_array_equal(found, [4 + 8j, 2])


@pytest.mark.spread(2)
@pytest.mark.parametrize("size", [0, 1, 2, 3, 7, 8])
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("backwards", [False, True])
def test_prefixes_of_every_length(size, axis, backwards):
    shape = [2, 3, 2]
    shape[axis] = size
    x = np.arange(np.prod(shape), dtype=np.int32).reshape(shape)

    # Composition of affine functions, which does not commute.
    def combine(a, b):
        return (a[0] * b[0], a[1] * b[0] + b[1])

    found = plugjax.lax.associative_scan(combine, (x % 3, x), reverse=backwards, axis=axis)
    expected = jax.lax.associative_scan(combine, (x % 3, x), reverse=backwards, axis=axis % 3)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b)
        assert a.dtype == b.dtype


def test_prefixes_have_logarithmic_depth():
    calls = []

    def combine(a, b):
        calls.append(a.shape)
        return a + b

    plugjax.lax.associative_scan(combine, np.ones(1024, np.float32))
    assert len(calls) == 19


def test_gradient_of_map_in_blocks():
    def f(j, np_):
        return lambda x: j.lax.map(lambda t: np_.sin(t["a"]) * t["b"], {"a": x, "b": x * x},
                                   batch_size=2).sum()  # fmt: skip

    np.testing.assert_allclose(
        plugjax.grad(f(plugjax, pnp))(XS), jax.grad(f(jax, jnp))(XS), rtol=1e-5
    )


def test_reverse_mode_of_a_long_scan_of_no_steps():
    def f(x):
        return plugjax.lax.scan(lambda c, r: (c * pnp.sin(x) * r, c), x, np.zeros(0, np.float32))[0]

    np.testing.assert_allclose(plugjax.grad(f)(2.0), 1.0)
