"""Many calls leave nothing behind: memory of finished calls is freed."""

import os
import subprocess
import sys

import pytest

CALLS = 100_000
# Half of a leak of 60 bytes a call; the allocator itself keeps less than a tenth of this.
ALLOWED = 3_000_000

PROGRAM = """
import gc
import sys
import numpy as np
import plugjax
import plugjax.numpy as jnp

f = plugjax.jit(lambda x: x + 1)
x = plugjax.device_put(np.arange(8, dtype=np.float32))
donating = plugjax.jit(lambda x: x + 1, donate_argnums=0)
y = f(x)
host = np.arange(8, dtype=np.float32)
state = [f(x)]

def donated():
    state[0] = donating(state[0])


ACTIONS = {
    "call": lambda: f(x),
    "call_of_a_host_array": lambda: f(host),
    "block_until_ready": lambda: y.block_until_ready(),
    "call_and_wait": lambda: f(x).block_until_ready(),
    "asarray": lambda: np.asarray(f(x)),
    "eager": lambda: x + 1,
    "put": lambda: plugjax.device_put(host).block_until_ready(),
    "donated": donated,
}

def resident():
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096

act, calls = ACTIONS[sys.argv[1]], int(sys.argv[2])
for _ in range(calls // 10):
    act()
before = resident()
for _ in range(calls):
    act()
print(resident() - before)
"""

pytestmark = pytest.mark.skipif(
    not os.path.exists("/proc/self/statm"), reason="resident memory is read from /proc"
)


@pytest.mark.parametrize(
    "action",
    [
        "call", "call_of_a_host_array", "block_until_ready", "call_and_wait", "asarray", "eager", "put", "donated",
    ],
)  # fmt: skip
@pytest.mark.spread(8)
@pytest.mark.parametrize("machine", ["numpy", "xla", "iree"])
def test_calls_leave_no_memory_behind(machine, action):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, action, str(CALLS)],
        env={**os.environ, "PLUGJAX_BACKEND": machine},
        capture_output=True, text=True, timeout=250, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < ALLOWED
