"""Invalid arguments are refused before anything is computed, with JAX's type of error."""

import jax
import jax.image
import jax.scipy.linalg
import jax.scipy.optimize
import jax.scipy.signal
import jax.scipy.special
import jax.scipy.stats
import numpy as np
import pytest

import plugjax
import plugjax.image
import plugjax.scipy.linalg
import plugjax.scipy.optimize
import plugjax.scipy.signal
import plugjax.scipy.special
import plugjax.scipy.stats
from tests.malformed.single_calls import check_accepted, check_refused
from tests.malformed.survey import outcome

REFUSED = (
    # Masks and initial values of reductions.
    "jnp.sum(x, where=1.5)", "jnp.max(x, where=1.5, initial=0)", "jnp.all(x, where=1.5)", "jnp.prod(x, where=np.ones(3))",
    "jnp.mean(x, where=1.5)", "jnp.nanstd(x, where=np.ones(3))", "jnp.sum(x, initial=np.ones(3))", "jnp.max(x, initial=np.ones(3))",
    "jnp.sum(x, out='a')", "jnp.max(x, out=object())", "jnp.cumsum(x, out=np.zeros(3))",
    # Keys beside numbers.
    "jnp.matmul(x, keys)", "jnp.add(keys, 1)", "jax.lax.convert_element_type(x, keys.dtype)", "x.astype(keys.dtype)",
    "jnp.result_type(keys, x)",
    # Not arrays.
    "jnp.array([None])", "x.at[0].set(None)", "x.at[0].set([1, [2]])", "x.at[0].set('a')", "jnp.sin(None)", "jax.lax.sin(None)",
    "jnp.allclose(x, x, atol=None)", "jax.lax.fori_loop(None, 5, lambda i, c: c, 0)", "jnp.diag_indices_from(object())",
    "jnp.tril_indices_from([[1, 2], [3, 4]])", "jnp.full_like(x, [1, 2, 3])", "jnp.repeat(x, [1, 2, 3])", "jnp.from_dlpack(1.5)",
    "jnp.histogramdd(np.ones((3, 2)), weights=object())",
    # Shapes and sizes.
    "jnp.zeros({})", "jnp.zeros({2})", "jnp.eye(-1)", "jnp.zeros(-1)", "jax.random.orthogonal(jax.random.key(0), -1)",
    "jnp.nonzero(x, size=-1)", "jnp.nonzero(x, size=1.5)", "jnp.tril_indices(1.5)", "jnp.triu_indices(2, m=1.5)",
    # Names and options, and operands of the wrong rank.
    "jnp.digitize(x, x, method='a')", "jax.lax.sort(x, num_keys=None)", "jax.lax.conv(jnp.ones((1, 1, 3)), jnp.ones((1, 1, 2)), (1,), None)",
    "jnp.clip(x, 1, 2j)", "jnp.matvec(x, x)", "jax.nn.dot_product_attention(*[jnp.ones((1, 2, 1, 2))] * 3, key_value_seq_lengths=3)",
    "x.to_device(jax.devices()[0], stream=1)", "jnp.compress(x > 0, x, out=object())", "jnp.bincount(jnp.arange(3), minlength=(1,))",
    "jax.lax.bitcast_convert_type(x, None)", "jnp.issubdtype('int8', np.ones(2))", "jax.ops.segment_min(x, None)",
    "jnp.min(x, where=(1, 2))", "jax.lax.conj(keys)", "jnp.trunc(keys)", "jnp.all(keys)",
    "x.at[0].get(mode=[1])", "x.at[0].set(1, mode={})", "jax.lax.dot(x, x, precision=[1])", "jnp.sort(x, kind='a')",
    "jnp.asarray(x, order=3)", "jnp.asarray(x, order='C')", "jnp.tensordot(x, x, axes=[0])",
    # Python integers beyond 32 bits, also beside floats.
    "x + 2**70", "x * 2**40", "jnp.uint32(5) & 0xFFFFFFFF", "jnp.isclose(x, 2**70)", "jnp.clip(x, 0, 2**70)",
    "jax.scipy.stats.truncnorm.sf(x, 2**70, 1.0)", "jax.scipy.stats.truncnorm.logpdf(2**70, x, 1.0)", "jax.scipy.stats.truncnorm.cdf(x, 0.0, 2**70)",
    "jax.scipy.stats.betabinom.pmf(2**70, 3, 2.0, 2.0)", "jax.scipy.special.bessel_jn(2**70, v=1)", "jax.scipy.special.expi(2**70)",
    "jax.scipy.special.expn(1, 2**70)", "jax.scipy.special.gammasgn(2**70)", "jax.scipy.special.hyp1f1(1.0, 2**70, x)", "jax.scipy.special.poch(x, 2**70)",
    "jax.scipy.special.sici(2**70)", "jax.scipy.special.zeta(x, 2**70)",
    "jax.scipy.special.logit(2**70)",
    # Names and several places for one axis, indices that are no integers, parts that are none
    "jnp.sum(x, axis='a')", "jnp.prod(x, axis='a')", "jnp.var(x, axis=('a',))", "jax.nn.one_hot(jnp.arange(2), 3, axis=1.5)",
    "jnp.vecdot(jnp.ones((2, 2)), x[:2], axis=(0,))", "jnp.flip(x, (0, 0))", "jnp.permute_dims(x, (1, 0))", "jnp.swapaxes(jnp.ones((2, 3)), None, 1)",
    "jnp.put(x, np.array([1.5]), 1.0, inplace=False)", "jnp.take_along_axis(x, np.array([True]), 0)", "jax.lax.top_k(x, 1.5)",
    "jax.scipy.special.sph_harm_y(jnp.array([1.0]), jnp.array([0]), 0.0, 0.0)", "jnp.array_split(x, -1)", "jnp.pad(x, {})",
    "jnp.tensordot(x, x, axes=np.array(0))", "jax.lax.argmax(x, 'a', jnp.int32)", "jax.lax.index_in_dim(x, 1, axis='a')",
    "jax.random.choice(jax.random.key(0), 5, (3,), replace=False, axis=-99)", "jnp.broadcast_shapes((2, 1), 'a')", "jnp.broadcast_shapes((2, 1), -1)",
    # Fill values, options, words.
    "jnp.nonzero(x, fill_value='a')", "jnp.nonzero(x, fill_value=(1, 2))", "jnp.nonzero(x, fill_value=[1])", "jnp.extract(x > 0, x, fill_value=None)",
    "jnp.bincount(jnp.arange(3), length=4, minlength='a')", "jnp.var(x, ddof=None)", "jnp.nanvar(x, ddof=[1.0, 2.0])", "jnp.ediff1d(x > 0)",
    "jnp.histogram(x, bins='auto')", "jnp.histogram(x, range=3)", "jnp.histogram2d(x, 1.5)", "jnp.eye(2, k=1.5)", "jnp.block((x, x))",
    "jnp.fft.fftfreq(4, dtype='V8')", "jnp.cov(jnp.ones((2, 3)), dtype=str)", "jnp.from_dlpack(x, copy=1.5)", "jnp.polydiv(x, 1.5)",
    "jnp.polymul(1.5, x)", "jnp.iscomplexobj(abs)", "jnp.isrealobj({})", "jax.lax.broadcasted_iota(None, (2, 2), 1)",
    "jax.scipy.optimize.minimize(lambda x: (x**2).sum(), x, method='BFGS', options='a')", "jax.random.wrap_key_data(2**70)",
    "jax.image.resize(x, (1.5,), 'linear')", "jax.lax.batch_matmul(x, np.array(['a']))", "jax.ops.segment_max(x, jnp.arange(3), unique_indices=3)",
    "jax.dtypes.scalar_type_of(None)", "jax.dtypes.scalar_type_of(np.ones(2, np.longdouble))",
    "jax.ops.segment_max(x, jnp.arange(3), out_sharding=2)", "jax.lax.rng_bit_generator(np.ones(4, np.uint32), (2,), out_sharding=-1)",
    # Numbers of diagonals, complex numbers in place of real ones, words in place of numbers.
    "jnp.trace(m, offset=True)", "jnp.trace(m, offset=1.5)", "jnp.tri(2, k=True)", "jnp.tril(m, k=True)", "jnp.nanvar(x, ddof=2j)", "jnp.arange(1, 8, 2j)",
    "jnp.arange(2j)", "jax.scipy.signal.welch(x, fs=2j)", "jax.scipy.signal.stft(x, fs=2j)", "jnp.histogram(x, range=2j)", "jnp.histogram(x, bins=1.5)",
    "jax.scipy.linalg.eigh_tridiagonal(x, x[1:], eigvals_only=True, tol='a')", "jax.scipy.linalg.eigh_tridiagonal(x, x, eigvals_only=True)",
    "jax.scipy.special.bessel_jn(x, v=1, n_iter='a')", "jax.random.bits(keys[0], (2,), dtype={})", "jax.random.bits(keys[0], (2,), dtype=0)",
    "jax.lax.rng_bit_generator(np.ones(4, np.uint32), (2,), dtype=None)", "jnp.array(1, device='a')", "jnp.array([1, 2.5], copy=np.array([True, False]))",
    "jax.lax.linalg.eig(jnp.eye(2), compute_left_eigenvectors='a')", "jax.lax.full_like(x, 2j)", "jax.lax.full_like(x, np.ones(2))",
    # Keys and bools in place of numbers.
    "jnp.isreal(keys)", "jnp.iscomplex(keys)", "jnp.signbit(keys)", "jnp.argmax(keys)", "jnp.nanargmin(keys)", "jnp.piecewise(keys, [x > 0], [1, 2])",
    "jax.ops.segment_min(keys, jnp.arange(3))", "jax.ops.segment_max(keys, jnp.arange(3))", "jnp.partition(x > 0, 0)",
    # Sequences of sizes, paddings, strides.
    "jax.lax.broadcast(x, ((2,), 2))", "jax.lax.broadcast(x, 3)", "jax.lax.conv(jnp.ones((1, 1, 3, 3)), jnp.ones((1, 1, 2, 2)), [None], 'VALID')",
    "jax.lax.conv_general_dilated_patches(jnp.ones((1, 1, 3)), (2,), (1,), [1.0, 2.0])", "jax.lax.conv_shape_tuple((1, 1, 4), (2, 1, 3), [1.0, 2.0], [(0, 0)])",
    "jax.lax.conv_shape_tuple((1, 1, 4), (2, 1, 3), (1,), [[1, 2], [3]])", "jax.lax.padtype_to_pads((4,), (1.5,), (1,), 'SAME')",
    "jax.lax.conv_general_shape_tuple((1, 1, 4), (2, 1, 3), (1,), 'VALID', {})", "jax.lax.fft(x + 0j, 'FFT', (1.5,))", "jax.lax.broadcast_shapes((3, 1), (4,), 3)",
    "jax.lax.slice(x, (1,), (3,), [])", "jax.lax.dynamic_slice(x, (1,), {})", "jnp.tile(x, ((2,), 2))", "jnp.unravel_index(5, ((2,), 2))",
    "jnp.rot90(m, axes=(None,))", "jnp.unique(x, size=np.array([1.0, 2.0]))", "jnp.unique(x, size=-1)", "jnp.repeat(x, 2, total_repeat_length=-1)",
    "jnp.polyder(3)", "jnp.choose(jnp.array([1, 0]), [None])", "jax.lax.with_sharding_constraint(x, ['a'])",
    # Dtypes that no array has, beside shapes that do not fit.
    "jax.lax.dot(x, np.array(['2020-01-01'], dtype='datetime64[D]'))", "jax.random.geometric(keys[0], np.ones(2, '>f4'), (5,))",
    "jnp.percentile(x, 50, out='a')", "jnp.median(x, out=np.ones(3))", "jnp.diag_indices_from(np.array(['a', 'b']))",
    "bool(keys[0])", "bool(keys)", "int(keys[0])", "float(keys[0])", "complex(keys[0])", "not keys[0]",
    # Diagonals, windows, cosine transforms, masks.
    "jnp.tensordot(m, m.T, True)", "jnp.fill_diagonal(np.ones((5, 4, 3)), 1.0, inplace=False)", "jnp.fill_diagonal(np.ones(3), 1.0, inplace=False)",
    "jax.lax.empty(3, 'float32', out_sharding=3)", "jnp.mask_indices(2, lambda *a: (1.0, 2))", "jnp.take(x, jnp.array([1]), fill_value='a')",
    "jax.lax.reduce_window(keys, -jnp.inf, jax.lax.max, (2,), (2,), 'VALID')", "jax.lax.linalg.eigh(jnp.eye(2), subset_by_index=1.5)",
    "jax.vmap(lambda d: d, in_axes={})({'a': x})", "jax.checkpoint(lambda a: a, static_argnums=True)(x)",
)  # fmt: skip
ACCEPTED = (
    "jnp.size([1, 2])", "jnp.shape('a')", "jnp.ndim([[1, 2]])", "jnp.shape(None)", "jnp.sum(x, axis=np.array([0]))",
    # Wide integers that become floats, fractions that become integers, lists of one axis.
    "jax.scipy.special.gamma(2**70)", "jax.scipy.special.betainc(2**70, 2.0, 0.5)", "jax.scipy.stats.norm.pdf(2**70)", "jax.scipy.stats.gamma.pdf(x, 2**70)",
    "jax.scipy.special.expn(2, [1.0, 2.0])", "jax.scipy.special.spence([1.0, 2.0])",
    "jnp.hanning(2.5)", "jnp.split(jnp.arange(4), 1.5)", "jnp.roll(x, 2j)", "jnp.pad(x, np.array(1))", "jnp.take(x, np.zeros((0, 3), np.float32))",
    "jnp.fill_diagonal(jnp.zeros((2, 2)), np.ones(7), inplace=False)", "jax.lax.associative_scan(jnp.add, x, axis=jnp.array(0))",
    "jax.random.clone(2)", "jax.random.clone(np.ones(2))", "jnp.flip(x, axis={})", "jnp.squeeze(x, axis={})", "jnp.expand_dims(x, {})",
    "jnp.expand_dims(x, jnp.array(0))", "jnp.swapaxes(jnp.ones((2, 3)), (0,), 1)", "x.at[0].set(2, unique_indices=np.array([True, False]))",
    "jnp.var(x, ddof=np.array([0, 1]))", "x.std(correction=np.array([0.0, 1.0]))", "jnp.var(x, axis={})", "jax.lax.full_like(x, 7, dtype=3)",
    "jax.lax.full_like(x, 7, dtype=np.ones(2))", "jax.lax.padtype_to_pads((4,), (7, 5), (1,), 'SAME')", "jax.lax.dynamic_index_in_dim(x, 0, axis=0.5)",
    "jnp.unpackbits(jnp.array([160], jnp.uint8), count=3, axis=(0,))", "jax.dtypes.scalar_type_of(2**70)", "jax.device_put((x, x), (jax.devices()[0], None))",
    "jax.device_put(x, donate=True, may_alias=False)",
    "jnp.result_type(jnp.int32, None)", "jnp.moveaxis(jnp.ones((2, 3)), np.array([0]), 1)", "jax.lax.full(3, 7)", "jax.lax.conv_general_dilated(jnp.ones((1, 1, 3)), jnp.ones((1, 1, 2)), (1,), np.zeros((1, 2), int))",
    "jnp.nan_to_num(x, neginf=(1, 2, 3))", "jnp.histogram2d(x, x, bins=jnp.array(2))", "jax.nn.one_hot((1.0, 2.0), 3)", "jnp.roll(x, 1, axis=np.array([0]))",
    "jnp.put_along_axis(jnp.zeros((1, 3)), np.array([[1, 2], [0, 1]]), 1.0, axis=1, inplace=False)", "jax.lax.sort(x, num_keys=jnp.array(1))",
    "jax.nn.dot_product_attention(*[jnp.ones((1, 2, 1, 2))] * 3, bias=(1, 2))", "jax.lax.dynamic_update_index_in_dim(x, 0.0, 1, 0, allow_negative_indices=3)",
    "jnp.full_like(jax.ShapeDtypeStruct((2,), 'float32'), 7)", "jnp.mask_indices(2, lambda *a: np.ones((2, 2)))", "jnp.take(x, x > 0)", "jax.device_get(keys)",
    "jax.scipy.stats.multivariate_normal.pdf(x, x, 2**70)", "jax.jit(lambda a, b: a + b, donate_argnums=np.array([0, 1]))(x + 0, x + 0)",
    "jax.lax.shape_as_value((-1, 2))", "jnp.issubdtype('int8', jax.ShapeDtypeStruct((2,), 'float32'))", "jax.lax.logistic(x, accuracy=2j)",
    "jax.lax.reshape(x, (1, 3), dimensions=np.array(0))", "jnp.extract(x > 0, x, fill_value=np.ones(2))", "jax.scipy.special.bessel_jn(x, v=-1)",
    "jax.lax.conv_general_dilated(m[None], m[None], (1,), 'VALID', rhs_dilation={})",
    # Axes: anything iterable
    "jnp.sum(m, axis={0})", "jnp.mean(m, axis=iter([0]))", "jnp.std(m, axis={0: 1})", "jnp.ptp(m, axis=iter([0]))", "jnp.all(m, axis=jnp.array([0]))",
    "m.max(axis=frozenset([0, 1]))", "jnp.average(m, axis={0})", "jax.nn.softmax(m, axis={0})", "jnp.linalg.vector_norm(m, axis={1})",
    "jnp.roll(m, 1, axis={1})", "jnp.roll(m, 1, axis=range(1))", "jnp.expand_dims(x, jnp.array([0]))", "jnp.moveaxis(m, {0}, [1])",
)  # fmt: skip


def scope_of(library):
    jnp = library.numpy
    keys = library.random.split(library.random.key(0), 3)
    return {"np": np, "x": jnp.ones(3), "m": jnp.ones((2, 3)), "keys": keys}


@pytest.mark.spread(2)
@pytest.mark.parametrize("text", REFUSED)
def test_refused_with_the_type_of_jax(text):
    check_refused(text, scope_of)


@pytest.mark.spread(2)
@pytest.mark.parametrize("text", ACCEPTED)
def test_accepted_as_in_jax(text):
    check_accepted(text, scope_of)


@pytest.mark.parametrize("text", ["x + v", "v - x", "x * v", "x < v", "jnp.add(x, v)", "x // v"])
@pytest.mark.parametrize("dtype", ["float32", "int32", "complex64", "uint32"])
def test_wide_integers_are_refused_after_narrow_ones(text, dtype):
    """The operator's program is cached by the types of its operands, but the value is still checked."""

    def outcome_of(library, value):
        x = library.numpy.ones(3, dtype)
        return outcome(text, {"jnp": library.numpy, "x": x, "v": value}).split(":")[0]

    for value in (1, 2, 2**40, -(2**31), 2**31 - 1, 2**31, 3):
        assert outcome_of(plugjax, value) == outcome_of(jax, value), value


def test_indices_meet_the_only_place_of_an_axis():
    indices = np.array([[1, 2], [0, 1]])
    for values in (1.0, np.ones((2, 2))):
        found = plugjax.numpy.put_along_axis(np.zeros((1, 3)), indices, values, 1, inplace=False)
        want = jax.numpy.put_along_axis(np.zeros((1, 3)), indices, values, 1, inplace=False)
        np.testing.assert_array_equal(found, want)
