"""The table of ``docs/site/start/which_backend.md``: small and large work on each backend.

``python -m benchmarks.which_backend`` prints it, with the machine, the versions and the date. Times are the smallest of seven rounds.
"""

from __future__ import annotations

import datetime
import importlib.metadata
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import plugjax
from benchmarks.run import processor
from plugjax import numpy as jnp

BACKENDS = ("numpy", "xla", "iree")
_START = (
    "import time; t = time.perf_counter(); import plugjax, plugjax.numpy as jnp; "
    "plugjax.jit(plugjax.grad(lambda x: jnp.sum(jnp.tanh(x) ** 2)))(jnp.ones(8)).block_until_ready(); "
    "print(time.perf_counter() - t)"
)


def smallest(run: Callable[[], Any], calls: int) -> float:
    """Seconds of a call, the smallest of seven rounds."""
    times = []
    for _ in range(7):
        start = time.perf_counter()
        for _ in range(calls):
            plugjax.block_until_ready(run())
        times.append((time.perf_counter() - start) / calls)
    return min(times)


def first_gradient(backend: str) -> float:
    """Seconds from import to a compiled gradient, in a new process without a cache."""
    environment = {"PLUGJAX_BACKEND": backend, "PLUGJAX_CACHE_DIR": "off", "PLUGJAX_TIERED": "off"}
    found = []
    for _ in range(3):
        done = subprocess.run(
            [sys.executable, "-c", _START],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            check=True,
        )
        found.append(float(done.stdout))
    return min(found)


def rows(backend: str) -> dict[str, float]:
    """Seconds by what is done."""
    with plugjax.default_device(backend):
        small, large = jnp.ones(8), jnp.linspace(0.0, 1.0, 1_000_000)
        matrix = jnp.ones((512, 512)) / 512
        add = plugjax.jit(lambda x: x + 1)
        chain = plugjax.jit(lambda x: jnp.tanh(jnp.sin(x) * x + jnp.exp(-x)))
        product = plugjax.jit(lambda m: m @ m)
        loop = plugjax.jit(lambda x: plugjax.lax.fori_loop(0, 1000, lambda i, x: jnp.sin(x) + 1, x))
        ordered, mixed = plugjax.jit(jnp.sort), jnp.sin(large * 1e5)
        return {
            "import and a first compiled gradient": first_gradient(backend),
            "`x + 1` of 8 numbers, eager": smallest(lambda: small + 1, 2000),
            "`x + 1` of 8 numbers, compiled": smallest(lambda: add(small), 2000),
            "four functions of a million numbers, compiled": smallest(lambda: chain(large), 5),
            "product of two matrices of 512, compiled": smallest(lambda: product(matrix), 10),
            "a loop of 1000 steps on 8 numbers, compiled": smallest(lambda: loop(small), 5),
            "sort of a million numbers, compiled": smallest(lambda: ordered(mixed), 2),
        }


def shown(seconds: float) -> str:
    """A time in words.

    Example:
        >>> shown(0.0000025)
        '2.5 us'
    """
    factor, unit = (1.0, "s") if seconds >= 1 else (1e3, "ms") if seconds >= 1e-3 else (1e6, "us")
    return f"{seconds * factor:.3g} {unit}"


def main() -> None:
    """Print the table in Markdown."""
    found = {backend: rows(backend) for backend in BACKENDS}
    names = ("plugjax", "numpy", "jaxlib", "iree-base-runtime")
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in names)
    date = datetime.datetime.now(datetime.UTC).date().isoformat()
    lines = [
        f"{processor()}; Python {platform.python_version()}, {versions}; {date}; `python -m benchmarks.which_backend`.",
        "",
        f"| work | {' | '.join(BACKENDS)} |",
        "|---|---|---|---|",
    ]
    for name in found["numpy"]:
        times = " | ".join(shown(found[backend][name]) for backend in BACKENDS)
        lines.append(f"| {name} | {times} |")
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
