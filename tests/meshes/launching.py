"""Programs in several processes on this machine, on XLA's runtime."""

import os
import re
import subprocess
import sys
import textwrap

HEAD = """
import os, signal
import numpy as np
import plugjax as jax, plugjax.numpy as jnp
from plugjax import lax
from plugjax.experimental import multihost_utils as hosts
jax.distributed.initialize(heartbeat_timeout_seconds=10)
me, P = jax.process_index(), jax.P
mesh = jax.make_mesh((jax.device_count(),), ("x",), axis_types=(jax.sharding.AxisType.Auto,))
rows = jax.NamedSharding(mesh, P("x"))
x = jax.make_array_from_callback((8,), rows, lambda i: np.arange(8.0, dtype="f4")[i])
"""

# What the collectives library prints, by several threads into each other's lines.
GLOO = re.compile(r"\[Gloo\]|connected peer ranks|^\[\d+\] (ranks\.|: \d+)?\s*$")


def script(tmp_path, *bodies):
    path = tmp_path / "program.py"
    path.write_text(HEAD + "".join(map(textwrap.dedent, bodies)))
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
