"""jax.numpy as users of NumPy know it."""


def creation(jax):
    jnp = jax.numpy
    return (
        jnp.linspace(0, 1, 5),
        jnp.arange(2, 10, 3),
        jnp.arange(1.0, 2.0, 0.25),
        jnp.eye(2, 3, k=1),
        jnp.full((2,), 7),
        jnp.full_like(jnp.ones(2), 3),
        jnp.logspace(0, 2, 3),
        jnp.geomspace(1, 8, 4),
        jnp.tri(3),
        jnp.diag(jnp.array([1, 2])),
        jnp.identity(2),
    )


def statistics(jax):
    jnp = jax.numpy
    x = jnp.array([[1.0, 7.0, 3.0], [4.0, 2.0, 9.0]])
    return (
        jnp.median(x),
        jnp.percentile(x, 30),
        jnp.quantile(x, jnp.array([0.25, 0.5]), axis=1),
        jnp.average(x, axis=0, weights=jnp.array([1.0, 3.0])),
        jnp.cov(x),
        jnp.corrcoef(x),
        jnp.histogram(x, bins=3),
        jnp.nanmean(x.at[0, 0].set(jnp.nan)),
    )


def einsums(jax):
    jnp = jax.numpy
    a, b = jnp.arange(6.0).reshape(2, 3), jnp.arange(12.0).reshape(3, 4)
    return (
        jnp.einsum("ij,jk->ik", a, b),
        jnp.einsum("ij->ji", a),
        jnp.einsum("ii", jnp.ones((3, 3))),
        jnp.einsum("...j,jk", a, b),
        jnp.tensordot(a, b, 1),
        jnp.vdot(a, a),
        jnp.outer(jnp.arange(2), jnp.arange(3)),
        jnp.kron(jnp.ones(2), jnp.arange(2)),
    )


def shapes_that_do_not_broadcast(jax):
    jnp = jax.numpy
    return jnp.ones((2, 3)) + jnp.ones((2,))


def joining(jax):
    jnp = jax.numpy
    x = jnp.arange(4).reshape(2, 2)
    return (
        jnp.concatenate([x, x], axis=None),
        jnp.stack([x, x], -1).shape,
        jnp.hstack([x, x]),
        jnp.vstack([x, jnp.ones(2)]),
        jnp.split(jnp.arange(6), 3),
        jnp.array_split(jnp.arange(5), 2),
        jnp.block([[x, x], [x, x]]).shape,
        jnp.tile(jnp.arange(2), (2, 2)),
        jnp.append(x, 9),
        jnp.insert(jnp.arange(3), 1, 9),
        jnp.delete(jnp.arange(4), 1),
    )


def concatenate_needs_arrays(jax):
    return jax.numpy.concatenate(3)


def sequences_are_refused(jax):
    return jax.numpy.sum([1, 2, 3])


def pad_modes(jax):
    jnp = jax.numpy
    x = jnp.arange(1, 4)
    return [
        jnp.pad(x, (2, 1), mode=m)
        for m in ("edge", "reflect", "symmetric", "wrap", "mean", "linear_ramp")
    ], jnp.pad(x, 1, constant_values=9)


def pad_with_a_function(jax):
    jnp = jax.numpy

    def pad(row, width, axis, kwargs):
        return row.at[: width[0]].set(kwargs["fill"])

    return jnp.pad(jnp.arange(3), (2, 0), pad, fill=7)


def sets(jax):
    jnp = jax.numpy
    a, b = jnp.array([3, 1, 2, 3]), jnp.array([2, 5])
    return (
        jnp.unique(a, return_counts=True, return_inverse=True),
        jnp.union1d(a, b),
        jnp.intersect1d(a, b),
        jnp.setdiff1d(a, b),
        jnp.isin(a, b),
        jnp.unique(a, size=5, fill_value=0),
    )


def sorting(jax):
    jnp = jax.numpy
    x = jnp.array([3.0, jnp.nan, -1.0, 2.0])
    return (
        jnp.sort(x),
        jnp.argsort(x, descending=True),
        jnp.lexsort((jnp.array([1, 0, 1]), jnp.array([2, 2, 1]))),
        jnp.partition(jnp.array([3, 1, 2]), 1)[1],
        jax.lax.top_k(jnp.array([1, 9, 5]), 2),
        jnp.searchsorted(jnp.arange(5), jnp.array([1.5, 4])),
        jax.lax.sort_key_val(jnp.array([2, 1]), jnp.array([10, 20])),
    )


def vectorize(jax):
    jnp = jax.numpy
    f = jnp.vectorize(lambda m, v: m @ v, signature="(n,m),(m)->(n)")
    return f(jnp.ones((4, 2, 3)), jnp.arange(3.0)), jnp.apply_along_axis(
        jnp.sum, 0, jnp.ones((2, 3))
    )


def ufunc_objects(jax):
    jnp = jax.numpy
    x = jnp.arange(1, 5)
    return (
        jnp.add.reduce(x),
        jnp.multiply.accumulate(x),
        jnp.add.outer(x, x)[1],
        jnp.add.at(jnp.zeros(3), jnp.array([0, 0]), 1.0, inplace=False),
    )


def polynomials(jax):
    jnp = jax.numpy
    return (
        jnp.polyval(jnp.array([1, 2, 3]), 2),
        jnp.polyfit(jnp.arange(4.0), jnp.arange(4.0) ** 2, 2).round(3) + 0.0,
        jnp.roots(jnp.array([1.0, -3.0, 2.0]), strip_zeros=False).real.sort(),
        jnp.polymul(jnp.array([1, 1]), jnp.array([1, -1])),
        jnp.interp(1.5, jnp.arange(3), jnp.arange(3) * 10),
        jnp.convolve(jnp.arange(3), jnp.ones(2)),
        jnp.trapezoid(jnp.arange(4.0)),
    )


def fourier(jax):
    jnp = jax.numpy
    x = jnp.arange(6.0)
    return (
        jnp.fft.fft(x),
        jnp.fft.rfft(x),
        jnp.fft.ifft(jnp.fft.fft(x)),
        jnp.fft.fftfreq(4),
        jnp.fft.fftshift(x),
    )


def comparisons(jax):
    jnp = jax.numpy
    x = jnp.array([1.0, jnp.nan, jnp.inf])
    return (
        jnp.isclose(x, x, equal_nan=True),
        jnp.allclose(x[:1], 1.0 + 1e-9),
        jnp.array_equal(x, x),
        jnp.isnan(x),
        jnp.nan_to_num(x, posinf=5.0),
        jnp.sign(x),
        jnp.signbit(-x),
        jnp.array_equiv(1, jnp.ones(3)),
    )


def array_equal_of_lists(jax):
    return jax.numpy.array_equal([1, 2], [1, 2])


def special_values(jax):
    jnp = jax.numpy
    x = jnp.array([0.0, -0.0, jnp.inf, -jnp.inf, jnp.nan])
    return (
        jnp.sqrt(x),
        1 / x,
        jnp.exp(x),
        jnp.maximum(x, 0),
        jnp.sinc(x[:2]),
        jnp.power(x[:2], 0),
        jnp.floor(x),
    )


def iterated_functions_of_axis(jax):
    jnp = jax.numpy
    x = jnp.arange(24).reshape(2, 3, 4)
    return (
        jnp.moveaxis(x, 0, -1).shape,
        jnp.rollaxis(x, 2).shape,
        jnp.flip(x, (0, 1))[0, 0],
        jnp.rot90(x[0])[0],
        jnp.roll(x[0, 0], 1),
        jnp.expand_dims(x, (0, 2)).shape,
        jnp.broadcast_to(jnp.arange(3), (2, 3)),
        jnp.atleast_2d(3).shape,
        jnp.diff(x[0], axis=1)[0],
        jnp.gradient(jnp.arange(4.0) ** 2),
    )


def choose_and_digitize(jax):
    jnp = jax.numpy
    return (
        jnp.choose(jnp.array([0, 1, 5]), [jnp.zeros(3), jnp.ones(3)], mode="clip"),
        jnp.digitize(jnp.array([0.2, 6.4]), jnp.array([0.0, 1.0, 2.5])),
        jnp.tril(jnp.ones((3, 3)), -1),
        jnp.vander(jnp.array([1, 2, 3])),
        jnp.meshgrid(jnp.arange(2), jnp.arange(3), indexing="ij"),
        jnp.fill_diagonal(jnp.zeros((2, 2)), 1, inplace=False),
    )


def printing(jax):
    jnp = jax.numpy
    jnp.set_printoptions(precision=2)
    try:
        return str(jnp.array([1.23456])), jnp.array_str(jnp.arange(3)), jnp.array_repr(jnp.ones(2))
    finally:
        jnp.set_printoptions(precision=8)


def array_api(jax):
    jnp = jax.numpy
    xp = jnp.ones(2).__array_namespace__()
    info = xp.__array_namespace_info__()
    return (
        xp is jnp,
        info.capabilities()["boolean indexing"],
        sorted(info.dtypes(kind="integral")),
        xp.permute_dims(jnp.ones((2, 3)), (1, 0)).shape,
        xp.unique_values(jnp.array([2, 1, 2])),
        xp.matrix_transpose(jnp.ones((2, 3))).shape,
        xp.astype(jnp.ones(2), jnp.int32),
        xp.cumulative_sum(jnp.arange(3), include_initial=True),
    )


def copy_false(jax):
    jnp = jax.numpy
    x = jnp.arange(3)
    return jnp.asarray(x, copy=False) is x, jnp.array(x) is x


def masked_arrays_are_refused(jax):
    import numpy as np

    return jax.numpy.asarray(np.ma.masked_array([1, 2], [True, False]))
