"""Draw and examine many programs in worker processes, and shrink the failing ones."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from plugjax.testing.fuzz.outcome import Outcome
from plugjax.testing.fuzz.program import Program
from plugjax.testing.fuzz.shrink import shrink
from plugjax.testing.fuzz.worker import DiedError, Worker


@dataclass(frozen=True)
class Finding:
    """A program that was examined.

    Args:
        number: number under the seed.
        program: the program, shrunk if it failed; it has ``outcome``.
        repeats: whether it failed again in a second run.
    """

    number: int
    program: Program | None
    outcome: Outcome
    repeats: bool = True


@dataclass
class Campaign:
    """Which programs to examine, and how.

    Args:
        backend: name of the backend under test.
        oracle: ``numpy``, or the name of a module with JAX's names.
        seconds: limit for one program; ``shrink_seconds``: for shrinking one; 0 means no shrinking.
        steps: least and largest number of steps; ``transformed``: with gradient and batch, as `draw_program` says.
        until: monotonic time after which no program is begun.
    """

    backend: str
    seed: int = 0
    oracle: str = "numpy"
    workers: int = 2
    seconds: float = 60
    shrink_seconds: float = 120
    x64: bool = False
    steps: tuple[int, int] = (3, 12)
    transformed: bool = False
    plugins: Sequence[str] = ()
    until: float = float("inf")
    counts: Counter[str] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)

    def run(
        self, numbers: Sequence[int], report: Callable[[Finding], None] = lambda f: None
    ) -> list[Finding]:
        """Examine the programs of these numbers; ``report`` gets each at once. Those that failed are returned in order."""
        supply, lock = iter(numbers), threading.Lock()
        errors: list[BaseException] = []

        def work() -> None:
            worker = Worker(self.plugins, self.seconds)
            try:
                for number in _shared(supply, lock):
                    if time.monotonic() > self.until or errors:
                        return
                    finding = self._examine(worker, number)
                    with lock:
                        self.counts[finding.outcome.kind] += 1
                        if finding.outcome.is_fault:
                            self.findings.append(finding)
                        report(finding)
            except BaseException as error:
                errors.append(error)
            finally:
                worker.close()

        threads = [threading.Thread(target=work, daemon=True) for _ in range(self.workers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if errors:
            raise errors[0]
        return sorted(self.findings, key=lambda f: f.number)

    def _examine(self, worker: Worker, number: int) -> Finding:
        try:
            program = worker.draw(
                self.seed,
                number,
                x64=self.x64,
                steps=self.steps,
                transformed=self.transformed,
            )
        except DiedError as error:
            return Finding(number, None, error.outcome)
        outcome = worker.examine(program, self.backend, self.oracle)
        if not outcome.is_fault or not self.shrink_seconds:
            return Finding(number, program, outcome)
        return self._shrink(worker, number, program, outcome)

    def _shrink(self, worker: Worker, number: int, program: Program, outcome: Outcome) -> Finding:
        latest = {program.to_json(): outcome}

        def fails(candidate: Program) -> bool:
            found = worker.examine(candidate, self.backend, self.oracle)
            latest[candidate.to_json()] = found
            return alike(found, outcome)

        again = worker.examine(program, self.backend, self.oracle)
        if not alike(again, outcome):
            return Finding(number, program, outcome, repeats=False)
        small = shrink(program, fails, worker.values, seconds=self.shrink_seconds)
        return Finding(number, small, latest[small.to_json()])

    def groups(self) -> dict[str, list[Finding]]:
        """Findings by signature, the largest group first."""
        by_signature: dict[str, list[Finding]] = {}
        for finding in sorted(self.findings, key=lambda f: f.number):
            by_signature.setdefault(finding.outcome.signature, []).append(finding)
        return dict(sorted(by_signature.items(), key=lambda item: -len(item[1])))


def alike(a: Outcome, b: Outcome) -> bool:
    """Whether two outcomes are the same kind of fault."""
    heads = [(x.kind, x.text.split(":")[0] if x.kind in ("refused", "accepted", "crash") else "") for x in (a, b)]  # fmt: skip
    return heads[0] == heads[1]


def _shared(supply: Iterator[int], lock: threading.Lock) -> Iterator[int]:
    while True:
        with lock:
            number = next(supply, None)
        if number is None:
            return
        yield number
