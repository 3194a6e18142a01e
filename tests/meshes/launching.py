"""Programs in several processes on this machine, on XLA's runtime."""

import os
import re
import subprocess
import sys
import textwrap

from plugjax.distributed import free_port

HEAD = """
import os, signal
import numpy as np
import plugjax as jax, plugjax.numpy as jnp
from plugjax import lax
from plugjax.experimental import multihost_utils as hosts
jax.distributed.initialize(heartbeat_timeout_seconds=int(os.environ.get("HEARTBEAT", 10)))
me, P = jax.process_index(), jax.P
mesh = jax.make_mesh((jax.device_count(),), ("x",), axis_types=(jax.sharding.AxisType.Auto,))
rows = jax.NamedSharding(mesh, P("x"))
x = jax.make_array_from_callback((8,), rows, lambda i: np.arange(8.0, dtype="f4")[i])
"""

# The same processes under JAX, for `apart`.
JAX_HEAD = """
import os, signal
import numpy as np
import jax, jax.numpy as jnp
from jax.experimental import multihost_utils as hosts
jax.distributed.initialize(
    os.environ["PLUGJAX_COORDINATOR_ADDRESS"], int(os.environ["PLUGJAX_NUM_PROCESSES"]), int(os.environ["PLUGJAX_PROCESS_ID"]),
    heartbeat_timeout_seconds=int(os.environ.get("HEARTBEAT", 10)))
me, P = jax.process_index(), jax.P
"""

# What the collectives library prints, by several threads into each other's lines.
GLOO = re.compile(r"\[Gloo\]|connected peer ranks|^\[\d+\] (ranks\.|: \d+)?\s*$")


def script(tmp_path, *bodies, head=HEAD):
    path = tmp_path / "program.py"
    path.write_text(head + "".join(map(textwrap.dedent, bodies)))
    return path


def launch(path, *options):
    """Lines by process, and the exit status."""
    environment = {k: v for k, v in os.environ.items() if k not in ("XLA_FLAGS", "PLUGJAX_BACKEND")}
    done = subprocess.run(
        [sys.executable, "-m", "plugjax", "launch", *options, str(path)],
        capture_output=True,
        text=True,
        env=environment,
        timeout=150,
    )
    lines = {}
    for line in done.stdout.splitlines():
        found = re.match(r"\[(\d+)\] (.*)", line)
        if found and not GLOO.search(line):
            lines.setdefault(int(found[1]), []).append(found[2])
    return lines, done


def apart(path, count, **environment):
    """Exit status, pid and lines of each process; none of them ends another one."""
    environment = {
        **os.environ,
        "PLUGJAX_BACKEND": "xla",
        "PLUGJAX_COORDINATOR_ADDRESS": f"127.0.0.1:{free_port()}",
        "PLUGJAX_NUM_PROCESSES": str(count),
        **environment,
    }
    environment.pop("XLA_FLAGS", None)
    started = [
        subprocess.Popen(
            [sys.executable, str(path)],
            env={**environment, "PLUGJAX_PROCESS_ID": str(index)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for index in range(count)
    ]
    try:
        said = [process.communicate(timeout=120)[0].splitlines() for process in started]
    finally:
        for process in started:
            process.kill()
            process.wait()
            process.stdout.close()
    return [
        (process.returncode, process.pid, [line for line in lines if not GLOO.search(line)])
        for process, lines in zip(started, said, strict=True)
    ]
