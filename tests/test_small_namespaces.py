"""``ops``, ``flatten_util`` and ``dtypes`` against JAX."""

import jax
import jax.dtypes
import jax.flatten_util
import jax.numpy as jnp
import jax.ops
import numpy as np
import pytest

import plugjax
import plugjax.dtypes
import plugjax.flatten_util
import plugjax.numpy as pnp
import plugjax.ops

ROWS = np.random.default_rng(0).normal(size=(7, 2)).astype(np.float32)
IDS = np.array([0, 2, 2, 5, -1, 0, 9])


@pytest.mark.spread(6)
@pytest.mark.parametrize("dtype", ["float32", "int32", "bool"])
@pytest.mark.parametrize("options", [{}, {"bucket_size": 3}, {"mode": "clip"}], ids=str)
@pytest.mark.parametrize("name", ["segment_sum", "segment_prod", "segment_max", "segment_min"])
def test_segments(name, options, dtype):
    rows = (2 * ROWS).astype(dtype)
    if dtype == "bool" and name in ("segment_sum", "segment_prod"):
        rows = rows.astype(np.int8)
    for count in (4, 6, 0):
        found = getattr(plugjax.ops, name)(rows, IDS, count, **options)
        wanted = getattr(jax.ops, name)(rows, IDS, count, **options)
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_segments_count_themselves_and_have_gradients(backend):
    ids = np.array([0, 0, 1, 3])

    def loss(ops):
        return lambda x: (ops.segment_sum(x, ids) ** 2).sum() + ops.segment_max(x, ids, 4)[0]

    x = np.arange(4, dtype=np.float32)
    np.testing.assert_allclose(
        plugjax.jit(plugjax.grad(loss(plugjax.ops)))(x), jax.grad(loss(jax.ops))(x), rtol=1e-6
    )
    with pytest.raises(plugjax.errors.ConcretizationTypeError):
        plugjax.jit(plugjax.ops.segment_sum)(x, ids)
    with pytest.raises(ValueError, match="non-negative"):
        plugjax.ops.segment_sum(x, ids, -1)


TREES = {
    "one dtype": lambda np_: {"a": np_.ones((2, 3)), "b": [np_.arange(4.0), 2.0]},
    "mixed": lambda np_: (np_.arange(3), np_.ones(2), np_.array(True)),
    "empty": lambda np_: ((), None),
    "halves": lambda np_: [np_.ones(2, np_.bfloat16), np_.zeros((0, 3), np_.bfloat16)],
}


@pytest.mark.parametrize("tree", TREES)
def test_ravel(tree):
    found, unravel = plugjax.flatten_util.ravel_pytree(TREES[tree](pnp))
    wanted, theirs = jax.flatten_util.ravel_pytree(TREES[tree](jnp))
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found, wanted)
    for a, b in zip(
        plugjax.tree.leaves(unravel(found)), jax.tree.leaves(theirs(wanted)), strict=True
    ):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_array_equal(a, b)
    again = plugjax.flatten_util.ravel_pytree(TREES[tree](pnp))[1]
    assert again == unravel
    assert hash(again) == hash(unravel)


def test_ravel_under_transformations_and_with_bad_vectors():
    def loss(util, np_):
        def f(v):
            flat, unravel = util.ravel_pytree({"w": v, "b": v[0]})
            return (unravel(flat * 2)["w"] ** 2).sum() + flat.sum()

        return f

    x = np.arange(3, dtype=np.float32)
    found = plugjax.jit(plugjax.grad(loss(plugjax.flatten_util, pnp)))(x)
    np.testing.assert_allclose(found, jax.grad(loss(jax.flatten_util, jnp))(x))
    _, unravel = plugjax.flatten_util.ravel_pytree((1.0, 2))
    for bad in (np.ones(3, np.float32), np.ones(2, np.int32)):
        with pytest.raises((ValueError, TypeError)):
            unravel(bad)


@pytest.mark.parametrize(
    "dtype", ["bool", "int4", "int8", "uint16", "bfloat16", "float8_e5m2", "float32", "complex64"]
)
def test_dtypes(dtype):
    ours, theirs = getattr(pnp, dtype, bool), getattr(jnp, dtype, bool)
    for name in ("itemsize_bits", "canonicalize_dtype"):
        assert getattr(plugjax.dtypes, name)(ours) == getattr(jax.dtypes, name)(theirs)
    value = pnp.zeros((), ours)
    assert plugjax.dtypes.scalar_type_of(value) is jax.dtypes.scalar_type_of(jnp.zeros((), theirs))


def test_keys_are_extended():
    key = plugjax.random.key(0)
    assert plugjax.dtypes.issubdtype(key.dtype, plugjax.dtypes.prng_key)
    assert plugjax.dtypes.issubdtype(key.dtype, plugjax.dtypes.extended)
    assert not plugjax.dtypes.issubdtype(pnp.float32, plugjax.dtypes.extended)
    assert not plugjax.dtypes.issubdtype(pnp.float32, plugjax.dtypes.prng_key)
    with pytest.raises(ValueError, match="extended"):
        plugjax.dtypes.canonicalize_dtype(key.dtype)
    with pytest.raises(ValueError, match="None"):
        plugjax.dtypes.itemsize_bits(None)


def test_float0_is_the_type_of_tangents_of_integers():
    assert plugjax.float0 == jax.float0
    _, tangent = plugjax.jvp(lambda n: n + 1, (3,), (np.zeros((), plugjax.float0),))
    assert tangent.dtype == jax.jvp(lambda n: n + 1, (3,), (np.zeros((), jax.float0),))[1].dtype


@pytest.mark.parametrize("framework", [jax, plugjax])
def test_what_is_array_like(framework):
    kind = framework.typing.ArrayLike
    values = [1, True, 2.0, 1j, framework.numpy.ones(2), np.ones(2), np.float32(1), np.bool_(True)]
    assert [isinstance(x, kind) for x in values] == [True] * len(values)
    assert [isinstance(x, kind) for x in ("a", [1], None)] == [False] * 3
