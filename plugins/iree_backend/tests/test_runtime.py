import gc
import os
import subprocess
import sys
import textwrap
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import ml_dtypes
import numpy as np
import pytest

from plugjax.core.errors import JaxRuntimeError
from plugjax_iree.runtime import (
    ALIGNMENT,
    DTYPES,
    DeviceError,
    aligned_empty,
    available_devices,
    available_drivers,
    open_device,
)

LOCAL = ("local-sync", "local-task")


@pytest.fixture(params=LOCAL)
def device(request):
    return open_device(request.param)


def sample(shape, dtype):
    size = int(np.prod(shape))
    return (np.arange(size) % 2).astype(dtype).reshape(shape)


def address(array):
    return array.__array_interface__["data"][0]


@pytest.mark.parametrize("shape", [(3, 2), (), (0, 3), (5,)], ids=str)
@pytest.mark.parametrize("dtype", sorted(DTYPES, key=str), ids=str)
def test_every_dtype_comes_back(device, dtype, shape):
    x = sample(shape, dtype)
    view = device.put(x)
    back = device.get(view, dtype, shape)
    assert back.dtype == dtype
    assert back.shape == shape
    assert back.tobytes() == x.tobytes()
    # The path of devices whose memory the host does not see.
    staged = np.ndarray(shape, dtype, device._staging.get(view.get_buffer()))
    assert staged.tobytes() == x.tobytes()


@pytest.mark.spread(2)
@pytest.mark.parametrize(
    "dtype", [np.bool_, np.int8, np.uint32, np.float16, ml_dtypes.bfloat16, np.complex64, np.uint64]
)
def test_every_kind_of_dtype_passes_through_compiled_code(device, compiled, dtype):
    names = {"bool": "i1", "int8": "i8", "uint32": "ui32", "float16": "f16", "bfloat16": "bf16"}
    names |= {"complex64": "complex<f32>", "uint64": "ui64"}
    t = f"tensor<2x3x{names[np.dtype(dtype).name]}>"
    # IREE adds i1 as integers modulo 2, against the specification (logical or).
    double = "or" if dtype is np.bool_ else "add"
    vmfb = compiled(
        f"""module @m {{
  func.func public @main(%x: {t}) -> ({t}, {t}) {{
    %0 = stablehlo.{double} %x, %x : {t}
    return %0, %x : {t}, {t}
  }}
}}"""
    )
    x = sample((2, 3), dtype)
    twice, same = device.load(vmfb).function("main")([device.put(x)])
    np.testing.assert_array_equal(device.get(same, x.dtype, x.shape), x)
    np.testing.assert_array_equal(device.get(twice, x.dtype, x.shape), x + x)


@pytest.mark.parametrize(
    "x",
    [
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.arange(12.0)[::-2],
        np.broadcast_to(np.float32(3), (2, 2)),
        np.arange(3, dtype=">i4"),
        np.arange(6.0).reshape(2, 3).T,
    ],
    ids=["fortran", "negative stride", "broadcast", "big endian", "transposed"],
)
def test_any_layout_is_copied_in_order(device, x):
    back = device.get(device.put(x), x.dtype.newbyteorder("="), x.shape)
    np.testing.assert_array_equal(back, x)


def test_dtype_without_buffers_is_refused(device):
    with pytest.raises(TypeError, match="no buffers of dtype int4"):
        device.put(np.zeros(3, ml_dtypes.int4))
    with pytest.raises(TypeError, match="no buffers of dtype str"):
        device.put(np.array(["a"]))


def test_put_copies_unless_owned(device):
    x = aligned_empty((4,), np.dtype(np.float32))
    x[:] = 1
    copied, taken = device.put(x), device.put(x, owned=True)
    x[:] = 2
    assert device.get(copied, x.dtype, x.shape).tolist() == [1] * 4
    assert device.get(taken, x.dtype, x.shape).tolist() == [2] * 4
    assert address(device.get(taken, x.dtype, x.shape)) == address(x)


@pytest.mark.parametrize("offset", [4, 16, 32])
def test_unaligned_memory_is_never_taken_over(device, add_module, offset):
    raw = aligned_empty((128,), np.dtype(np.uint8))
    x = raw[offset : offset + 32].view(np.float32)
    x[:] = np.arange(8)
    view = device.put(x, owned=True)
    assert address(device.get(view, x.dtype, x.shape)) % ALIGNMENT == 0
    (result,) = device.load(add_module).function("main")([view, view])
    np.testing.assert_array_equal(device.get(result, x.dtype, x.shape), x + x)


def test_read_only_memory_is_never_taken_over(device):
    x = aligned_empty((4,), np.dtype(np.float32))
    x.setflags(write=False)
    assert address(device.get(device.put(x, owned=True), x.dtype, x.shape)) != address(x)


def test_taken_memory_outlives_its_array(device):
    x = aligned_empty((1 << 16,), np.dtype(np.float32))
    x[:] = 7
    view = device.put(x, owned=True)
    del x
    gc.collect()
    assert device.get(view, np.dtype(np.float32), (1 << 16,)).sum() == 7 * (1 << 16)


def test_arrays_from_get_are_read_only_and_outlive_the_buffer(device):
    back = device.get(device.put(np.arange(4.0)), np.dtype(float), (4,))
    gc.collect()
    assert back.tolist() == [0, 1, 2, 3]
    with pytest.raises(ValueError, match="read-only"):
        back[0] = 1


def test_devices_are_interned():
    assert open_device("local-sync") is open_device("local-sync")
    assert open_device("local-sync") is not open_device("local-task")


def test_unknown_and_absent_devices():
    with pytest.raises(DeviceError, match="unknown driver in device 'tpu'"):
        open_device("tpu")
    absent = {"vulkan", "cuda", "hip"} - set(available_drivers())
    for driver in absent:
        with pytest.raises(DeviceError, match=f"cannot open device '{driver}'"):
            open_device(driver)
        assert available_devices(driver) == ()
    assert available_drivers()[:2] == LOCAL
    assert available_devices("nonsense") == ()


def test_functions_by_name(device, add_module):
    loaded = device.load(add_module)
    assert loaded.function_names == ("main",)
    assert loaded.function("main") is loaded.function("main")
    with pytest.raises(KeyError, match="no function 'other'; it has: main"):
        loaded.function("other")


def test_bad_arguments_raise(device, add_module):
    main = device.load(add_module).function("main")
    x = device.put(np.zeros(8, np.float32))
    with pytest.raises(JaxRuntimeError, match="expected 2 arguments but passed 1"):
        main([x])
    with pytest.raises(JaxRuntimeError, match="expected 8 but have 9"):
        main([x, device.put(np.zeros(9, np.float32))])
    with pytest.raises(JaxRuntimeError, match="element type mismatch"):
        main([x, device.put(np.zeros(8, np.int32))])


def test_bad_modules_raise(device):
    with pytest.raises(ValueError, match="INVALID_ARGUMENT"):
        device.load(b"no module")


def test_closed_module_refuses_and_its_results_stay(device, add_module):
    loaded = device.load(add_module)
    main = loaded.function("main")
    x = device.put(np.ones(8, np.float32))
    (result,) = main([x, x])
    loaded.close()
    with pytest.raises(RuntimeError, match="was closed"):
        main([x, x])
    assert device.get(result, np.dtype(np.float32), (8,)).tolist() == [2] * 8


def test_donated_argument_becomes_the_result(device, compiled):
    vmfb = compiled(
        """module @m {
  func.func public @main(%x: tensor<1024xf32> {tf.aliasing_output = 0 : i32})
      -> tensor<1024xf32> {
    %0 = stablehlo.add %x, %x : tensor<1024xf32>
    return %0 : tensor<1024xf32>
  }
}"""
    )
    x = device.put(np.ones(1024, np.float32))
    before = address(device.get(x, np.dtype(np.float32), (1024,)))
    (result,) = device.load(vmfb).function("main")([x])
    after = device.get(result, np.dtype(np.float32), (1024,))
    assert address(after) == before
    assert after[0] == 2


def test_one_function_from_many_threads(device, add_module):
    main = device.load(add_module).function("main")

    def work(seed):
        x = np.full(8, seed, np.float32)
        for _ in range(50):
            (result,) = main([device.put(x)] * 2)
            assert (device.get(result, x.dtype, x.shape) == 2 * seed).all()
        return threading.get_ident()

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, range(8)))


PRELUDE = """
    import os, signal, sys
    import numpy as np
    from plugjax_iree.runtime import DeviceError, available_drivers, open_device
    vmfb = open(sys.argv[1], "rb").read()
    x = np.arange(8, dtype=np.float32)
    def run(device):
        main = device.load(vmfb).function("main")
        result, = main([device.put(x)] * 2)
        return main, result, device.get(result, x.dtype, x.shape)
"""


@pytest.fixture
def in_new_process(add_module, tmp_path):
    saved = tmp_path / "add.vmfb"
    saved.write_bytes(add_module)
    folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

    def run(program):
        return subprocess.run(
            [sys.executable, "-c", textwrap.dedent(PRELUDE + program), str(saved)],
            capture_output=True,
            text=True,
            timeout=60,
            env={**os.environ, "PYTHONPATH": folder},
            check=False,
        )

    return run


@pytest.mark.parametrize("kept", ["run(d)", "run(d)[1]", "run(d)[2]", "(d, run(d)[0])"])
def test_the_interpreter_ends_cleanly_with_everything_alive(in_new_process, kept):
    done = in_new_process(f"""
    available_drivers()
    alive = []
    alive.append(alive)
    for d in map(open_device, ("local-task", "local-sync")):
        alive.append({kept})
    print("done")
    """)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


def test_forked_child_uses_local_sync_and_is_refused_local_task(in_new_process):
    done = in_new_process("""
    sync, task = open_device("local-sync"), open_device("local-task")
    alive = run(sync), run(task)
    main, _, _ = alive[1]
    operand = task.put(x)
    def refused(action, *arguments):
        try:
            action(*arguments)
        except DeviceError as error:
            return "forked" in str(error)
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        assert (run(sync)[2] == 2 * x).all()
        assert refused(main, [operand, operand])
        assert refused(run, task)
        assert refused(task.put, x)
        assert refused(open_device, "local-task")
        assert (alive[1][2] == 2 * x).all()
        sys.exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert (run(task)[2] == 2 * x).all()
    print("done")
    """)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


def test_forked_child_may_open_local_task_first(in_new_process):
    done = in_new_process("""
    available_drivers()
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        assert (run(open_device("local-task"))[2] == 2 * x).all()
        sys.exit(0)
    assert os.waitpid(child, 0)[1] == 0
    """)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_dropped_module_is_freed_with_its_last_function(device, add_module):
    loaded = device.load(add_module)
    main, gone = loaded.function("main"), weakref.ref(loaded)
    del loaded
    x = device.put(np.ones(8, np.float32))
    assert len(main([x, x])) == 1
    del main
    assert gone() is None


def test_a_buffer_keeps_the_memory_that_it_took_over():
    device = open_device("local-sync")
    array = aligned_empty((1 << 16,), np.float32)
    array[:] = 7
    view = device.put(array, owned=True)
    assert device.get(view, array.dtype, array.shape).ctypes.data == array.ctypes.data
    del array
    junk = [np.full(1 << 16, i, np.float32) for i in range(50)]
    np.testing.assert_array_equal(device.get(view, np.dtype("f4"), (1 << 16,)), np.full(1 << 16, 7))
    assert len(junk) == 50
