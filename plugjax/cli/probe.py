"""One small program on one device, in a separate process, because drivers hang and crash.

``python -m plugjax.cli.probe iree:local:0`` prints the device's answer and exits with 0 if it is right.
"""

from __future__ import annotations

import subprocess
import sys

import numpy as np

import plugjax
import plugjax.numpy as jnp
from plugjax.extend.backend import device

SECONDS = 60


def probe(name: str, seconds: float = SECONDS) -> str:
    """Run the program on the device called ``name``; returns "" if the answer is right, else the error."""
    command = [sys.executable, "-W", "ignore", "-m", "plugjax.cli.probe", name]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=seconds, check=False, errors="replace"
        )
    except subprocess.TimeoutExpired:
        return f"no answer within {seconds:g} s"
    if done.returncode == 0:
        return ""
    if done.returncode < 0:
        return f"the process was ended by signal {-done.returncode}"
    said = (done.stdout.strip() or done.stderr.strip()).splitlines()
    return said[-1] if said else f"the process ended with {done.returncode}"


def main(name: str) -> int:
    """Command line."""
    plugjax.config.update("enable_compilation_cache", False)  # Compiling is part of the test.
    x = np.arange(24, dtype=np.float32).reshape(4, 6)
    target = device(name)

    def program(x: plugjax.Array) -> tuple[plugjax.Array, plugjax.Array]:
        return jnp.sum(x * 0.5 + 1, axis=0), jnp.sqrt(x @ x.T)

    expected = [np.sum(x * np.float32(0.5) + 1, axis=0), np.sqrt(x @ x.T)]
    found = plugjax.jit(program, device=target)(jnp.asarray(x))
    for a, b in zip(found, expected, strict=True):
        if not np.allclose(np.asarray(a), b, rtol=1e-3):
            print(f"a wrong result: {np.asarray(a).tolist()} instead of {b.tolist()}")  # noqa: T201  (its answer)
            return 1
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1]))
    except Exception as error:
        print(f"{type(error).__name__}: {error}".splitlines()[0])  # noqa: T201  (its answer)
        sys.exit(1)
