"""Arrays and tracers as values: NumPy protocols, immutability, pickling, threads, configuration."""

import copy
import operator
import pickle
import subprocess
import sys
import threading

import jax
import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp
from plugjax import lax


def test_numpy_sees_the_memory_and_cannot_write_to_it(on_backend):
    x = plugjax.jit(lambda a: a * 2.0)(np.arange(4, dtype=np.float32))
    first, second = np.asarray(x), np.asarray(x)
    assert first.ctypes.data == second.ctypes.data
    with pytest.raises(ValueError, match="read-only"):
        first[0] = 1


def test_the_users_array_is_copied(on_backend):
    mine = np.zeros(3, np.float32)
    x = jnp.asarray(mine)
    y = plugjax.jit(lambda a: a)(mine)
    mine[:] = 7
    np.testing.assert_array_equal(x, np.zeros(3))
    np.testing.assert_array_equal(y, np.zeros(3))


def test_numpy_functions_give_arrays_under_every_transformation():
    def f(x):
        return np.sum(np.sin(x) * np.concatenate([x[:1], x[1:]]))

    x = np.linspace(0, 1, 5, dtype=np.float32)
    gradient = plugjax.grad(f)(jnp.asarray(x))
    np.testing.assert_allclose(gradient, np.cos(x) * x + np.sin(x), rtol=1e-5)
    assert isinstance(plugjax.jit(f)(x), plugjax.Array)
    assert plugjax.vmap(np.sin)(jnp.asarray(x)).shape == (5,)


def test_isinstance_of_array_holds_for_tracers():
    seen = []
    plugjax.jit(lambda x: seen.append(isinstance(x, plugjax.Array)) or x)(1.0)
    plugjax.vmap(lambda x: seen.append(isinstance(x, plugjax.Array)) or x)(jnp.ones(2))
    plugjax.grad(lambda x: seen.append(isinstance(x, plugjax.Array)) or x)(1.0)
    assert seen == [True, True, True]
    assert not isinstance(np.ones(2), plugjax.Array)


def test_pickle_copy_and_dlpack():
    x = jnp.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(x)), x)
    assert copy.copy(x) is x
    np.testing.assert_array_equal(copy.deepcopy(x), x)
    np.testing.assert_array_equal(np.from_dlpack(x), x)


@pytest.mark.parametrize(
    "value",
    [
        1.5,
        2,
        True,
        1 + 2j,
        np.arange(3),
        np.ones((2, 2), np.float16),
        np.float32(3),
        [],
        np.zeros((0, 2)),
        # Lines that are broken, and last lines with and without room for the dtype.
        np.arange(40),
        np.arange(64, dtype=np.float32).reshape(8, 8) / 8,
        *(np.arange(n, dtype=np.float32) / 2**13 for n in range(1, 12)),
        np.arange(12).reshape(3, 4) * 1j,
        np.arange(3000.0).reshape(30, 100),
    ],
)
def test_repr_is_that_of_jax(value):
    assert repr(jnp.asarray(value)) == repr(jax.numpy.asarray(value))
    assert str(jnp.asarray(value)) == str(jax.numpy.asarray(value))


def test_python_scalars_are_weak():
    for value in (1, 1.0, 1j, True):
        ours, theirs = jnp.asarray(value), jax.numpy.asarray(value)
        assert (ours.dtype, ours.weak_type) == (theirs.dtype, theirs.weak_type)


def test_operators_take_no_containers_and_leave_other_objects_alone():
    class Other:
        def __radd__(self, x):
            return "added"

        def __eq__(self, x):
            return "equal"

        __hash__ = None

    def outcomes(x):
        others = [[1, 2], (1, 2), {1}, {1: 2}, [], None, "word", object(), range(2), Other(), np.arange(2)]  # fmt: skip
        found = []
        for other in others:
            for f in (operator.eq, operator.ne, operator.lt, operator.add, operator.matmul):
                for args in ((x, other), (other, x)):
                    try:
                        result = f(*args)
                        found.append(result if isinstance(result, (bool, str)) else "array")
                    except TypeError:
                        found.append(TypeError)
        return found

    expected = outcomes(jax.numpy.arange(2))
    assert outcomes(jnp.arange(2)) == expected
    traced = []
    plugjax.make_jaxpr(lambda x: traced.extend(outcomes(x)))(np.arange(2))
    assert traced == expected


def test_x64():
    with plugjax.enable_x64(True):
        x = jnp.arange(3.0)
        assert x.dtype == np.float64
        assert plugjax.jit(lambda a: a * 2)(x).dtype == np.float64
        assert plugjax.grad(lambda a: jnp.sum(a**2))(x).dtype == np.float64
    assert jnp.arange(3.0).dtype == np.float32


def test_configuration_is_per_thread_within_a_with_block():
    seen = {}

    def look(name):
        seen[name] = jnp.asarray(1.0).dtype

    with plugjax.enable_x64(True):
        thread = threading.Thread(target=look, args=("other",))
        thread.start()
        thread.join()
        look("this")
    assert seen == {"other": np.dtype(np.float32), "this": np.dtype(np.float64)}


def test_threads_trace_and_run_at_once():
    results, errors = {}, []

    def work(i):
        try:
            f = plugjax.jit(lambda x: lax.scan(lambda c, a: (c * a + i, c), 1.0, x)[0])
            g = plugjax.vmap(plugjax.grad(lambda x: jnp.sum(jnp.sin(x) * i)))
            for _ in range(5):
                results[i] = (float(f(jnp.arange(4.0))), float(g(jnp.ones((2, 3)))[0, 0]))
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors
    for i in range(6):
        c = 1.0
        for a in range(4):
            c = c * a + i
        assert results[i] == pytest.approx((c, np.cos(1) * i), rel=1e-5)


def test_no_warning_of_floating_point_events_and_the_users_numpy_is_untouched():
    before = np.geterr()
    y = jnp.asarray([1.0, -1.0]) / 0.0
    np.testing.assert_array_equal(y, [np.inf, -np.inf])
    assert np.isnan(plugjax.jit(lambda x: jnp.log(x))(-1.0))
    assert np.geterr() == before


def test_iteration_length_and_indexing_of_arrays():
    x = jnp.arange(6).reshape(3, 2)
    assert [row.tolist() for row in x] == [[0, 1], [2, 3], [4, 5]]
    assert len(x) == 3
    with pytest.raises(TypeError, match="0-d"):
        iter(jnp.asarray(1))
    with pytest.raises(TypeError, match=r"x\.at\[idx\]\.set"):
        x[0] = 1


_UNPICKLED = """
import pickle, sys
import numpy as np
import plugjax, plugjax.numpy as jnp
from plugjax.core import dtypes

names = ["bool", "int8", "int16", "int32", "uint8", "uint16", "uint32", "float16", "float32", "complex64"]
known = [np.dtype(name) for name in names]
custom = [*dtypes.CUSTOM_FLOATS, *dtypes.SIGNED_SMALL, *dtypes.UNSIGNED_SMALL]
# The first arrays of their shapes.
for n, dtype in enumerate([*known, *custom], 70):
    for shape in ((n,), (n, 2)):
        found = jnp.asarray(pickle.loads(pickle.dumps(np.zeros(shape, dtype))))
        assert found.aval.dtype is dtype, dtype
        assert jnp.zeros(shape, dtype).aval is found.aval, dtype
        assert plugjax.jit(lambda x: x)(pickle.loads(pickle.dumps(np.zeros(shape, dtype)))).aval is found.aval
        struct = plugjax.ShapeDtypeStruct((n, 3), pickle.loads(pickle.dumps(dtype)))
        assert plugjax.eval_shape(lambda x: x, struct).dtype == dtype
        assert jnp.zeros((n, 4), pickle.loads(pickle.dumps(dtype))).aval.dtype is dtype
"""


def test_unpickled_arrays_of_every_dtype_have_the_dtypes_that_all_others_have():
    subprocess.run([sys.executable, "-c", _UNPICKLED], check=True)


def test_unpickled_bools_keep_bools_working(on_backend):
    """The shape is one that no array had before."""
    mask = (
        np.random.default_rng(0).random((3, {"numpy": 97, "xla": 98, "iree": 99}[on_backend])) < 0.5
    )
    jnp.asarray(pickle.loads(pickle.dumps(mask)))
    x = jnp.asarray(mask)
    for f, expected in (
        (lambda x: x + x, mask),
        (lambda x: x * ~x, mask & ~mask),
        (jnp.sum, mask.sum()),
        (jnp.max, mask.max()),
        (lambda x: jnp.cumsum(x, 1), mask.cumsum(1)),
        (lambda x: jnp.sort(x, 1), np.sort(mask, 1)),
        (lambda x: jnp.sum(jnp.ones(x.shape), where=x), mask.sum()),
    ):
        np.testing.assert_array_equal(f(x), expected)
        np.testing.assert_array_equal(plugjax.jit(f)(x), expected)


@pytest.mark.parametrize("dtype", ["bool", "float32", "int32"])
def test_an_unpickled_dtype_asks_for_the_same_as_another(dtype):
    mine = pickle.loads(pickle.dumps(np.zeros(1, dtype))).dtype
    assert mine is not np.dtype(dtype)
    x = jnp.array([2.0, 0.0])
    for f in (jnp.sum, jnp.prod, jnp.cumsum, jnp.array, lambda x, dtype: x.astype(dtype)):
        assert f(x, dtype=mine).aval is f(x, dtype=np.dtype(dtype)).aval
        np.testing.assert_array_equal(f(x, dtype=mine), f(x, dtype=np.dtype(dtype)))


MASKED = np.ma.array([1.0, 2.0, 3.0], mask=[0, 1, 0])


@pytest.mark.parametrize(
    "use",
    [
        lambda framework: framework.jit(lambda x: x * 2)(MASKED),
        lambda framework: framework.numpy.sin(MASKED),
        lambda framework: framework.numpy.ones(3) + MASKED,
        lambda framework: framework.device_put(MASKED),
        lambda framework: framework.numpy.asarray(MASKED),
    ],
    ids=["jit", "function", "operator", "device_put", "asarray"],
)
def test_masked_arrays_are_refused(use):
    for framework in (jax, plugjax):
        with pytest.raises(ValueError, match="masked arrays"):
            use(framework)


def test_a_copy_of_a_masked_array_has_its_data():
    for framework in (jax, plugjax):
        np.testing.assert_array_equal(framework.numpy.array(MASKED), MASKED.data)


@pytest.mark.parametrize("dtype", ["int32", "float32", "bool", "complex64", "uint8"])
def test_the_memory_of_an_array_is_read_as_bytes(dtype):
    values = np.array([[0, 1, 2], [3, 4, 5]]).astype(dtype)
    for j, np_ in ((plugjax, jnp), (jax, jax.numpy)):
        for x in (np_.asarray(values), np_.asarray(values).T, np_.asarray(values[0, 1])):
            # Of an integer without axes Python takes its value for a length.
            assert x.ndim == 0 or bytes(x) == np.asarray(x).tobytes()
            # Python 3.12 asks a class for a buffer; before, only one written in C has it.
            view = memoryview(x) if j is jax or sys.version_info >= (3, 12) else x.__buffer__(0)
            assert (view.shape, view.readonly) == (x.shape, True)
            assert view.tobytes() == np.asarray(x).tobytes()
    with pytest.raises(TypeError):
        memoryview(plugjax.random.key(0))
