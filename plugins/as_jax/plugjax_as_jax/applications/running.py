"""One application in a process of its own, with the real jax or with plugjax."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plugjax_as_jax.applications.marks import ANSWER

FOLDER = Path(__file__).parent
# Modules of this package that are no applications have names of one word.
NAMES = sorted(path.stem for path in FOLDER.glob("[a-z0-9]*_*.py"))


@dataclass(frozen=True)
class Outcome:
    """How an application ended.

    Attributes:
        seconds: from the start of the process to its end.
        answer: what it printed: ``numbers``, ``tolerance``, ``times``; ``None`` if it failed.
        fault: why it failed, in one line.
    """

    seconds: float
    answer: dict[str, Any] | None
    fault: str = ""


def names_of(given: Sequence[str] | None) -> list[str]:
    """The names of applications, all of them if none is given.

    Raises:
        ValueError: there is no application of a name.
    """
    unknown = [name for name in given or () if name not in NAMES]
    if unknown:
        raise ValueError(f"no application {', '.join(unknown)}. There are: {', '.join(NAMES)}.")
    return list(given or NAMES)


def run(name: str, backend: str, timeout: float, **environment: str) -> Outcome:
    """Run an application.

    Args:
        name: of the application.
        backend: ``jax`` for the real jax, or a backend of plugjax.
        timeout: seconds after which it is ended.
        **environment: variables of its environment.
    """
    way = [] if backend == "jax" else ["-m", "plugjax_as_jax"]
    module = ["-m", f"plugjax_as_jax.applications.{name}"]
    started = time.time()
    try:
        done = subprocess.run(
            [sys.executable, *way, *module],
            env={
                **os.environ,
                "JAX_PLATFORMS": "cpu",
                "TF_CPP_MIN_LOG_LEVEL": "3",
                "PLUGJAX_AS_JAX_STARTED": str(started),
                **({} if backend == "jax" else {"PLUGJAX_BACKEND": backend}),
                **environment,
            },
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Outcome(timeout, None, f"took more than {timeout:.0f} s")
    seconds = time.time() - started
    for line in done.stdout.splitlines():
        if line.startswith(ANSWER):
            return Outcome(seconds, json.loads(line.removeprefix(ANSWER)))
    if done.returncode < 0:
        return Outcome(seconds, None, f"killed by signal {-done.returncode}")
    said = [
        line
        for line in done.stderr.splitlines()
        if line and not line.startswith((" ", "Frames of"))
    ]
    return Outcome(seconds, None, said[-1][:300] if said else f"exit status {done.returncode}")
