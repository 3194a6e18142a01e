"""One file of tests in a process of its own, and what two runs of it have in common."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

PASSED, SKIPPED = "passed", "skipped"


def run_file(path: Path, side: str, every: int, timeout: float) -> dict[str, str]:
    """Run the tests of a file.

    Args:
        path: of the file.
        side: ``jax`` for the real jax, or a backend of plugjax.
        every: run every n-th test.
        timeout: seconds that one test may take; the file as a whole may take ten times as long.

    Returns:
        For each test ``passed``, ``skipped``, or the message of its failure.
    """
    plugins = ["-p", "plugjax_as_jax.conformance.sampling", "-p", "no:cacheprovider"]
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "TF_CPP_MIN_LOG_LEVEL": "3"}
    if side != "jax":
        plugins += ["-p", "plugjax_as_jax"]
        environment["PLUGJAX_BACKEND"] = side
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        options = ["--every", str(every), f"--junitxml={report}", "-q", f"--timeout={timeout:.0f}"]
        try:
            done = subprocess.run(
                [sys.executable, "-m", "pytest", *plugins, *options, str(path)],
                env=environment,
                capture_output=True,
                text=True,
                timeout=10 * timeout,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return {path.name: f"the file took more than {10 * timeout:.0f} s"}
        if not report.exists():
            # The process died, or its tests could not be collected.
            said = (done.stdout + done.stderr).strip().splitlines()
            return {path.name: f"exit status {done.returncode}: {said[-1] if said else ''}"}
        return read_report(report.read_text())


def read_report(text: str) -> dict[str, str]:
    """The outcome of each test in a report that pytest wrote."""
    found = {}
    for case in ElementTree.fromstring(text).iter("testcase"):
        name = f"{case.get('classname')}.{case.get('name')}"
        failures = [child for child in case if child.tag in ("failure", "error")]
        if failures:
            found[name] = " ".join(failures[0].get("message", "failed").split())[:300]
        else:
            found[name] = SKIPPED if any(child.tag == "skipped" for child in case) else PASSED
    return found


@dataclass(frozen=True)
class Comparison:
    """What passes with the real jax, and of that what passes here.

    Attributes:
        wanted: names of the tests that pass with the real jax.
        failures: of these, the ones that do not pass here, with what they say.
        broken: how many tests do not pass with the real jax either.
    """

    wanted: Sequence[str]
    failures: dict[str, str]
    broken: int

    @property
    def passed(self) -> int:
        """How many pass on both sides."""
        return len(self.wanted) - len(self.failures)

    @property
    def share(self) -> float:
        """The part of the wanted tests that pass; 1 if none is wanted."""
        return self.passed / len(self.wanted) if self.wanted else 1.0


def compare(real: dict[str, str], here: dict[str, str]) -> Comparison:
    """Compare the outcomes of two runs."""
    wanted = sorted(name for name, outcome in real.items() if outcome == PASSED)
    whole = next(
        (text for name, text in here.items() if name not in real and text not in (PASSED, SKIPPED)),
        "",
    )
    failures = {
        name: here.get(name, whole or "not run")
        for name in wanted
        if here.get(name) not in (PASSED, SKIPPED)
    }
    broken = sum(outcome not in (PASSED, SKIPPED) for outcome in real.values())
    return Comparison(wanted, failures, broken)
