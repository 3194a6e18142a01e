"""Rows of the op table compiled for hardware that is not there, in another process.

A compiler may end the process that it runs in; another one then goes on with the next program. `plugjax.docs.compiled_ahead` writes the
table.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from plugjax.cli.hardware import parse_hardware
from plugjax.extend.errors import UnknownBackendError
from plugjax.testing import OPS
from plugjax.testing.ahead import programs, refusal

START_SECONDS, ROW_SECONDS = 60.0, 900.0
_BY_NAME = {op.name: op for op in OPS}


@dataclass(frozen=True)
class Outcome:
    """What became of a program of a row.

    Attributes:
        row: name of the row.
        program: ``"value"`` or ``"gradient"``.
        because: why it does not compile; empty if it does.
    """

    row: str
    program: str
    because: str = ""


def outcomes(target: str, rows: Sequence[str]) -> Iterator[Outcome]:
    """What becomes of rows on hardware, row by row.

    Args:
        target: hardware, as ``plugjax compile --for`` takes it.
        rows: names of rows.

    Raises:
        UnknownBackendError: nothing here compiles for it.
    """
    with contextlib.closing(_Compiler(target)) as compiler:
        for row in rows:
            yield from compiler.row(row)


class _Compiler:
    """A process that compiles rows for hardware, started on first use."""

    def __init__(self, target: str) -> None:
        self._target = target
        self._process: subprocess.Popen[bytes] | None = None

    def row(self, name: str) -> Iterator[Outcome]:
        """The outcomes of a row: of its value, then of its gradient if it has one."""
        op = _BY_NAME[name]
        for program in ("value", "gradient") if op.order and op.reverse else ("value",):
            process = self._process or self._start()
            assert process.stdin is not None
            process.stdin.write(json.dumps([name, program]).encode() + b"\n")
            process.stdin.flush()
            yield Outcome(name, program, self._answer(process, ROW_SECONDS))

    def _start(self) -> subprocess.Popen[bytes]:
        self._said = tempfile.TemporaryFile()  # noqa: SIM115  It lives as long as the process.
        process = self._process = subprocess.Popen(
            [sys.executable, "-m", "plugjax.docs.compile_only", self._target],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            env={**os.environ, "PLUGJAX_CACHE_DIR": "off", "PLUGJAX_BACKEND": "numpy"},
        )
        if because := self._answer(process, START_SECONDS):
            self.close()
            raise UnknownBackendError(because)
        return process

    def _answer(self, process: subprocess.Popen[bytes], seconds: float) -> str:
        assert process.stdout is not None
        text, end = b"", time.monotonic() + seconds
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while not text.endswith(b"\n"):
                if not selector.select(max(0.0, end - time.monotonic())):
                    self.close()
                    return f"the compiler does not end within {seconds:g} s"
                part = os.read(process.stdout.fileno(), 1 << 16)
                if not part:
                    return self._death(process)
                text += part
        because: str = json.loads(text)
        return because

    def _death(self, process: subprocess.Popen[bytes]) -> str:
        code = process.wait()
        self._said.seek(0)
        said = self._said.read().decode(errors="replace").splitlines()
        fatal = next((line for line in said if line.startswith(("F0", "F1", "LLVM ERROR"))), "")
        self.close()
        how = signal.Signals(-code).name if code < 0 else f"exit status {code}"
        return f"the compiler ends its process: {how} {fatal}".strip()

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()
            self._said.close()


def _work(target: str) -> None:
    """Answer requests on stdin with lines on stdout until stdin ends."""
    # What compilers write to stdout goes to stderr.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def answer(because: str) -> None:
        answers.write(json.dumps(because) + "\n")
        answers.flush()

    try:
        device = parse_hardware(target).devices()[0]
    except Exception as error:
        answer(str(error))
        return
    answer("")
    for line in sys.stdin:
        row, name = json.loads(line)
        answer(_refusal(row, name, device))


def _refusal(row: str, name: str, device: Any) -> str:
    try:
        (program,) = (each for each in programs(_BY_NAME[row]) if each.name == name)
        return refusal(program, device)
    except Exception as error:
        return f"not traced: {type(error).__name__}: {error}"


if __name__ == "__main__":
    _work(sys.argv[1])
