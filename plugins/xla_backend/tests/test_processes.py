"""A whole process: which modules load, coexistence with jax, exit."""

import importlib.util
import subprocess
import sys

import pytest

SETUP = """
import sys
import ml_dtypes, numpy as np
from plugjax_xla import pjrt
from plugjax_xla.host_callbacks import HostCallback

F32 = np.dtype('float32')

def call(device):
    text = '''func.func public @main(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
      %0 = stablehlo.add %a, %b : tensor<4xf32>
      %1 = stablehlo.custom_call @xla_ffi_python_cpu_callback(%0) {api_version = 4 : i32,
        backend_config = {index = 0 : ui64}} : (tensor<4xf32>) -> tensor<4xf32>
      return %1 : tensor<4xf32> }'''
    run = device.compile(text, [((4,), F32)], host_callbacks=[HOST], donated=[0])
    return run([device.put(np.ones(4, F32)), device.put(np.ones(4, F32))])[0]

HOST = HostCallback(lambda x: (x * 2,), [((4,), F32)])
"""

OURS = """
device = pjrt.cpu_client().devices[0]
assert device.get(call(device), (4,), F32).tolist() == [4] * 4
"""

EVERYTHING = (
    SETUP
    + OURS
    + """
for dtype in (np.float64, np.complex64, bool, np.int8, ml_dtypes.bfloat16, ml_dtypes.float8_e5m2,
              ml_dtypes.int4, ml_dtypes.uint2, ml_dtypes.float4_e2m1fn):
    array = np.ones((2, 3), dtype)
    assert device.get(device.put(array), (2, 3), array.dtype).tolist() == array.tolist()
bf16 = np.dtype(ml_dtypes.bfloat16)
for name, dtype in (('bf16', bf16), ('i4', np.dtype(ml_dtypes.int4))):
    text = f'''func.func public @main(%a: tensor<3x{name}>) -> tensor<3x{name}> {{
      %0 = stablehlo.add %a, %a : tensor<3x{name}> return %0 : tensor<3x{name}> }}'''
    run = device.compile(text, [((3,), dtype)], options={'xla_backend_optimization_level': 1})
    run = device.deserialize(run.serialize(), [((3,), dtype)])
    results, token = run.call_with_token([device.put(np.ones(3, dtype))])
    pjrt.block_until_ready([*results, token])
    assert device.get(results[0], (3,), dtype).astype(int).tolist() == [2, 2, 2]
    assert pjrt.is_ready(results[0])
    run.cost_analysis(), run.memory_analysis(), run.hlo_text()

def fails(x):
    raise LookupError('mine')

HOST = HostCallback(fails, [((4,), F32)])
try:
    device.get(call(device), (4,), F32)
except LookupError:
    pass
else:
    raise AssertionError('no exception')
for wrong in (np.zeros(2, 'O'),):
    try:
        device.put(wrong)
    except TypeError:
        pass
buffer = device.put(np.ones(3))
capsule = pjrt.to_dlpack(buffer)
pjrt.delete(buffer)
assert pjrt.is_deleted(buffer)
try:
    pjrt.cuda_client()
except pjrt.ClientUnavailable:
    pass
pjrt.cpu_client(num_devices=2)
device.runtime_fingerprint(), device.compile_options_fingerprint({})
assert not [name for name in sys.modules if name.split('.')[0] in ('jax', 'jax_plugins')]
"""
)

JAX = """
import jax, jax.numpy as jnp
assert jax.jit(lambda x: jnp.sin(x) * 2)(jnp.ones(4)).shape == (4,)
assert (jnp.ones(4) + 1).tolist() == [2] * 4
"""

THREADS = """
import threading

failed = []

def work(program):
    try:
        for _ in range(5):
            exec(program, dict(globals()))
    except BaseException as error:
        failed.append(error)

threads = [threading.Thread(target=work, args=(program,)) for program in [OURS, JAX] * 2]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert not failed, failed
"""

needs_jax = pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="jax is absent")


def python(program):
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def test_importing_loads_no_jaxlib():
    python(
        "import sys, plugjax_xla.pjrt, plugjax_xla.host_callbacks;"
        "assert not [m for m in sys.modules if m.startswith('jax')]"
    )


def test_nothing_imports_jax():
    assert python(EVERYTHING) == ""


@needs_jax
def test_beside_jax_ours_first():
    assert python(SETUP + OURS + JAX + OURS + JAX) == ""


@needs_jax
def test_beside_jax_jax_first():
    assert python(JAX + SETUP + OURS + JAX + OURS) == ""


@needs_jax
def test_beside_jax_in_threads():
    python(SETUP + f"OURS, JAX = {OURS!r}, {JAX!r}" + THREADS)


def test_exit_with_work_in_flight():
    program = SETUP + (
        "import time\n"
        "HOST = HostCallback(lambda x: (time.sleep(0.3), (x,))[1], [((4,), F32)])\n"
        "results = [call(pjrt.cpu_client().devices[0]) for _ in range(3)]\n"
    )
    python(program)


def test_exit_with_an_unseen_exception():
    program = SETUP + (
        "def fails(x): raise LookupError('unseen')\n"
        "HOST = HostCallback(fails, [((4,), F32)])\n"
        "try:\n    result = call(pjrt.cpu_client().devices[0])\n"
        "except LookupError: pass\n"
    )
    python(program)


def test_an_unsupported_jaxlib_is_named():
    program = (
        "import jaxlib.version; jaxlib.version.__version__ = '0.9.1'\n"
        "from plugjax_xla import pjrt\n"
        "try: pjrt.cpu_client()\n"
        "except pjrt.ClientUnavailable as error: assert '0.9.1' in str(error), error\n"
        "else: raise AssertionError('accepted')\n"
    )
    python(program)


def test_a_missing_jaxlib_is_named():
    program = (
        "import sys; sys.modules['jaxlib'] = None\n"
        "from plugjax_xla import pjrt\n"
        "try: pjrt.cpu_client()\n"
        "except pjrt.ClientUnavailable as error: assert 'pip install' in str(error), error\n"
        "else: raise AssertionError('accepted')\n"
    )
    python(program)


def test_missing_cuda_says_what_to_install():
    program = (
        "from plugjax_xla import cuda_plugin, pjrt\n"
        "cuda_plugin.find_cuda_plugin = lambda: None\n"
        "try: pjrt.cuda_client()\n"
        "except pjrt.ClientUnavailable as error: assert 'pip install' in str(error), error\n"
        "else: raise AssertionError('accepted')\n"
    )
    python(program)


def test_first_use_from_many_threads_makes_one_client():
    program = (
        "import threading\n"
        "from plugjax_xla import pjrt\n"
        "found = []\n"
        "threads = [threading.Thread(target=lambda: found.append(pjrt.cpu_client()))\n"
        "           for _ in range(8)]\n"
        "[thread.start() for thread in threads]; [thread.join() for thread in threads]\n"
        "assert len(found) == 8 and len(set(found)) == 1\n"
    )
    python(program)
