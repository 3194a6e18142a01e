"""``scipy.ndimage``, ``interpolate``, ``integrate`` and ``cluster.vq`` against JAX and SciPy, compiled for each backend."""

import jax
import jax.scipy.cluster.vq
import jax.scipy.interpolate
import jax.scipy.ndimage
import numpy as np
import pytest
import scipy.cluster.vq
import scipy.interpolate
import scipy.ndimage

import plugjax
import plugjax.numpy as jnp
import plugjax.scipy as ours

RNG = np.random.default_rng(2)
IMAGE = (5 * RNG.normal(size=(4, 5))).astype(np.float32)
AT = RNG.uniform(-12, 12, size=(2, 3, 7)).astype(np.float32)
MODES = ["constant", "nearest", "wrap", "mirror", "reflect"]
GRID = (np.array([0, 1, 3, 4], np.float32), np.linspace(-1, 1, 5).astype(np.float32))
POINTS = RNG.uniform(-2, 5, size=(9, 2)).astype(np.float32)


@pytest.mark.parametrize("kind", ["float32", "uint8", "complex64", "float16"])
def test_map_coordinates_as_in_jax(agree, kind):
    image = (abs(IMAGE) if kind == "uint8" else IMAGE).astype(kind)
    places = [AT, np.array([[0, 9, -3], [4, 1, 2]])] if kind == "float32" else [AT]

    def several(s):
        f = s.ndimage.map_coordinates
        return [f(image, at, o, mode) for at in places for o in (0, 1) for mode in MODES]

    agree(several, ours, jax.scipy, 2e-2 if kind == "float16" else 1e-4, jit=True)


def test_map_coordinates_as_in_scipy():
    for mode in ("constant", "nearest", "mirror", "reflect"):
        found = ours.ndimage.map_coordinates(IMAGE, AT, 1, mode, 2.0)
        wanted = scipy.ndimage.map_coordinates(IMAGE, AT, order=1, mode=mode, cval=2.0)
        np.testing.assert_allclose(found, wanted, atol=1e-4)
    one = ours.ndimage.map_coordinates(IMAGE[0, :1], [np.float32([-3, 0, 2])], 0, "mirror")
    np.testing.assert_array_equal(one, [IMAGE[0, 0]] * 3)


def test_interpolation_as_in_jax(agree):
    values = IMAGE.astype(np.int32)
    along = (np.float32([0.5, 1])[:, None], np.float32([0.1, 0.2, 7]))
    options = ({}, {"method": "nearest"}, {"fill_value": None}, {"fill_value": 3})

    def several(s):
        fs = [s.interpolate.RegularGridInterpolator(GRID, values, **o) for o in options]
        return [f(x) for f in fs for x in (POINTS, POINTS[0], along, np.array([[1, 0], [4, 1]]))]

    agree(several, ours, jax.scipy, jit=True)


def test_interpolation_as_in_scipy():
    grid = tuple(g.astype(float) for g in GRID)
    for values in (IMAGE, IMAGE.astype(complex), RNG.normal(size=(4, 5, 2))):
        for options in ({}, {"method": "nearest"}, {"fill_value": None}):
            wanted = scipy.interpolate.RegularGridInterpolator(
                grid, values, bounds_error=False, **options
            )
            found = ours.interpolate.RegularGridInterpolator(GRID, values, **options)
            np.testing.assert_allclose(found(POINTS), wanted(POINTS), atol=1e-4)


@pytest.mark.parametrize(
    "expression",
    [
        lambda s: s.ndimage.map_coordinates(IMAGE, AT, 2),
        lambda s: s.ndimage.map_coordinates(IMAGE, AT, 1, "grid-wrap"),
        lambda s: s.ndimage.map_coordinates(IMAGE, AT[:1], 1),
        lambda s: s.interpolate.RegularGridInterpolator(GRID, IMAGE, "cubic"),
        lambda s: s.interpolate.RegularGridInterpolator(GRID, IMAGE, bounds_error=True),
        lambda s: s.interpolate.RegularGridInterpolator(GRID, IMAGE, fill_value=1j),
        lambda s: s.interpolate.RegularGridInterpolator(GRID * 2, IMAGE),
        lambda s: s.interpolate.RegularGridInterpolator(GRID, IMAGE)(POINTS, method="cubic"),
        lambda s: s.interpolate.RegularGridInterpolator(GRID, IMAGE)(np.ones((3, 3))),
        lambda s: s.interpolate.RegularGridInterpolator(GRID, IMAGE)([[1.0, 2.0]]),
        lambda s: s.cluster.vq.vq(IMAGE, IMAGE[0]),
        lambda s: s.cluster.vq.vq(IMAGE[None], IMAGE[None]),
        lambda s: s.cluster.vq.vq([1.0], [1.0]),
    ],
)
def test_refused_as_in_jax(agree, expression):
    agree(expression, ours, jax.scipy)


def test_vector_quantization(agree):
    pairs = [(IMAGE, IMAGE[:3] + 1), (IMAGE[0], IMAGE[1]), (IMAGE.astype(int), IMAGE[:2])]
    agree(lambda s: [s.cluster.vq.vq(*pair) for pair in pairs], ours, jax.scipy, jit=True)
    for x, codes in pairs:
        for y, z in zip(ours.cluster.vq.vq(x, codes), scipy.cluster.vq.vq(x, codes), strict=True):
            np.testing.assert_allclose(y, z, rtol=1e-5)


def test_interpolators_are_trees():
    f = ours.interpolate.RegularGridInterpolator(GRID, IMAGE)
    assert len(plugjax.tree.leaves(f)) == 4
    slopes = plugjax.jit(plugjax.grad(lambda f: f(np.float32([[0.25, -0.75]])).sum()))(f)
    np.testing.assert_allclose(slopes.values[:2, :2], [[0.375, 0.375], [0.125, 0.125]])
    assert plugjax.tree.map(lambda _: None, f).method == "linear"
    assert ours.integrate.trapezoid is jnp.trapezoid


@pytest.mark.spread(3)
def test_compiled_for_a_backend(on_backend):
    def several(image, at, points):
        f = ours.interpolate.RegularGridInterpolator(GRID, image, fill_value=None)
        return [
            *(ours.ndimage.map_coordinates(image, at, 1, mode) for mode in MODES),
            ours.ndimage.map_coordinates(image, at, 0),
            f(points),
            f(points, "nearest"),
            ours.cluster.vq.vq(image, image[:2] + 1),
        ]

    found = plugjax.jit(several)(IMAGE, AT, POINTS)
    with plugjax.default_device("numpy"):
        expected = several(IMAGE, AT, POINTS)
    for x, y in zip(plugjax.tree.leaves(found), plugjax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-5)
