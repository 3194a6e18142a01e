"""Programs exported for sizes that are not known, with JAX as the oracle and as a reader of the artifacts."""

import jax
import jax.numpy as jax_np
import numpy as np
import pytest
from jax import export as jax_export

import plugjax
import plugjax.numpy as jnp
from plugjax import export

F32 = np.float32


def values(j, np_, x):
    n = x.shape[0]
    return (
        n * x,
        x / n,
        np_.array(n),
        n * 2.0,
        n / 2,
        x > n,
        x.mean(),
        x.var(0),
        np_.full((n, 2), n),
    )


def shapes(j, np_, x):
    b, k = x.shape
    return (
        x.reshape(-1), x.reshape(b, -1, 2), x.reshape((k, b)), np_.concatenate([x, x]), np_.split(x, [b - 1]),
        j.lax.pad(x, F32(0), ((b, -1, 1), (0, 0, 0))), np_.pad(x, 1, mode="edge"), np_.tile(x, (1, b)),
    )  # fmt: skip


def slices(j, np_, x):
    b = x.shape[0]
    return x[1:], x[: b - 1], x[::2], x[::-1], x[-1], x[-2:], x[b // 2 :], x[3], x[np_.int32(1)]


def creation(j, np_, x):
    n = x.shape[0]
    return (
        np_.arange(n),
        np_.arange(n, 0, -1),
        np_.arange(1, 2 * n, 2),
        np_.zeros((n, 3)),
        np_.eye(n),
        np_.tril(x),
    )


def gathers(j, np_, x):
    i, b = np_.array([0, 2, -1]), x.shape[0]
    return (
        x[i],
        x[:, i % 2],
        np_.take(x, i, 0),
        x.at[i].set(0.0),
        x.at[1:].add(1.0),
        x[np_.arange(b), 0],
    )


def orders(j, np_, x):
    return (
        np_.cumsum(x, 0), j.lax.cummax(x, 1, reverse=True), np_.sort(x, 0), np_.argmax(x, 0), j.lax.top_k(x.T, x.shape[0]),
        j.lax.reduce_window(x, 0.0, j.lax.add, (2, 1), (2, 1), "SAME"),
    )  # fmt: skip


def networks(j, np_, x):
    numbers, kernel = ("NWC", "WIO", "NWC"), np_.ones((3, 1, 2), F32)
    wide = j.lax.conv_general_dilated(
        x[:, :, None], kernel, (2,), "SAME", dimension_numbers=numbers
    )
    return x @ x.T, np_.einsum("ij,kj->ik", x, x), j.nn.softmax(x), j.nn.standardize(x), wide


def loops(j, np_, x):
    return (
        j.lax.scan(lambda c, r: (c + r, c * r), x[0], x, reverse=True), j.lax.fori_loop(0, x.shape[0], lambda i, c: c + x[i], x[0]),
        j.lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * 2), (0, x)),
        j.lax.cond(x.sum() > 0, lambda a: a * a.shape[0], lambda a: -a, x), j.jit(lambda a: a * a.shape[1])(x),
    )  # fmt: skip


def transformed(j, np_, x):
    return (
        j.vmap(lambda r: r * r.sum())(x), j.grad(lambda a: (a @ a.T).mean() * a.shape[0])(x), j.jvp(np_.tanh, (x,), (x,)),
        j.grad(lambda a: j.lax.scan(lambda c, r: (c + r * r, None), a[0], a)[0].sum())(x),
        j.random.uniform(j.random.key(3), x.shape),
    )  # fmt: skip


def ours(function, spec="b, 2*k", constraints=("b >= 4",), **options):
    given = plugjax.ShapeDtypeStruct(export.symbolic_shape(spec, constraints=constraints), F32)
    return export.export(plugjax.jit(lambda x: function(plugjax, jnp, x)), **options)(given)


def argument(b, k):
    return np.random.default_rng(0).normal(size=(b, k)).astype(F32)


def agree(found, wanted):
    found, wanted = plugjax.tree.leaves(found), jax.tree.leaves(wanted)
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted, strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-4, atol=1e-5)


FAMILIES = [values, shapes, slices, creation, gathers, orders, networks, loops, transformed]


@pytest.mark.spread(3)
@pytest.mark.parametrize("function", FAMILIES, ids=lambda f: f.__name__)
def test_values_are_those_of_jax_at_several_sizes(function):
    exported = ours(function)
    loaded = jax_export.deserialize(exported.serialize())
    for b, k in ((4, 6), (5, 2)):
        x = argument(b, k)
        wanted = jax.jit(lambda x: function(jax, jax_np, x))(x)
        agree(jax.tree.leaves(loaded.call(x)), wanted)
        for device in ("numpy", "xla"):
            with plugjax.default_device(device):
                agree(exported.call(x), wanted)


def test_a_loaded_artifact_and_iree_run_it():
    exported, x = ours(values), argument(4, 2)
    wanted = jax.jit(lambda x: values(jax, jax_np, x))(x)
    agree(export.deserialize(exported.serialize()).call(x), wanted)
    with plugjax.default_device("iree"):
        agree(plugjax.jit(exported.call)(x), wanted)


def test_derivatives_are_exported():
    loaded = jax_export.deserialize(
        ours(lambda j, n, x: (n.sin(x) * x.shape[0]).sum()).serialize(1)
    )
    for size in (4, 7):
        x = argument(size, 2)
        np.testing.assert_allclose(jax.grad(loaded.call)(x), np.cos(x) * size, rtol=1e-5)


def test_shapes_that_do_not_fit_are_refused_by_both():
    exported = ours(lambda j, n, x: x * 2)
    loaded = jax_export.deserialize(exported.serialize())
    for call in (exported.call, loaded.call):
        with pytest.raises(ValueError, match="Division had remainder 1"):
            call(np.ones((4, 3), F32))
    with pytest.raises(ValueError, match="do not match the symbolic shape constraint b >= 4"):
        exported.call(np.ones((3, 2), F32))
    # The module itself asserts it, for readers that do not know the constraint.
    with pytest.raises(Exception, match="Error refining shapes"):
        jax.jit(loaded.call)(np.ones((3, 2), F32)).block_until_ready()


def test_several_platforms_with_symbolic_sizes():
    exported = ours(lambda j, n, x: n.cumsum(x, 0) + x.shape[0], platforms=("cpu", "cuda"))
    x = argument(5, 2)
    agree(jax_export.deserialize(exported.serialize()).call(x), np.cumsum(x, 0) + F32(5))
    assert exported.uses_global_constants
    assert exported.calling_convention_version == 10


@pytest.mark.parametrize(
    "function",
    [
        lambda j, n, x: x.reshape(3, -1),
        lambda j, n, x: x if x.shape[0] > x.shape[1] else -x,
        lambda j, n, x: x + x[:2],
        lambda j, n, x: n.arange(0.0, x.shape[0]),
        lambda j, n, x: j.lax.top_k(x, 3),
    ],
)
def test_what_a_shape_cannot_decide_raises_as_in_jax(function):
    spec = jax.ShapeDtypeStruct(jax_export.symbolic_shape("b, 2*k", constraints=["b >= 4"]), F32)
    with pytest.raises(Exception) as wanted:
        jax_export.export(jax.jit(lambda x: function(jax, jax_np, x)))(spec)
    with pytest.raises(Exception) as found:
        ours(function)
    names = [each.__name__ for each in type(found.value).__mro__]
    assert type(wanted.value).__name__ in names, (found.value, wanted.value)


def test_a_size_has_a_value_in_an_exported_function_only():
    (b,) = export.symbolic_shape("b")
    with pytest.raises(
        NotImplementedError, match="Evaluation rule for 'dim_as_value' is not implemented"
    ):
        jnp.array(b)


def statistics(j, np_, x):
    b = x.shape[0]
    square = x @ x.T
    return (
        np_.median(x), np_.median(x, 0), np_.quantile(x, 0.3, axis=0), np_.percentile(x, np_.array([20.0, 50.0]), axis=0),
        np_.nonzero(x[:, 0] > 0, size=b)[0], np_.unique(x[:, 0], size=3), np_.diagonal(square), np_.trace(square),
        np_.fft.fft(np_.broadcast_to(x.sum(), (b, 6))),
    )  # fmt: skip


def linear_algebra(j, np_, x):
    n = x.shape[0]
    square = x @ x.T + n * np_.eye(n)
    batch = np_.broadcast_to(2 * np_.eye(3) + 1, (n, 3, 3))
    return (
        np_.linalg.cholesky(square), np_.linalg.solve(square, x), np_.linalg.inv(square),
        j.scipy.linalg.solve_triangular(square, x, lower=True), np_.linalg.det(batch), np_.linalg.inv(batch),
        np_.linalg.eigh(batch)[0], np_.linalg.svd(batch, compute_uv=False), np_.abs(np_.linalg.qr(batch)[1]),
    )  # fmt: skip


@pytest.mark.parametrize("function", [statistics, linear_algebra], ids=lambda f: f.__name__)
def test_statistics_and_linear_algebra_are_exported(function):
    test_values_are_those_of_jax_at_several_sizes(function)


@pytest.mark.parametrize("function", [values, shapes, loops, statistics], ids=lambda f: f.__name__)
def test_an_artifact_carries_a_program_with_sizes(function):
    exported = ours(function)
    loaded = export.deserialize(exported.serialize(jaxpr=True))
    again = export.deserialize(loaded.serialize(jaxpr=True))
    assert str(loaded.in_avals) == str(exported.in_avals)
    for b, k in ((4, 6), (5, 2)):
        x = argument(b, k)
        wanted = jax.jit(lambda x: function(jax, jax_np, x))(x)
        with plugjax.default_device("numpy"):
            agree(again.call(x), wanted)


def test_a_program_with_sizes_that_was_loaded_is_transformed():
    blob = ours(lambda j, n, x: (n.sin(x) * x.shape[0]).sum()).serialize(jaxpr=True)
    loaded, x = export.deserialize(blob), argument(5, 2)
    agree(plugjax.grad(loaded.call)(x), np.cos(x) * F32(5))
    batch = np.stack([x, 2 * x])
    agree(plugjax.vmap(loaded.call)(batch), (np.sin(batch) * F32(5)).sum((1, 2)))
    # The constraints of the sizes are carried with it.
    with pytest.raises(ValueError, match="symbolic shape constraint b >= 4"):
        loaded.call(argument(3, 2))
    # JAX reads the same bytes.
    agree(jax_export.deserialize(bytearray(blob)).call(x), (np.sin(x) * F32(5)).sum())


@pytest.mark.parametrize("version", [9, 10])
def test_the_calling_convention_is_chosen_by_an_option(version):
    for j, library in ((plugjax, export), (jax, jax_export)):
        before = j.config.jax_export_calling_convention_version
        j.config.update("jax_export_calling_convention_version", version)
        try:
            exported = library.export(j.jit(lambda x: x + 1))(j.ShapeDtypeStruct((2,), F32))
        finally:
            j.config.update("jax_export_calling_convention_version", before)
        assert exported.calling_convention_version == version
        loaded = jax_export.deserialize(exported.serialize())
        assert loaded.calling_convention_version == version
        np.testing.assert_array_equal(loaded.call(np.ones(2, F32)), [2, 2])


def test_a_calling_convention_that_is_not_known_is_refused():
    for j, library in ((plugjax, export), (jax, jax_export)):
        before = j.config.jax_export_calling_convention_version
        j.config.update("jax_export_calling_convention_version", 8)
        try:
            with pytest.raises(ValueError, match=r"outside the range of supported versions|range"):
                library.export(j.jit(lambda x: x + 1))(j.ShapeDtypeStruct((2,), F32))
        finally:
            j.config.update("jax_export_calling_convention_version", before)


def test_what_depends_on_the_platform_is_exported_with_sizes():
    def function(j, np_, x):
        return j.lax.platform_dependent(
            x, cpu=lambda x: x * x.shape[0], cuda=lambda x: -x, default=lambda x: x
        )

    exported, x = ours(function, platforms=("cpu", "cuda")), argument(5, 2)
    for loaded in (export.deserialize(exported.serialize()), jax_export.deserialize(exported.serialize())):  # fmt: skip
        assert loaded.platforms == ("cpu", "cuda")
        agree(loaded.call(x), x * F32(5))


def test_the_check_of_the_platform_is_disabled_with_sizes():
    blobs = [
        ours(
            lambda j, n, x: x * x.shape[0],
            platforms=("tpu",),
            disabled_checks=[export.DisabledSafetyCheck.platform()] if disabled else [],
        ).serialize()
        for disabled in (False, True)
    ]
    x = argument(5, 2)
    for library in (export, jax_export):
        with pytest.raises(ValueError, match="was exported for platforms"):
            library.deserialize(blobs[0]).call(x)
        agree(library.deserialize(blobs[1]).call(x), x * F32(5))


def factorizations(j, np_, x):
    linalg = j.scipy.linalg
    whole = x @ x.T + np_.eye(x.shape[0])
    values, vectors = np_.linalg.eigh(whole)
    q, r = np_.linalg.qr(whole)
    form, unitary = linalg.schur(whole)
    u, s, vt = np_.linalg.svd(x, full_matrices=False)
    return (
        values, vectors @ np_.diag(values) @ vectors.T, np_.linalg.eigvals(whole).real.sum(), q @ r, np_.abs(r),
        unitary @ form @ unitary.T, s, u @ np_.diag(s) @ vt, np_.linalg.norm(x, 2), np_.trace(x),
        np_.abs(np_.linalg.svd(x)[0]).shape[0] * x,
    )  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_factorizations_of_matrices_of_unknown_sizes(dtype):
    def exported(j, library):
        shape = library.symbolic_shape("m, n")
        specs = j.ShapeDtypeStruct(shape, dtype)
        function = lambda x: factorizations(j, j.numpy, x)  # noqa: E731
        if dtype == "complex64":
            function = lambda x: complex_factorizations(j, j.numpy, x)  # noqa: E731
        return library.export(j.jit(function), platforms=["cpu"])(specs)

    mine, theirs = exported(plugjax, export), exported(jax, jax_export)
    assert [a.str_short() for a in mine.out_avals] == [a.str_short() for a in theirs.out_avals]
    rng = np.random.default_rng(0)
    for sizes in ((3, 5), (4, 2)):
        x = rng.normal(size=sizes).astype(dtype)
        wanted = theirs.call(x)
        loaded = jax_export.deserialize(mine.serialize()).call(x)
        with plugjax.default_device(plugjax.devices("xla")[0]):
            results = loaded, mine.call(x), export.deserialize(theirs.serialize()).call(x)
        for found in results:
            for y, z in zip(found, wanted, strict=True):
                np.testing.assert_allclose(np.asarray(y), np.asarray(z), rtol=2e-4, atol=2e-4)


def complex_factorizations(j, np_, x):
    whole = x @ x.conj().T
    values, vectors = np_.linalg.eigh(whole)
    q, r = np_.linalg.qr(whole + np_.eye(x.shape[0]))
    u, s, vt = np_.linalg.svd(x, full_matrices=False)
    eigenvalues = np_.linalg.eig(whole)[0]
    return values, vectors * values @ vectors.conj().T, q @ r, (u * s) @ vt, eigenvalues.sum()


def test_a_failed_factorization_gives_nan():
    shape = export.symbolic_shape("n, n")
    f = plugjax.jit(lambda x: plugjax.lax.linalg.eigh(x, symmetrize_input=False))
    exported = export.export(f, platforms=["cpu"])(plugjax.ShapeDtypeStruct(shape, F32))
    with plugjax.default_device(plugjax.devices("xla")[0]):
        vectors, values = exported.call(np.full((3, 3), np.nan, F32))
    assert np.isnan(vectors).all()
    assert np.isnan(values).all()


@pytest.mark.parametrize("name", ["qr of two sizes", "lu", "fft", "irfft", "diagonal", "permutation", "permutation of a size", "independent permutation"])  # fmt: skip
def test_refused_as_jax_refuses_it(name):
    functions = {
        "qr of two sizes": lambda j, x: j.numpy.linalg.qr(x),
        "lu": lambda j, x: j.scipy.linalg.lu(x),
        "fft": lambda j, x: j.numpy.fft.fft(x),
        "irfft": lambda j, x: j.numpy.fft.irfft(x),
        "diagonal": lambda j, x: j.numpy.diagonal(x),
        "permutation": lambda j, x: j.random.permutation(j.random.key(0), x[:, 0]),
        "permutation of a size": lambda j, x: j.random.permutation(j.random.key(0), x.shape[0]),
        "independent permutation": lambda j, x: j.random.permutation(
            j.random.key(0), x, independent=True
        ),
    }
    errors = []
    for j, library in ((plugjax, export), (jax, jax_export)):
        spec = j.ShapeDtypeStruct(library.symbolic_shape("m, n"), F32)
        with pytest.raises(
            Exception, match=r"polymorphi|nconclusive|sizes that are not known|constant"
        ) as caught:
            library.export(j.jit(lambda x, j=j: functions[name](j, x)), platforms=["cpu"])(spec)
        errors.append(type(caught.value).__name__)
    assert errors[0] == errors[1]
