"""Compiling in a fresh Python process.

A forked process has the memory of XLA's threads but not the threads, and its compiler would wait for them forever. A
fresh process on the same machine compiles; the forked process loads the result.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

_WORKER = "plugjax_xla.compile_worker"


class RefusedError(Exception):
    """XLA refused the module or an option; the message is XLA's."""


def compile_elsewhere(module: bytes, options: Mapping[str, str | bool | int]) -> bytes:
    """The machine code of a module, as `PjrtExecutable.serialize` gives it, for the first processor.

    Args:
        module: MLIR bytecode.
        options: XLA debug flags by name.

    Raises:
        RefusedError: XLA refuses the module or an option, or the process died.
    """
    with tempfile.TemporaryDirectory(prefix="plugjax-xla-") as folder:
        answer = Path(folder, "answer")
        worker = subprocess.run(
            [sys.executable, "-P", "-m", _WORKER, str(answer), json.dumps(dict(options))],
            input=module,
            capture_output=True,
            check=False,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
        )
        status, _, content = (answer.read_bytes() if answer.exists() else b"").partition(b"\n")
    if status == b"code":
        return content
    if status == b"refused":
        raise RefusedError(content.decode())
    said = worker.stderr.decode("utf-8", "replace").strip().splitlines()
    raise RefusedError(
        f"the compiling process ended with status {worker.returncode}"
        + (f": {said[-1]}" if said else "")
    )
