"""erf_inv and fused_multiply_add against XLA:CPU and exact arithmetic, bit for bit.

The oracle is JAX in the same process. JAX's bits need a processor with a fused multiply-add; without one these tests
fail.
"""

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from plugjax_numpy.impl.erf_inv import erf_inv, fused_multiply_add

# Bits are compared: see the root's conftest.
COMPARES_BITS = True

jax = pytest.importorskip("jax")

UNSIGNED = {2: np.uint16, 4: np.uint32, 8: np.uint64}


def xla_erf_inv(x):
    with jax.enable_x64(True):
        return np.asarray(jax.jit(jax.lax.erf_inv)(x))


def bits(x):
    """The bits of x, all nans alike."""
    words = x.view(UNSIGNED[x.dtype.itemsize])
    return np.where(np.isnan(x), words.dtype.type(-1 & np.iinfo(words.dtype).max), words)


def assert_same_bits(ours, theirs):
    assert ours.dtype == theirs.dtype
    assert ours.shape == theirs.shape
    np.testing.assert_array_equal(bits(ours), bits(theirs))


def every_uniform():
    """Each of the 2**23 values from which ``jax.random.normal`` computes a float32 deviate."""
    ones = np.arange(2**23, dtype=np.uint32) | np.float32(1).view(np.uint32)
    low = np.nextafter(np.float32(-1), np.float32(0))
    floats = ones.view(np.float32) - np.float32(1)
    # The range is 2, so the product is exact and fusing would change nothing.
    return np.maximum(low, floats * (np.float32(1) - low) + low)


def test_every_float32_uniform():
    u = every_uniform()
    assert_same_bits(erf_inv(u), xla_erf_inv(u))


def test_every_3001st_float32():
    # 3001 is prime: the stride meets every binade, the subnormals and nans of both signs.
    x = np.arange(0, 2**32, 3001, dtype=np.uint32).view(np.float32)
    assert_same_bits(erf_inv(x), xla_erf_inv(x))


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_every_half(dtype):
    x = np.arange(2**16, dtype=np.uint16).view(dtype)
    assert_same_bits(erf_inv(x), xla_erf_inv(x))


@pytest.mark.parametrize(
    "sample",
    [
        pytest.param(lambda rng: rng.uniform(-1, 1, 400_000), id="uniform"),
        pytest.param(lambda rng: 1 - 10 ** rng.uniform(-16, -1, 100_000), id="tail"),
        pytest.param(lambda rng: 10 ** rng.uniform(-310, 0, 100_000), id="near_zero"),
    ],
)
def test_float64_sample(sample):
    x = sample(np.random.default_rng(0))
    assert_same_bits(erf_inv(x), xla_erf_inv(x))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_edges(dtype):
    tiny = np.finfo(dtype).tiny
    smallest = np.array([0x906EBC], np.uint32).view(np.float32)[0]
    if dtype is np.float64:
        smallest = float.fromhex("0x1.20dd750429b6dp-1022")
    inward = np.nextafter(dtype(1), dtype(0))
    positive = [0, 1, 2, np.inf, tiny, tiny / 2, smallest, np.nextafter(smallest, 0), inward]
    x = np.array([*positive, *(-value for value in positive), np.nan], dtype)
    assert_same_bits(erf_inv(x), xla_erf_inv(x))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_shapes_and_layouts(dtype):
    x = np.linspace(-0.9, 0.9, 24, dtype=dtype).reshape(2, 3, 4)
    expected = erf_inv(np.ascontiguousarray(x.transpose(2, 0, 1)))
    assert_same_bits(erf_inv(x.transpose(2, 0, 1)), expected)
    assert erf_inv(x[:0]).shape == (0, 3, 4)
    assert erf_inv(x[0, 0, 0, ...]).shape == ()


def test_blocks_do_not_show():
    x = np.linspace(-1, 1, 100_003, dtype=np.float32)
    pieces = np.concatenate([erf_inv(piece) for piece in np.array_split(x, 7)])
    assert_same_bits(erf_inv(x), pieces)


def test_argument_is_not_written():
    x = np.array([1e-40, -1, 2, 0.5], np.float32)
    x.flags.writeable = False
    assert erf_inv(x).flags.writeable


def test_other_dtypes_are_refused():
    with pytest.raises(TypeError, match="dtype int64"):
        erf_inv(np.array([0, 1], np.int64))


@pytest.mark.parametrize("shape", [(), (1,), (7,), (1000,), (33, 65)])
def test_normal_from_bits(shape):
    """The recipe for ``normal``: random bits, uniform, erf_inv, times sqrt(2)."""
    key = jax.random.key(0)
    words = np.asarray(jax.random.bits(key, shape, np.uint32))
    u = every_uniform()[words >> 9]
    ours = np.asarray(np.float32(np.sqrt(2)) * erf_inv(u))
    assert_same_bits(ours, np.asarray(jax.random.normal(key, shape)))


@pytest.mark.parametrize("limits", [(0, 1), (-1, 1), (-0.05, 0.05), (-3, 7), (5, -2), (0, 0.3)])
@pytest.mark.parametrize(("dtype", "words"), [(np.float32, np.uint32), (np.float64, np.uint64)])
def test_uniform_from_bits(limits, dtype, words):
    """The recipe for ``uniform``: the affine map to [minval, maxval) is fused."""
    low, high = (dtype(limit) for limit in limits)
    key = jax.random.key(1)
    with jax.enable_x64(True):
        random_bits = np.asarray(jax.random.bits(key, (100_000,), words))
        expected = np.asarray(jax.random.uniform(key, (100_000,), dtype, low, high))
    shift = words(8 * dtype().itemsize - np.finfo(dtype).nmant)
    floats = (random_bits >> shift | dtype(1).view(words)).view(dtype) - dtype(1)
    ours = fused_multiply_add(floats, np.asarray(high - low), np.asarray(low))
    assert_same_bits(np.maximum(low, ours), expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_fused_multiply_add_is_exact(dtype):
    rng = np.random.default_rng(0)
    a, b, c = (rng.normal(size=3000).astype(dtype) for _ in range(3))
    c[:1000] = -a[:1000] * b[:1000]
    expected = [
        round_to_nearest(Fraction(x) * Fraction(y) + Fraction(z), dtype)
        for x, y, z in zip(a.tolist(), b.tolist(), c.tolist(), strict=True)
    ]
    np.testing.assert_array_equal(fused_multiply_add(a, b, c), np.array(expected, dtype))


def test_fused_multiply_add_rounds_once():
    # The float64 sum is the midpoint of two float32; the exact one lies below it.
    epsilon = np.float32(2.0**-23)
    a = np.array([2.0**-24 * (1 + epsilon)], np.float32)
    b = np.array([1 - epsilon], np.float32)
    c = np.array([1 + epsilon], np.float32)
    assert (a * b.astype(np.float64) + c).astype(np.float32) == 1 + 2 * epsilon
    assert fused_multiply_add(a, b, c) == 1 + epsilon
    assert fused_multiply_add(-a, b, -c) == -(1 + epsilon)


def test_fused_multiply_add_propagates_infinity():
    values = np.array([np.inf, 1, np.nan], np.float32)
    ones = np.ones(3, np.float32)
    for dtype in (np.float32, np.float64):
        result = fused_multiply_add(values.astype(dtype), ones.astype(dtype), ones.astype(dtype))
        np.testing.assert_array_equal(result, np.array([np.inf, 2, np.nan], dtype))


def test_fused_multiply_add_refuses_mixed_dtypes():
    x = np.ones(1, np.float32)
    with pytest.raises(TypeError, match="float64"):
        fused_multiply_add(x, x, x.astype(np.float64))


def round_to_nearest(exact, dtype):
    """An exact fraction as a float, ties to even."""
    if dtype is np.float64:
        return float(exact)
    near = np.float32(float(exact))
    candidates = [
        near,
        np.nextafter(near, np.float32(np.inf)),
        np.nextafter(near, -np.float32(1e38)),
    ]
    return min(
        candidates,
        key=lambda value: (abs(Fraction(float(value)) - exact), int(value.view(np.uint32)) & 1),
    )
