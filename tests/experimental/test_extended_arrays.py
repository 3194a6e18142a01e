"""``EArray`` against JAX: arrays of extended dtypes by JAX's class of them."""

import importlib

import jax
import numpy as np
import pytest

import plugjax
from plugjax.extend.dtypes import ExtendedDType

DATA = np.array([1, 2, 3], np.int8)


@pytest.fixture(params=["jax", "numpy", "xla", "iree"])
def framework(request):
    if request.param == "jax":
        importlib.import_module("jax.experimental")
        yield jax
    else:
        importlib.import_module("plugjax.experimental")
        importlib.import_module("plugjax.core")
        with plugjax.default_device(request.param):
            yield plugjax


unlike_jax = pytest.mark.parametrize("framework", ["numpy", "xla", "iree"], indirect=True)


@pytest.fixture
def q8(framework):
    return framework.experimental.primal_tangent_dtype("int8", "float32", name="q8")


@pytest.fixture
def x(framework, q8):
    aval = framework.core.ShapedArray(DATA.shape, q8)
    return framework.experimental.EArray(aval, framework.numpy.asarray(DATA))


def test_which_values_are_of_the_class(framework, x):
    kind = framework.experimental.EArray
    assert isinstance(x, kind)
    assert isinstance(x, framework.Array)
    assert issubclass(kind, framework.Array)
    for other in (framework.numpy.ones(2), framework.random.key(0), DATA, 1.0):
        assert not isinstance(other, kind)
    seen = []
    framework.eval_shape(lambda x: seen.append(isinstance(x, kind)), x)
    assert seen == [False]


def test_what_such_an_array_says(framework, x, q8):
    assert (x.shape, x.dtype, x.ndim, x.size, len(x)) == ((3,), q8, 1, 3, 3)
    assert str(x.aval) == "q8[3]"
    assert framework.typeof(x) == x.aval
    assert x.sharding == framework.numpy.asarray(DATA).sharding
    assert (x.committed, x.is_fully_addressable, x.is_fully_replicated) == (False, True, True)
    assert x.block_until_ready().devices() == framework.numpy.asarray(DATA).devices()
    assert isinstance(x.copy(), framework.experimental.EArray)


def test_functions_and_trees_of_such_arrays(framework, x, q8):
    kind, back = (
        framework.experimental.EArray,
        lambda x: framework.lax.convert_element_type(x, np.int8),
    )
    for f in (back, framework.jit(back), framework.vmap(back), framework.jit(framework.vmap(back))):
        found = f(x)
        assert (found.dtype, np.asarray(found).tolist()) == (np.int8, [1, 2, 3])
    (leaf,) = framework.tree.leaves({"x": x})
    assert leaf is x
    assert isinstance(framework.vmap(lambda x: x)(x), kind)
    assert isinstance(framework.lax.scan(lambda c, x: (c, x), 0, x)[1], kind)
    struct = framework.eval_shape(lambda x: {"y": x}, x)["y"]
    assert (struct.shape, struct.dtype) == ((3,), q8)
    assert str(framework.make_jaxpr(lambda x: x)(x)).strip() == "{ lambda ; a:q8[3]. let  in (a,) }"


@unlike_jax
def test_jitted_functions_give_such_arrays(framework, x, q8):
    kind = framework.experimental.EArray
    for f in (lambda x: x, lambda x: x[::-1], lambda x: framework.numpy.concatenate([x, x])):
        found = framework.jit(f)(x)
        assert isinstance(found, kind)
        assert found.dtype == q8
    assert "[3 2 1]" in repr(framework.jit(lambda x: x[::-1])(x))
    # JAX has no result of such a dtype.
    real = jax.experimental.primal_tangent_dtype("int8", "float32")
    with pytest.raises(AttributeError):
        jax.jit(lambda x: jax.lax.convert_element_type(x, real))(DATA)


@unlike_jax
def test_memory_is_shared_and_its_place_kept(framework, q8):
    data = framework.device_put(DATA, framework.devices()[0])
    x = framework.experimental.EArray(framework.ShapeDtypeStruct((3,), q8), data)
    assert x.committed
    mesh = framework.sharding.Mesh(np.array(framework.devices()[:1]), ("x",))
    spread = framework.device_put(DATA, framework.NamedSharding(mesh, framework.P("x")))
    made = framework.experimental.EArray(framework.ShapeDtypeStruct((3,), q8), spread)
    assert made.sharding == spread.sharding
    x.delete()
    assert framework.lax.convert_element_type(made, "int8").tolist() == [1, 2, 3]


class Pair(ExtendedDType):
    """Two numbers, stored along a last axis."""

    name, storage_dtype, storage_shape = "pair", np.dtype(np.float32), (2,)


@unlike_jax
def test_elements_of_several_numbers(framework):
    aval = framework.ShapeDtypeStruct((3,), Pair())
    devices = np.array(framework.devices()[:1], object).reshape(1, 1)
    mesh = framework.sharding.Mesh(devices, ("x", "y"))
    values = np.arange(6, dtype=np.float32).reshape(3, 2)
    for spec in (framework.P("x"), framework.P("x", None)):
        data = framework.device_put(values, framework.NamedSharding(mesh, spec))
        found = framework.jit(lambda x: x[1:])(framework.experimental.EArray(aval, data))
        assert isinstance(found, framework.experimental.EArray)
        assert repr(found) == "Array((2,), dtype=pair) overlaying:\n[[2. 3.]\n [4. 5.]]"


@unlike_jax
def test_keys_over_their_words(framework):
    key = framework.random.key(3)
    words = framework.random.key_data(key)
    found = framework.experimental.EArray(key.aval, words)
    assert float(framework.random.uniform(found)) == float(framework.random.uniform(key))
    assert not isinstance(found, framework.experimental.EArray)
    real = jax.experimental.EArray(jax.random.key(3).aval, np.asarray(words))
    assert float(jax.random.uniform(real)) == pytest.approx(float(framework.random.uniform(found)))


@unlike_jax
def test_what_is_refused(framework, q8):
    aval, make = framework.ShapeDtypeStruct((3,), q8), framework.experimental.EArray
    with pytest.raises(ValueError, match=r"q8\[3\] is stored as int8\[3\], got data float32\[3\]"):
        make(aval, np.ones(3, np.float32))
    with pytest.raises(ValueError, match=r"got data int8\[2\]"):
        make(aval, DATA[:2])
    with pytest.raises(TypeError, match="not of an extended dtype"):
        make(framework.ShapeDtypeStruct((3,), np.int8), DATA)
    with pytest.raises(TypeError, match="convert_element_type"):
        framework.jit(lambda data: make(aval, data))(DATA)
