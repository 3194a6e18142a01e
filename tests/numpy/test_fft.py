"""Fourier and cosine transforms against JAX; the primitive's alternative algorithms against NumPy."""

import importlib

import jax
import jax.numpy as jax_numpy
import jax.scipy.fft as jax_scipy
import numpy as onp
import pytest

import plugjax
import plugjax.numpy as jnp
from plugjax import lax
from plugjax.lax import FftType
from plugjax.scipy import fft as cosine

_rng = onp.random.RandomState(0)
T = _rng.randn(3, 4, 5).astype(onp.float32)
Z = (T + 1j * _rng.randn(3, 4, 5)).astype(onp.complex64)
V = _rng.randn(2, 3, 2, 4, 3).astype(onp.float32)
I = onp.arange(6, dtype=onp.int32)


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
@pytest.mark.parametrize("n", [None, 3, 6, 0])
@pytest.mark.parametrize("axis", [-1, 0, (0, 1)], ids=str)
def test_one_axis(agree, name, n, axis):
    agree(lambda np: getattr(np.fft, name)(T, n, axis))
    agree(lambda np: getattr(np.fft, name)(Z, n, axis))


@pytest.mark.spread(2)
@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn"])
@pytest.mark.parametrize("s", [None, (3, 6), (2, 7)], ids=str)
@pytest.mark.parametrize("axes", [None, (0, 2), (2, 0), (1, 1), (0,)], ids=str)
@pytest.mark.parametrize("norm", [None, "ortho", "forward", "backward", "other"])
def test_several_axes(agree, name, s, axes, norm):
    agree(lambda np: getattr(np.fft, name)(T, s, axes, norm))


@pytest.mark.parametrize("name", ["fft2", "ifft2", "rfft2", "irfft2"])
def test_two_axes(agree, name):
    agree(lambda np: getattr(np.fft, name)(T))
    agree(lambda np: getattr(np.fft, name)(T, axes=(0,)))


@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn"])
def test_five_axes(agree, name):
    agree(lambda np: getattr(np.fft, name)(V))


@pytest.mark.parametrize(
    "expression",
    [
        lambda np: np.fft.fft(I),
        lambda np: np.fft.rfft(I.astype(onp.float16)),
        lambda np: np.fft.fft(onp.float32(1.0)),
        lambda np: np.fft.fftn(I[:0].reshape(0, 4), axes=(1,)),
        lambda np: np.fft.fftfreq(5),
        lambda np: np.fft.fftfreq(6, 0.1),
        lambda np: np.fft.fftfreq(6, 0.1, dtype=onp.complex64),
        lambda np: np.fft.rfftfreq(5, 2),
        lambda np: np.fft.rfftfreq(6, dtype=onp.float16),
        lambda np: np.fft.fftfreq([5]),
        lambda np: np.fft.rfftfreq(5, [1.0]),
        lambda np: np.fft.fftshift(T),
        lambda np: np.fft.fftshift(T, 1),
        lambda np: np.fft.ifftshift(T, (0, 2)),
        lambda np: np.fft.ifftshift(I[:5]),
    ],
)
def test_cases(agree, expression):
    agree(expression)


def test_double_precision():
    with plugjax.enable_x64(True):
        x = _rng.randn(4, 6)
        for name in ("fftn", "rfftn", "irfftn"):
            found = getattr(jnp.fft, name)(x)
            assert found.dtype.itemsize == (8 if name == "irfftn" else 16)
            onp.testing.assert_allclose(found, getattr(onp.fft, name)(x), rtol=1e-12, atol=1e-12)


@pytest.mark.spread(2)
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
@pytest.mark.parametrize("n", [5, 6])
def test_gradients(name, n):
    w = _rng.randn(n).astype(onp.float32)

    def loss(np, x):
        y = getattr(np.fft, name)(x, n)
        return (abs(y) ** 2 * w[: y.shape[-1]]).sum() + (y.real * w[: y.shape[-1]]).sum()

    def both(x):
        ours = plugjax.jit(plugjax.grad(lambda x: loss(jnp, x)))(x)
        onp.testing.assert_allclose(
            ours, jax.grad(lambda x: loss(jax_numpy, x))(x), rtol=1e-4, atol=1e-4
        )

    both(T[0, 0])
    if name not in ("rfft", "ihfft"):
        x = Z[0, 0]
        ours = plugjax.grad(lambda x: loss(jnp, x))(x)
        onp.testing.assert_allclose(
            ours, jax.grad(lambda x: loss(jax_numpy, x))(x), rtol=1e-4, atol=1e-4
        )


def test_vmap_of_rfft2():
    found = plugjax.vmap(jnp.fft.rfft2, in_axes=2, out_axes=1)(T)
    onp.testing.assert_allclose(
        found, jax.vmap(jax_numpy.fft.rfft2, in_axes=2, out_axes=1)(T), rtol=1e-4, atol=1e-4
    )


@pytest.mark.parametrize("kind", list(FftType), ids=lambda k: k.name)
@pytest.mark.parametrize("n", [1, 2, 5, 8, 12])
@pytest.mark.parametrize("form", ["by_matrix", "by_convolution"])
def test_decompositions_of_one_axis(kind, n, form):
    decomposition = getattr(importlib.import_module("plugjax.lax.fft"), form)
    x = {FftType.RFFT: _rng.randn(2, n)}.get(kind, _rng.randn(2, n) + 1j * _rng.randn(2, n))
    if kind is FftType.IRFFT:
        x = onp.fft.rfft(_rng.randn(2, n))
    x = jnp.asarray(x.astype(onp.float32 if kind is FftType.RFFT else onp.complex64))
    found = decomposition(x, fft_type=kind, fft_lengths=(n,))
    expected = lax.fft(x, kind, (n,))
    assert found.dtype == expected.dtype
    onp.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("name", ["fft", "rfftn", "irfft2", "ifftn"])
@pytest.mark.parametrize("n", [8, 6])
def test_backends(backend, name, n):
    x = Z[:, :, :3] if name.startswith(("i", "fft")) else T
    x = onp.concatenate([x, x, x], -1)[..., :n]
    device = plugjax.devices(backend)[0]
    found = plugjax.jit(getattr(jnp.fft, name))(plugjax.device_put(x, device))
    onp.testing.assert_allclose(found, getattr(jax_numpy.fft, name)(x), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("case", ["unknown", "complex", "short", "length", "type"])
def test_lax_errors(case):
    call = {
        "unknown": lambda lax: lax.fft(T, "dft", (5,)),
        "complex": lambda lax: lax.fft(Z, "rfft", (5,)),
        "short": lambda lax: lax.fft(T[0, 0], "fft", (1, 5)),
        "length": lambda lax: lax.fft(T, "fft", (6,)),
        "type": lambda lax: lax.fft(T, 1.5, (5,)),
    }[case]
    with pytest.raises(Exception) as theirs:
        call(jax.lax)
    with pytest.raises(theirs.type):
        call(lax)


@pytest.mark.spread(12)
@pytest.mark.parametrize("name", ["dct", "idct"])
@pytest.mark.parametrize("norm", [None, "backward", "ortho", "forward"])
@pytest.mark.parametrize("options", [{}, {"n": 7}, {"n": 3}, {"axis": 0}, {"type": 3}], ids=str)
@pytest.mark.parametrize("x", [T, Z, I, T[..., :1]], ids=["real", "complex", "integer", "one"])
def test_cosine(agree, name, norm, options, x):
    modules = {id(jnp): cosine, id(jax_numpy): jax_scipy}
    agree(lambda np: getattr(modules[id(np)], name)(np.asarray(x), norm=norm, **options))


@pytest.mark.spread(2)
@pytest.mark.parametrize("name", ["dctn", "idctn"])
@pytest.mark.parametrize("norm", [None, "ortho"])
@pytest.mark.parametrize(
    "options", [{}, {"axes": (0, 2)}, {"s": (3, 6)}, {"s": (2,), "axes": (1,)}], ids=str
)
def test_cosine_over_several_axes(agree, name, norm, options):
    modules = {id(jnp): cosine, id(jax_numpy): jax_scipy}
    agree(lambda np: getattr(modules[id(np)], name)(np.asarray(T), norm=norm, **options))
