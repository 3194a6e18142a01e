"""Universal functions and NumPy's protocols: JAX is the oracle for the first, NumPy for the second."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special

import plugjax
import plugjax.numpy as pnp

NAMES = sorted(n for n in dir(jnp) if isinstance(getattr(jnp, n), jnp.ufunc))
X = np.array([[3, 4, 6], [1, 2, 7]])
DTYPES = ["int8", "float32", "bool"]


def of(namespace, name, use):
    """Value, dtype and weak type, or the type of the error."""
    try:
        found = use(getattr(namespace, name), namespace.asarray)
    except Exception as error:
        return type(error)
    return np.asarray(found).tolist(), found.dtype, found.weak_type


def same(name, use, rtol=1e-6):
    found, expected = of(pnp, name, use), of(jnp, name, use)
    if isinstance(expected, type):
        assert found is expected or (isinstance(found, type) and issubclass(found, expected))
        return
    np.testing.assert_allclose(found[0], expected[0], rtol=rtol)
    assert found[1:] == expected[1:]


def test_the_same_functions_are_universal():
    assert sorted(n for n in dir(pnp) if isinstance(getattr(pnp, n), pnp.ufunc)) == NAMES
    for name in NAMES:
        found, expected = getattr(pnp, name), getattr(jnp, name)
        for attribute in ("nin", "nout", "nargs", "identity", "__name__"):
            assert getattr(found, attribute) == getattr(expected, attribute), (name, attribute)


USES = {
    "reduce": lambda f, x: f.reduce(x),
    "reduce all": lambda f, x: f.reduce(x, axis=None, keepdims=True),
    "reduce from": lambda f, x: f.reduce(x, axis=1, initial=1),
    "accumulate": lambda f, x: f.accumulate(x, axis=1),
    "outer": lambda f, x: f.outer(x, x[0]),
    "reduceat": lambda f, x: f.reduceat(x, np.array([0, 2]), axis=1),
    "at": lambda f, x: f.at(x, np.array([0, 0]), x[1], inplace=False),
}


# For logaddexp, JAX's reductions with an initial value fail with an AssertionError, and those of
# integers with a TypeError.
NOT_IN_JAX = {(n, use) for n in ("logaddexp", "logaddexp2") for use in ("reduce from", "reduceat")}
METHODS = [(n, u) for n in NAMES for u in USES if n != "negative" and (n, u) not in NOT_IN_JAX]


@pytest.mark.spread(8)
@pytest.mark.parametrize(("name", "use"), METHODS)
def test_methods(name, use):
    for dtype in DTYPES:
        same(name, lambda f, asarray, d=dtype: USES[use](f, asarray(X.astype(d))))


def test_methods_that_jax_lacks():
    x = X.astype(np.float32)
    np.testing.assert_allclose(
        pnp.logaddexp.reduce(x, axis=1, initial=1.0),
        np.logaddexp.reduce(x, 1, initial=1),
        rtol=1e-6,
    )
    np.testing.assert_allclose(
        pnp.logaddexp.reduceat(X, np.array([0, 2]), axis=1),
        np.logaddexp.reduceat(X, [0, 2], 1),
        rtol=1e-6,
    )


@pytest.mark.parametrize("name", ["add", "multiply", "maximum"])
def test_masked_reductions(name):
    mask = X > 2
    for initial in (None, 2):
        same(name, lambda f, a, i=initial: f.reduce(a(X), where=a(mask), initial=i))


def test_negative_and_refusals():
    same("negative", lambda f, asarray: f(asarray(X)))
    same("negative", lambda f, asarray: f.at(asarray(X), np.array([0]), inplace=False))
    for use in (
        lambda f, a: f.at(a(X), [0], 1),
        lambda f, a: f(a(X), a(X), where=True),
        lambda f, a: f.reduce(a(X), axis=5),
    ):
        same("add", use)
    same("negative", lambda f, a: f.reduce(a(X)))


def norm(x):
    """Plain NumPy."""
    y = np.concatenate([np.sin(x), np.stack([x, x])[0]])
    z = np.where(y > 0, y, 2 * y) @ np.linspace(0, 1, 6, dtype=np.float32)
    return np.linalg.norm(x - np.mean(x)) * np.add.reduce(y) + np.maximum(z, np.float32(0)) ** 2


PROTOCOLS = {
    "eager": lambda f, x: f(x),
    "jit": lambda f, x: plugjax.jit(f)(x),
    "grad": lambda f, x: plugjax.grad(f)(x),
    "vmap": lambda f, x: plugjax.vmap(f)(plugjax.numpy.stack([x, 2 * x])),
    "jvp": lambda f, x: plugjax.jvp(f, (x,), (x,))[1],
}


@pytest.mark.parametrize("way", PROTOCOLS)
def test_a_numpy_program_under_transformations(way):
    x = np.array([0.5, -1, 2], np.float32)
    found = PROTOCOLS[way](norm, pnp.asarray(x))
    assert isinstance(found, plugjax.Array)
    with_jax = lambda v: norm_of_jax(v)  # noqa: E731
    expected = {
        "eager": lambda: norm(x),
        "jit": lambda: norm(x),
        "grad": lambda: jax.grad(with_jax)(x),
        "vmap": lambda: [norm(x), norm(2 * x)],
        "jvp": lambda: jax.jvp(with_jax, (x,), (x,))[1],
    }[way]()
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def norm_of_jax(x):
    y = jnp.concatenate([jnp.sin(x), jnp.stack([x, x])[0]])
    z = jnp.where(y > 0, y, 2 * y) @ jnp.linspace(0, 1, 6)
    return jnp.linalg.norm(x - jnp.mean(x)) * y.sum() + jnp.maximum(z, 0) ** 2


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.fft.fft(x),
        lambda x: np.linalg.norm(x, axis=0),
        lambda x: np.add.outer(x, x),
        lambda x: np.multiply.accumulate(x),
        lambda x: np.einsum("i,i->", x, x),
        lambda x: np.sum(x, axis=0, keepdims=True),
        lambda x: scipy.special.expit(x),
        lambda x: np.float32(2) + x,
        lambda x: np.ones(3, np.float32) / x,
    ],
)
def test_numpy_s_functions_give_our_arrays(call):
    x = np.array([0.5, -1, 2], np.float32)
    found = call(pnp.asarray(x))
    assert isinstance(found, plugjax.Array)
    np.testing.assert_allclose(found, call(x), rtol=1e-5)


def test_what_only_numpy_can_do_it_does():
    x = pnp.arange(3.0)
    out = np.zeros(3, np.float32)
    np.add(x, x, out=out)
    np.testing.assert_array_equal(out, [0, 2, 4])
    np.testing.assert_array_equal(np.sin(x, where=np.array([True, False, True]), out=out * 0)[1], 0)
    assert np.array2string(x) == "[0. 1. 2.]"
    with pytest.raises(plugjax.errors.TracerArrayConversionError) as found:
        plugjax.jit(lambda v: np.busday_offset(v, 1))(x)
    assert "numpy.busday_offset" in found.value.__notes__[0]
    with pytest.raises(NotImplementedError, match="immutable"):
        np.add.at(x, [0], 1.0)
