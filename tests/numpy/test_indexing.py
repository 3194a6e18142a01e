"""Reading and updating by index against JAX."""

import jax
import jax.numpy as jax_numpy
import numpy as onp
import pytest

import plugjax
import plugjax.numpy as jnp
from plugjax.core.errors import NonConcreteBooleanIndexError

_rng = onp.random.RandomState(0)
F = _rng.randn(3, 4).astype(onp.float32)
V = _rng.randn(4).astype(onp.float32)
T = _rng.randn(2, 3, 4).astype(onp.float32)
I = _rng.randint(-5, 6, (3, 4)).astype(onp.int32)  # Integers.
U = _rng.randint(0, 9, (3, 4)).astype(onp.uint8)
B = _rng.rand(3, 4) > 0.5

a, b = onp.array([0, 2]), onp.array([1, -1])
full = slice(None)
INDICES = [
    0, -1, 7, -9, slice(1, None), slice(None, None, 2), slice(None, None, -1), slice(2, 0, -1), slice(1, 1), None, ..., (0, 1),
    (full, 1), (1, slice(0, 3, 2)), (None, ..., None), (full, None, slice(None, None, -2)), a, (a, b), (full, a), (a, 0),
    (a[:, None], b), (0, a), (slice(1, 3), a), (a, slice(None, None, -1)), B, B[:, 0], (full, B[0]), (None, a), (a, None, b),
    onp.array(1), onp.array([5, -7]), onp.uint8([1, 2]), True, (0, 0, 0), "x", 1.5, [0, 1], (..., ...), B[:2],
]  # fmt: skip
DEEP = [
    (0, full, a),
    (a, full, a),
    (full, a, b),
    (slice(0, 1), None, a),
    (slice(None, None, 2), full, a),
    (None, 0, full, a),
]


@pytest.mark.spread(2)
@pytest.mark.parametrize("index", INDICES, ids=repr)
def test_get_and_set(agree, index):
    agree(lambda np: np.asarray(F)[index])
    agree(lambda np: np.asarray(F).at[index].set(2.0))
    agree(lambda np: np.asarray(F).at[index].get(mode="fill", fill_value=-1))


@pytest.mark.parametrize("index", DEEP, ids=repr)
def test_deep(agree, index):
    agree(lambda np: np.asarray(T)[index])
    agree(lambda np: np.asarray(T).at[index].set(np.asarray(T)[index] * 2 + 1))


LISTS = [
    (full, [1, 2]), ([0, 2], [1, 3]), (None, [0]), ([0, 1],), (..., [0, -1]), ([0, 1], ...), ([0, 1], None, [1, 0]), (0, [1, 0]),
    ([True, False, True],), (full, [True, False, True, True]), ([True, False, True], [0, 1]), ([[True, False, True, False]] * 3,),
    (..., [False, True, True, True]), ([[0, 1], [2, 0]],), (full, [[0, 1], [2, 0]]), ([[0], [1]], onp.array([1, 0])), ([], full),
    (full, []), ((0, 1), full), (full, (0, 1)), ((),), ([onp.int32(1), 0],), ([onp.arange(2), onp.arange(2)],), ([True, 2],),
    (True, [0, 1]), ([7, -9],),
    # Refused.
    [0, 1], [True, False, True], [full, 0], [], range(2), (full, range(2)), ([0.0, 1.0],), (["one"],), ([full],), ([2**40],),
    ([True, False],), ([0], [0], [0]), ([1j],), ({},), (full, {1}),
]  # fmt: skip


@pytest.mark.spread(2)
@pytest.mark.parametrize("index", LISTS, ids=repr)
def test_lists_in_a_tuple_are_index_arrays(agree, index):
    agree(lambda np: np.asarray(F)[index])
    agree(lambda np: np.asarray(F).at[index].set(2.0))
    agree(lambda np: np.asarray(F).at[index].add(2.0))
    agree(lambda np: np.asarray(F).at[index].get(mode="fill", fill_value=-1))


def test_a_list_of_traced_integers_is_an_index_array(backend):
    with plugjax.default_device(backend):
        f = plugjax.jit(lambda x, i: (x[:, [i, 0]], x.at[[i, 0], [i, i]].add(1.0)))
        taken, added = f(F, 2)
    onp.testing.assert_array_equal(taken, F[:, [2, 0]])
    expected = F.copy()
    expected[[2, 0], [2, 2]] += 1
    onp.testing.assert_array_equal(added, expected)


@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide", "power", "min", "max"])
def test_updates(agree, name):
    agree(lambda np: getattr(np.asarray(F).at[a, 1], name)(2.0))


@pytest.mark.parametrize("mode", [None, "fill", "clip", "wrap"])
def test_take(agree, mode):
    agree(lambda np: np.take(F, onp.array([0, -1, 7, -9]), axis=1, mode=mode))
    agree(lambda np: np.take(I, onp.array([0, 17]), mode=mode))


@pytest.mark.parametrize(
    "expression",
    [
        lambda np: np.take(U, onp.array([99])),
        lambda np: np.take_along_axis(F, onp.argsort(F, 0), 0),
        lambda np: np.take_along_axis(F, onp.array([[0, 1]]), 1),
        lambda np: np.asarray(F).at[onp.array([0, 9])].set(1.0, mode="clip"),
        lambda np: np.asarray(F).at[onp.array([0, 0])].add(1.0),
        lambda np: np.asarray(F).at[0].set(V[:3]),
        lambda np: np.asarray(I).at[1].set(2),
        lambda np: np.nonzero(B, size=3),
        lambda np: np.where(B, size=20, fill_value=7),
        lambda np: np.diagonal(T, 1, 1, 2),
        lambda np: np.unravel_index(onp.array([5, 11, -1]), (3, 4)),
        lambda np: np.put_along_axis(F, onp.array([[0], [1], [2]]), 9.0, 1, inplace=False),
    ],
)
def test_cases(agree, expression):
    agree(expression)


@pytest.mark.parametrize(("of", "error"), [("trace", ValueError), ("diagonal", TypeError)])
@pytest.mark.parametrize("axes", [(0, 0), (1, -1), (0, -2)])
def test_a_diagonal_of_one_axis_raises(of, error, axes):
    for np in (jnp, jax_numpy):
        with pytest.raises(error):
            getattr(np, of)(np.asarray(F), 0, *axes)


def test_an_index_beyond_int32_is_beyond_the_axis(agree):
    far = onp.array(2**32 - 1, onp.uint32)
    agree(lambda np: np.asarray(F)[:, far])
    agree(lambda np: np.asarray(F).at[:, far].set(-1.0))
    agree(lambda np: np.asarray(F).at[:, np.array(far)].add(-1.0))


def test_traced_mask_raises():
    with pytest.raises(NonConcreteBooleanIndexError):
        plugjax.jit(lambda x: x[x > 0])(jnp.ones(3))


def test_traced_integer_reads_and_wraps():
    take = plugjax.jit(lambda x, i: (x[i], x[i, 1:], x[None, i]))
    for i in (0, -1, 2, 9):
        for ours, theirs in zip(
            take(jnp.asarray(F), i),
            (F[min(i, 2)], F[min(i, 2), 1:], F[None, min(i, 2)]),
            strict=True,
        ):
            onp.testing.assert_array_equal(ours, theirs)


def test_static_index_is_a_slice():
    text = str(plugjax.make_jaxpr(lambda x: x[1:])(jnp.ones(4)))
    assert "slice" in text
    assert "gather" not in text


def test_update_that_loses_digits_warns():
    with pytest.warns(FutureWarning, match="incompatible types"):
        updated = jnp.asarray(I).at[1].set(2.7)
    assert updated.dtype == onp.int32


@pytest.mark.parametrize("mode", [None, "fill", "clip", "drop"])
@pytest.mark.parametrize("index", [onp.array([-1, 1, 7, -9]), -1])
def test_negative_indices_need_not_wrap(index, mode):
    x = onp.arange(4, dtype=onp.float32)

    def of(np_):
        at = np_.asarray(x).at[index]
        options = {"mode": mode, "wrap_negative_indices": False}
        return [at.add(10, **options), at.get(**options)]

    for found, wanted in zip(of(jnp), of(jax_numpy), strict=True):
        onp.testing.assert_array_equal(found, wanted)


ROWS = onp.array([0, 1, 1])
SCALAR_MASKS = [
    (True,), (0, True), (0, slice(None), True), (ROWS, True), (True, ROWS), (None, True), (0, None, 0, True), (True, True),
    (ROWS, slice(None), True), (True, slice(None), ROWS), (..., True), (ROWS[:, None], True), (True, slice(None), True),
    (False,), (0, False), (ROWS[:, None], False), (False, True), (None, False, 0), (..., False, slice(None)), (onp.array(True), 0),
]  # fmt: skip


@pytest.mark.parametrize("index", SCALAR_MASKS, ids=str)
def test_scalar_masks(index):
    """A mask of rank 0 is an index array with one element or none that consumes no axis.

    NumPy is the oracle: JAX loses axes.
    """
    x = onp.arange(24, dtype=onp.float32).reshape(2, 3, 4)
    onp.testing.assert_array_equal(jnp.asarray(x)[index], x[index], strict=True)
    onp.testing.assert_array_equal(plugjax.jit(lambda x: x[index])(x), x[index], strict=True)
    wanted = x.copy()
    onp.add.at(wanted, index, 1)
    onp.testing.assert_array_equal(jnp.asarray(x).at[index].add(1), wanted)


OUTSIDE = [9, -9, (9, None), (None, -9), (-9, full), (full, 9), (-4, -5), (..., -9)]


@pytest.mark.parametrize("index", OUTSIDE, ids=str)
def test_scalars_out_of_bounds_read_the_nearest_element(index):
    """Alone, and beside a traced scalar."""
    row = index if isinstance(index, tuple) else (index,)
    onp.testing.assert_array_equal(jnp.asarray(T)[index], jax_numpy.asarray(T)[index])
    found = plugjax.jit(lambda x, i: x[(*row, i)])(T, 1)
    onp.testing.assert_array_equal(found, jax.jit(lambda x, i: x[(*row, i)])(T, 1))


def test_scalars_beyond_all_integers_of_the_index_dtype():
    for index, nearest in ((2**40, -1), (-(2**40), 0)):
        onp.testing.assert_array_equal(jnp.asarray(T)[index], T[nearest])
        onp.testing.assert_array_equal(plugjax.jit(lambda x, i: x[index, i])(T, 1), T[nearest, 1])  # noqa: B023
