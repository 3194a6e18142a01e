"""Calls of exported functions under transformations."""

import jax
import jax.numpy as jax_np
import numpy as np
import pytest
from jax import export as jax_export

import plugjax
import plugjax.numpy as jnp
from plugjax import export

F32 = np.float32
X = np.linspace(-1, 2, 5, dtype=F32)


def smooth(np_):
    return lambda x: np_.sum(np_.sin(x) * np_.exp(x / 2))


def loaded_forms():
    ours = export.export(plugjax.jit(smooth(jnp)))(X)
    theirs = jax_export.export(jax.jit(smooth(jax_np)))(X)
    return {
        "here": ours,
        "with program": export.deserialize(ours.serialize(jaxpr=True)),
        "with derivatives": export.deserialize(ours.serialize(vjp_order=2)),
        "of jax": export.deserialize(theirs.serialize(vjp_order=2)),
    }


FORMS = loaded_forms()


@pytest.mark.spread(2)
@pytest.mark.parametrize("device", ["numpy", "xla"])
@pytest.mark.parametrize("form", FORMS)
def test_calls_are_staged_and_differentiated(form, device):
    exported = FORMS[form]
    wanted = jax.grad(smooth(jax_np))
    with plugjax.default_device(device):
        np.testing.assert_allclose(plugjax.jit(exported.call)(X), smooth(jax_np)(X), rtol=1e-6)
        np.testing.assert_allclose(plugjax.grad(exported.call)(X), wanted(X), rtol=1e-5)
        twice = plugjax.grad(lambda x: plugjax.grad(exported.call)(x)[0])
        np.testing.assert_allclose(
            twice(X), jax.grad(lambda x: wanted(x)[0])(X), rtol=1e-5, atol=1e-6
        )
        scanned = plugjax.jit(
            lambda x: plugjax.lax.scan(lambda c, a: (c + exported.call(x * a), a), F32(0), X)
        )(X)[0]
        np.testing.assert_allclose(scanned, sum(smooth(jax_np)(X * a) for a in X), rtol=1e-5)


@pytest.mark.parametrize("form", FORMS)
def test_vmap_needs_the_program(form):
    batch = np.stack([X, X + 1])
    mapped = plugjax.vmap(FORMS[form].call)
    if form in ("here", "with program"):
        np.testing.assert_allclose(mapped(batch), [smooth(jax_np)(x) for x in batch], rtol=1e-6)
        return
    with pytest.raises(
        NotImplementedError, match="Batching rule for 'call_exported' not implemented"
    ):
        mapped(batch)


def test_jax_refuses_vmap_too():
    with pytest.raises(
        NotImplementedError, match="Batching rule for 'call_exported' not implemented"
    ):
        jax.vmap(jax_export.export(jax.jit(jax_np.sin))(X).call)(np.stack([X, X]))


@pytest.mark.parametrize("form", ["here", "with program"])
def test_forward_mode_needs_the_program(form):
    _, found = plugjax.jvp(FORMS[form].call, (X,), (np.ones_like(X),))
    np.testing.assert_allclose(
        found, jax.jvp(smooth(jax_np), (X,), (np.ones_like(X),))[1], rtol=1e-5
    )
    with pytest.raises(TypeError, match="custom_vjp"):
        plugjax.jvp(FORMS["of jax"].call, (X,), (np.ones_like(X),))


def test_derivatives_beyond_the_order_are_refused_as_in_jax():
    exported = export.export(plugjax.jit(smooth(jnp)))(X)
    for load, lib in ((export.deserialize, plugjax), (jax_export.deserialize, jax)):
        none = load(exported.serialize())
        assert not none.has_vjp()
        with pytest.raises(ValueError, match="No VJP is available"):
            lib.grad(none.call)(X)
        one = load(exported.serialize(vjp_order=1))
        np.testing.assert_allclose(lib.grad(one.call)(X), jax.grad(smooth(jax_np))(X), rtol=1e-5)
        with pytest.raises(ValueError, match="No VJP is available"):
            lib.grad(lambda x, lib=lib, one=one: lib.grad(one.call)(x)[0])(X)
        with pytest.raises(ValueError, match="high-enough order"):
            one.serialize(vjp_order=2) if load is export.deserialize else export.deserialize(
                exported.serialize(vjp_order=1)
            ).serialize(vjp_order=3)


@pytest.mark.parametrize("device", ["numpy", "xla"])
def test_cotangents_of_integers(device):
    def make(np_):
        return lambda n, x: (n * 2, x * n)

    exported = export.export(plugjax.jit(make(jnp)))(np.int32(3), X)
    loaded = export.deserialize(exported.serialize(vjp_order=1))
    theirs = jax_export.deserialize(exported.serialize(vjp_order=1))
    assert exported.vjp().in_avals[2].dtype == plugjax.float0
    with plugjax.default_device(device):
        for each in (exported, loaded):
            _, back = plugjax.vjp(lambda x, each=each: each.call(np.int32(3), x)[1], X)
            np.testing.assert_allclose(back(np.ones_like(X))[0], 3 * np.ones_like(X))
    _, back = jax.vjp(lambda x: theirs.call(np.int32(3), x)[1], X)
    np.testing.assert_allclose(back(np.ones_like(X))[0], 3 * np.ones_like(X))


def test_arguments_that_do_not_fit():
    exported = export.export(plugjax.jit(lambda d, *, k: d["a"] * k))({"a": X}, k=F32(2))
    with pytest.raises(ValueError, match="must have the same pytree structure"):
        exported.call({"b": X}, k=F32(2))
    with pytest.raises(ValueError, match="must have the same pytree structure"):
        exported.call({"a": X}, F32(2))
    with pytest.raises(ValueError, match=r"Rank mismatch for args\[0\]\['a'\]"):
        exported.call({"a": X[None]}, k=F32(2))
    with pytest.raises(ValueError, match=r"Dtype mismatch for kwargs\['k'\]"):
        exported.call({"a": X}, k=np.int32(2))
    with pytest.raises(ValueError, match=r"Shape mismatch for args\[0\]\['a'\]\.shape\[0\]"):
        exported.call({"a": X[:2]}, k=F32(2))


def test_a_call_within_an_exported_function():
    inner = FORMS["of jax"]
    outer = export.export(plugjax.jit(lambda x: inner.call(x) + inner.call(x * 2)))(X)
    wanted = smooth(jax_np)(X) + smooth(jax_np)(X * 2)
    np.testing.assert_allclose(jax_export.deserialize(outer.serialize()).call(X), wanted, rtol=1e-6)
    assert outer.mlir_module().count("stablehlo.sine") == 1


def test_xla_runs_the_module_and_not_the_program():
    # The module says something else than the program, so that they can be told apart.
    rules = [(plugjax.lax.sin_p, lambda ctx, x: x)]
    exported = export.export(plugjax.jit(jnp.sin), _override_lowering_rules=rules)(X)
    with plugjax.default_device("xla"):
        np.testing.assert_array_equal(exported.call(X), X)
    with plugjax.default_device("numpy"):
        np.testing.assert_allclose(exported.call(X), np.sin(X), rtol=1e-6)


def test_the_printed_program_shows_the_call():
    text = str(plugjax.make_jaxpr(FORMS["with program"].call)(X))
    assert "call_exported" in text
