"""Running a script with eight devices in a process of its own."""

import os
import subprocess
import sys
import textwrap

HEAD = """
import numpy as np
import plugjax as jax, plugjax.numpy as jnp
from plugjax import lax
jax.config.update("jax_num_cpu_devices", 8)
P = jax.P
mesh = jax.make_mesh((4, 2), ("x", "y"), axis_types=(jax.sharding.AxisType.Auto,) * 2)
"""


def run(backend, script):
    """What a script prints."""
    environment = {**os.environ, "PLUGJAX_BACKEND": backend}
    environment.pop("XLA_FLAGS", None)
    done = subprocess.run(
        [sys.executable, "-c", HEAD + textwrap.dedent(script)],
        capture_output=True,
        text=True,
        env=environment,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
