"""Complex numbers in lexicographic order: JAX's maxima, minima and searches, with derivatives, on all backends."""

import jax
import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp

Z = np.array([1 + 2j, 3 - 1j, 3 + 4j, -2j], np.complex64)
ODD = np.append(Z, np.complex64(complex(np.nan, 1)))

PROGRAMS = {
    "maximum": lambda j, m, z, odd: m.maximum(z, z[::-1]),
    "minimum of a scalar": lambda j, m, z, odd: m.minimum(m.asarray(z), 0),
    "max": lambda j, m, z, odd: m.max(z),
    "max along an axis": lambda j, m, z, odd: m.max(z.reshape(2, 2), 0, keepdims=True),
    "min and a start": lambda j, m, z, odd: m.min(z.reshape(2, 2), axis=1, initial=0),
    "max of some": lambda j, m, z, odd: m.max(z, where=np.array([1, 0, 0, 1], bool), initial=-9),
    "ptp": lambda j, m, z, odd: m.ptp(z),
    "batched max": lambda j, m, z, odd: j.vmap(m.max)(z.reshape(2, 2)),
    "relu": lambda j, m, z, odd: (j.nn.relu(z), j.nn.relu6(z)),
    "one by one": lambda j, m, z, odd: (m.fmax(odd, odd[::-1]), m.fmin(odd, odd[::-1])),
    "nanmax": lambda j, m, z, odd: (m.nanmax(odd), m.nanmin(odd)),
    "derivative of maximum": lambda j, m, z, odd: j.grad(
        lambda v: (m.maximum(v, v[::-1] ** 2) * m.arange(4)).sum().real
    )(m.asarray(z)),
    "derivative at ties": lambda j, m, z, odd: j.grad(
        lambda v: (m.minimum(v, v * 1) * m.arange(4)).sum().real
    )(m.asarray(z)),
    "derivative of max": lambda j, m, z, odd: j.grad(lambda v: m.max(v).real)(m.asarray(z)),
    "searchsorted": lambda j, m, z, odd: m.searchsorted(m.sort(z), z),
    "digitize": lambda j, m, z, odd: m.digitize(z, m.sort(z)),
    "histogram": lambda j, m, z, odd: m.histogram(z),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_against_jax(name):
    f = PROGRAMS[name]
    found, wanted = (j.tree.leaves(f(j, j.numpy, Z, ODD)) for j in (plugjax, jax))
    assert [(x.dtype, x.shape) for x in found] == [(y.dtype, y.shape) for y in wanted]
    for x, y in zip(found, wanted, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-5)


def test_compiled(backend):
    """All of them in one program."""
    programs = [f for name, f in PROGRAMS.items() if name not in ("digitize", "histogram")]
    run = lambda z, odd: [f(plugjax, jnp, z, odd) for f in programs]  # noqa: E731
    expected = plugjax.tree.leaves(run(Z, ODD))
    with plugjax.default_device(backend):
        found = plugjax.jit(run)(Z, ODD)
    for x, y in zip(plugjax.tree.leaves(found), expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-5)


def test_nan_is_never_lost():
    """As in NumPy; JAX loses a nan that is only in the first operand."""
    for x, y in ((ODD, ODD[::-1].copy()), (ODD[::-1].copy(), ODD)):
        for name in ("maximum", "minimum"):
            found = getattr(jnp, name)(x, y)
            np.testing.assert_array_equal(np.isnan(found), np.isnan(x) | np.isnan(y))


@pytest.mark.parametrize("name", ["median", "argmax", "floor", "mod"])
def test_what_has_no_meaning(name):
    args = (Z, 2) if name == "mod" else (Z,)
    with pytest.raises((TypeError, ValueError)) as theirs:
        getattr(jax.numpy, name)(*args)
    with pytest.raises(theirs.type):
        getattr(jnp, name)(*args)
