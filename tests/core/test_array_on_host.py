"""What arrays say of their memory, and devices by their hardware, as JAX has them."""

import ctypes
import gc
import pickle

import jax
import jax.numpy
import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp


def test_memory(on_backend):
    x = jnp.arange(3.0)
    assert x.copy_to_host_async() is None
    assert x.is_ready()
    assert x.on_device_size_in_bytes() == 12
    assert bytes(x) == np.arange(3, dtype=np.float32).tobytes()
    values = (ctypes.c_float * 3).from_address(x.unsafe_buffer_pointer())
    assert list(values) == [0, 1, 2]
    y = plugjax.jit(lambda v: v + 1)(x)
    plugjax.copy_to_host_async({"y": y})
    np.testing.assert_array_equal(y.block_until_ready(), [1, 2, 3])
    assert y.is_ready()
    y.delete()
    with pytest.raises(RuntimeError, match="deleted"):
        y.is_ready()
    with pytest.raises(RuntimeError, match="deleted"):
        y.copy_to_host_async()


@pytest.mark.parametrize("dtype", ["int8", "int32", "float16", "float32", "complex64"])
def test_byteswap(dtype):
    x = np.arange(1, 5).astype(dtype)
    np.testing.assert_array_equal(
        np.asarray(jnp.asarray(x).byteswap()).tobytes(), x.byteswap().tobytes()
    )
    assert jax.numpy.asarray(x).byteswap().dtype == jnp.asarray(x).byteswap().dtype


def test_containment():
    for m in (jnp, jax.numpy):
        assert 1.0 in m.arange(3.0)
        assert 7.0 not in m.arange(3.0)
        with pytest.raises(ValueError, match="must be one-dimensional"):
            1.0 in m.ones((2, 2))  # noqa: B015


@pytest.mark.parametrize("impl", ["threefry2x32", "rbg", "philox2x32"])
def test_keys_are_pickled(impl):
    keys = plugjax.random.split(plugjax.random.key(3, impl=impl), 3)
    for k in (keys, keys[0]):
        again = pickle.loads(pickle.dumps(k))
        assert again.dtype is k.dtype
        np.testing.assert_array_equal(plugjax.random.bits(again.ravel()[0], (3,)), plugjax.random.bits(k.ravel()[0], (3,)))  # fmt: skip


def test_live_arrays():
    gc.collect()
    before = len(plugjax.live_arrays())
    x = jnp.arange(3.0)
    assert any(y is x for y in plugjax.live_arrays())
    x.delete()
    assert len(plugjax.live_arrays()) <= before


def test_devices_by_hardware():
    device = plugjax.devices("cpu")[0]
    assert device.platform == jax.devices("cpu")[0].platform == "cpu"
    assert device.memory_stats() is jax.devices("cpu")[0].memory_stats() is None
    assert plugjax.local_devices(backend="cpu") == plugjax.devices("cpu")
    assert plugjax.device_count("cpu") == plugjax.local_device_count("cpu") == 1
    assert plugjax.devices("numpy")[0].platform == "cpu"
    assert plugjax.jit(lambda x: x + 1, backend="cpu")(1) == 2
    for m in (plugjax, jax):
        with pytest.raises(RuntimeError, match="Unknown backend"):
            m.devices("gpu")


def test_structs():
    for m, n in ((plugjax, jnp), (jax, jax.numpy)):
        struct = m.ShapeDtypeStruct.like(n.ones(2))
        assert struct == m.ShapeDtypeStruct((2,), "float32")
        x = m.device_put(n.ones(2), m.devices()[0])
        assert m.ShapeDtypeStruct.like(x).sharding == x.sharding
        changed = struct.update(shape=(3,), weak_type=True)
        assert (changed.shape, changed.dtype, changed.weak_type) == ((3,), np.float32, True)
