"""The process that draws and runs programs. Requests and answers are lines of JSON.

A program may crash it; `Worker`, the other end, then starts another process.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import resource
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from plugjax.extend import registry
from plugjax.testing.fuzz.draw import draw_program
from plugjax.testing.fuzz.outcome import ORACLE_FAILED, Outcome, examine, names_of_primitives
from plugjax.testing.fuzz.program import Program
from plugjax.testing.fuzz.run import on_numpy
from plugjax.testing.fuzz.values import literals

START_SECONDS = 60
MEMORY = 12 << 30
# A process is replaced after this many requests, because compilers do not free all memory.
REQUESTS = 400
# A line before the answer: the backend is done, the oracle begins.
PHASE = b"\n"
# No wrong or refused program is repaired on the way.
_ENVIRONMENT = {
    "PLUGJAX_CACHE_DIR": "off",
    "PLUGJAX_VERIFY": "off",
    "PLUGJAX_FALLBACK": "error",
    "JAX_PLATFORMS": "cpu",
}


class DiedError(Exception):
    """The process ended, or was ended, during a request."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.outcome = Outcome(kind, text)


class Worker:
    """A process for programs, started on first use.

    Args:
        plugins: modules with hook implementations that the process loads besides the installed plugins.
        seconds: limit for one request.
    """

    def __init__(self, plugins: Sequence[str] = (), seconds: float = 60) -> None:
        self.plugins, self.seconds = list(plugins), seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._requests = 0

    def _start(self) -> subprocess.Popen[bytes]:
        self._said = tempfile.TemporaryFile()  # noqa: SIM115  It lives as long as the process.
        environment = {**os.environ, **_ENVIRONMENT}
        self._process = subprocess.Popen(
            [sys.executable, "-X", "faulthandler", "-m", __name__, *self.plugins],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            env=environment,
        )
        self._requests = 0
        self._answer(self._process, START_SECONDS)
        return self._process

    def ask(self, **request: Any) -> dict[str, Any]:
        """Send a request and wait for its answer.

        Raises:
            DiedError: the process crashed or did not answer in time; the next request starts another.
        """
        if self._requests >= REQUESTS:
            self.close()
        process = self._process or self._start()
        self._requests += 1
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
        return self._answer(process, self.seconds)

    def _answer(self, process: subprocess.Popen[bytes], seconds: float) -> dict[str, Any]:
        assert process.stdout is not None
        text, end = b"", time.monotonic() + seconds
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while True:
                if not selector.select(max(0.0, end - time.monotonic())):
                    self.close()
                    raise DiedError(
                        ORACLE_FAILED if text else "hang", f"no answer within {seconds:g} s"
                    )
                part = os.read(process.stdout.fileno(), 1 << 16)
                if not part:
                    raise self._dead(process, in_oracle=bool(text))
                text += part
                if text.endswith(b"\n") and text != PHASE:
                    break
        answer: dict[str, Any] = json.loads(text.splitlines()[-1])
        return answer

    def _dead(self, process: subprocess.Popen[bytes], in_oracle: bool) -> DiedError:
        code = process.wait()
        self._said.seek(0)
        said = self._said.read().decode(errors="replace").strip().splitlines()
        self.close()
        how = signal.Signals(-code).name if code < 0 else f"exit status {code}"
        memory = any("MemoryError" in s or "bad_alloc" in s or "out of memory" in s for s in said)
        kind = "memory" if memory else "crash"
        return DiedError(ORACLE_FAILED if in_oracle else kind, "\n".join([f"{how}:", *said[-12:]]))

    def draw(self, seed: int, number: int, **options: Any) -> Program:
        """Have a program drawn by the process, with the options of `draw_program`."""
        answer = self.ask(do="draw", seed=seed, number=number, options=options)
        return Program.from_json(answer["program"])

    def examine(self, program: Program, backend: str, oracle: str) -> Outcome:
        """Have a program run and judged by the process; its death is an outcome too."""
        try:
            answer = self.ask(do="examine", program=program.to_json(), backend=backend, oracle=oracle)  # fmt: skip
        except DiedError as error:
            return self._named(error.outcome, program)
        return Outcome.from_json(answer["outcome"])

    def _named(self, outcome: Outcome, program: Program) -> Outcome:
        """The outcome with the program's primitives, which the dead process could not report."""
        with contextlib.suppress(DiedError):
            names = self.ask(do="primitives", program=program.to_json())["primitives"]
            return replace(outcome, primitives=tuple(names))
        return outcome

    def values(self, program: Program) -> dict[int, list[str]]:
        """The oracle's values outside bodies, as literals; empty if it fails."""
        with contextlib.suppress(DiedError):
            answer = self.ask(do="values", program=program.to_json())
            return {int(k): v for k, v in answer["values"].items()}
        return {}

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout, self._said):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()


def _values(program: Program) -> dict[int, list[str]]:
    found = {}
    numbers = [r for step in program.steps for r in step.results]
    try:
        arrays = on_numpy(replace(program, results=numbers, transforms=("forward",))).arrays
    except Exception:
        return {}
    for number, array in zip(numbers, arrays, strict=True):
        found[number] = literals(array)
    return found


def _reply(request: dict[str, Any], phase: Callable[[str], object]) -> dict[str, Any]:
    if request["do"] == "draw":
        drawn = draw_program(request["seed"], request["number"], **request["options"])
        return {"program": drawn.to_json()}
    program = Program.from_json(request["program"])
    if request["do"] == "values":
        return {"values": _values(program)}
    if request["do"] == "primitives":
        return {"primitives": names_of_primitives(program)}
    return {"outcome": examine(program, request["backend"], request["oracle"], phase).to_json()}


def main(plugins: Sequence[str]) -> None:
    """Answer requests until the input ends."""
    out = os.dup(1)
    # Prints of compilers must not mix with the answers.
    os.dup2(2, 1)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for name in plugins:
        registry.active().load(importlib.import_module(name))
    os.write(out, b"{}\n")
    for line in sys.stdin.buffer:
        answer = (
            json.dumps(_reply(json.loads(line), lambda name: os.write(out, PHASE))).encode() + b"\n"
        )
        while answer:
            answer = answer[os.write(out, answer) :]


if __name__ == "__main__":
    main(sys.argv[1:])
