import gc

import ml_dtypes
import numpy as np
import pytest

from plugjax_xla import pjrt

NUMPY_DTYPES = [
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "float32", "float64", "complex64", "complex128",
]  # fmt: skip

EXTENDED_DTYPES = [
    "bfloat16", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn",
    "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "float4_e2m1fn",
    "int2", "int4", "uint2", "uint4",
]  # fmt: skip

MLIR_TYPES = {
    "bool": "i1", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64",
    "uint8": "ui8", "uint16": "ui16", "uint32": "ui32", "uint64": "ui64",
    "float16": "f16", "float32": "f32", "float64": "f64",
    "complex64": "complex<f32>", "complex128": "complex<f64>",
    "bfloat16": "bf16", "float8_e3m4": "f8E3M4", "float8_e4m3": "f8E4M3",
    "float8_e4m3b11fnuz": "f8E4M3B11FNUZ", "float8_e4m3fn": "f8E4M3FN",
    "float8_e4m3fnuz": "f8E4M3FNUZ", "float8_e5m2": "f8E5M2", "float8_e5m2fnuz": "f8E5M2FNUZ",
    "float8_e8m0fnu": "f8E8M0FNU", "float4_e2m1fn": "f4E2M1FN",
    "int2": "i2", "int4": "i4", "uint2": "ui2", "uint4": "ui4",
}  # fmt: skip


def dtype_of(name):
    return np.dtype(getattr(ml_dtypes, name, None) or name)


def sample(name, shape):
    dtype = dtype_of(name)
    count = int(np.prod(shape))
    signed = not name.startswith("u") and name not in ("bool", "float8_e8m0fnu")
    values = np.arange(count) % 2 + 1 if not signed else np.arange(count) % 3 - 1
    return values.reshape(shape).astype(dtype)


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (5,), (3, 4), (2, 3, 5)])
@pytest.mark.parametrize("name", NUMPY_DTYPES + EXTENDED_DTYPES)
def test_round_trip(device, name, shape):
    array = sample(name, shape)
    for owned in (False, True):
        back = device.get(device.put(array, owned=owned), shape, array.dtype)
        assert same(back, array)
        assert not back.flags.writeable


@pytest.mark.parametrize("shape", [(), (0,), (5,), (3, 4)])
@pytest.mark.parametrize("name", NUMPY_DTYPES + EXTENDED_DTYPES)
def test_result_of_compiled_code(device, name, shape):
    array = sample(name, shape)
    dims = "".join(f"{size}x" for size in shape)
    tensor = f"tensor<{dims}{MLIR_TYPES[name]}>"
    # An optimization barrier makes every operand a separate result.
    executable = device.compile(
        f"func.func public @main(%a: {tensor}) -> {tensor} {{"
        f" %0 = stablehlo.optimization_barrier %a : {tensor} return %0 : {tensor} }}",
        [(shape, array.dtype)],
    )
    (result,) = executable([device.put(array)])
    assert same(device.get(result, shape, array.dtype), array)


@pytest.mark.parametrize("name", ["float32", "complex128", "bool", "bfloat16", "int4"])
@pytest.mark.parametrize(
    "arrange",
    [
        np.asfortranarray,
        lambda x: x.T,
        lambda x: x[::2, ::-1],
        lambda x: x[1:, 2:],
        lambda x: np.broadcast_to(x[0], (3, 4)),
    ],
    ids=["fortran", "transposed", "strided", "offset", "broadcast"],
)
def test_any_strides(device, name, arrange):
    array = arrange(sample(name, (4, 4)))
    back = device.get(device.put(array), array.shape, array.dtype)
    assert same(back, np.array(array, order="C"))


@pytest.mark.parametrize("code", [">f4", ">i8", ">c16", ">u2"])
def test_foreign_byte_order_keeps_the_value(device, code):
    array = np.arange(5).astype(code)
    native = array.dtype.newbyteorder("=")
    assert np.array_equal(device.get(device.put(array), (5,), native), array)


@pytest.mark.parametrize("code", ["O", "S3", "U2", "M8[s]", "g", "V4"])
def test_dtypes_that_xla_lacks(device, code):
    with pytest.raises(TypeError, match="XLA has no dtype"):
        device.put(np.zeros(3, code))


def test_numpy_scalar(device):
    assert device.get(device.put(np.float32(2.5)), (), np.dtype("float32"))[()] == 2.5


def aligned(count):
    raw = np.zeros(count * 4 + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + count * 4].view(np.float32)


def test_put_copies_unless_owned(device):
    array = aligned(1000)
    copied, shared = device.put(array), device.put(array, owned=True)
    array[0] = 7
    assert device.get(copied, (1000,), array.dtype)[0] == 0
    assert device.get(shared, (1000,), array.dtype)[0] == 7


@pytest.mark.parametrize("name", ["float32", "bfloat16", "int4"])
def test_host_view_outlives_its_buffer(device, name):
    array = sample(name, (1000,))
    buffer = device.put(array)
    view = device.get(buffer, (1000,), array.dtype)
    pjrt.delete(buffer)
    assert pjrt.is_deleted(buffer)
    del buffer
    gc.collect()
    noise = [device.put(sample(name, (1000,))[::-1]) for _ in range(5)]
    assert same(view, array)
    assert len(noise) == 5


class Exported:
    def __init__(self, capsule):
        self.capsule = capsule

    def __dlpack__(self, **_):
        return self.capsule

    def __dlpack_device__(self):
        return (1, 0)


def test_delete_under_a_live_dlpack_export(device):
    buffer = device.put(np.arange(4.0))
    exported = np.from_dlpack(Exported(pjrt.to_dlpack(buffer)))
    unread = pjrt.to_dlpack(buffer)
    pjrt.delete(buffer)
    assert pjrt.is_deleted(buffer)
    assert exported.tolist() == [0, 1, 2, 3]
    assert unread is not None


def test_deleted_buffer(device):
    buffer = device.put(np.arange(4.0))
    assert not pjrt.is_deleted(buffer)
    pjrt.delete(buffer)
    pjrt.delete(buffer)
    assert pjrt.is_deleted(buffer)
    with pytest.raises(RuntimeError, match="deleted"):
        device.get(buffer, (4,), np.dtype("float64"))


def test_ready(device):
    buffer = device.put(np.arange(4.0))
    pjrt.block_until_ready([buffer])
    assert pjrt.is_ready(buffer)


def test_clients_and_devices_are_interned():
    two = pjrt.cpu_client(num_devices=2)
    assert two is pjrt.cpu_client(num_devices=2)
    assert two is not pjrt.cpu_client()
    assert [device.id for device in two.devices] == [0, 1]
    assert two.devices[1].platform == "cpu"
