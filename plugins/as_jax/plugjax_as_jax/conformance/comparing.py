"""Files of tests in a process of their own, and what two runs of them have in common."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from plugjax_as_jax.conformance.sampling import common_name

PASSED, SKIPPED = "passed", "skipped"


@dataclass(frozen=True)
class Options:
    """How tests are run.

    Attributes:
        root: the folder to run them in: of the source distribution, or the one with the packages.
        every: run every n-th test.
        timeout: seconds that one test may take; a file as a whole may take ten times as long.
        variables: of the environment.
    """

    root: Path
    every: int = 1
    timeout: float = 60.0
    variables: Mapping[str, str] = field(default_factory=dict)


def run_files(paths: Sequence[Path], side: str, options: Options) -> dict[str, str]:
    """Run the tests of files in one process; in one each, if that process dies.

    Args:
        paths: of the files.
        side: ``jax`` for the real jax, or a backend of plugjax.
        options: how they are run.

    Returns:
        For each test ``passed``, ``skipped``, or the message of its failure.
    """
    plugins = ["-p", "plugjax_as_jax.conformance.sampling", "-p", "no:cacheprovider"]
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "TF_CPP_MIN_LOG_LEVEL": "3"}
    environment.update(options.variables)
    if side != "jax":
        plugins += ["-p", "plugjax_as_jax"]
        environment["PLUGJAX_BACKEND"] = side
    seconds = 10 * options.timeout * len(paths)
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        arguments = ["-q", f"--junitxml={report}", f"--timeout={options.timeout:.0f}"]
        arguments += ["--every", str(options.every), "--continue-on-collection-errors"]
        arguments += [f"--rootdir={options.root}", f"--confcutdir={options.root}"]
        # The plugin above has been imported when pytest looks for asserts in it.
        arguments += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
        if not (options.root / "pyproject.toml").exists():
            # No configuration of its own, and not that of a project around it.
            (Path(folder) / "pytest.ini").write_text("[pytest]\n")
            arguments += ["-c", str(Path(folder) / "pytest.ini")]
        try:
            done = subprocess.run(
                [sys.executable, "-m", "pytest", *plugins, *arguments, *map(str, paths)],
                env=environment,
                cwd=options.root,
                capture_output=True,
                text=True,
                timeout=seconds,
                check=False,
            )
            last = (done.stdout + done.stderr).strip().splitlines()[-1:]
            fault = f"exit status {done.returncode}: {''.join(last)}"
        except subprocess.TimeoutExpired:
            fault = f"took more than {seconds:.0f} s"
        if report.exists():
            return read_report(report.read_text())
    if len(paths) > 1:
        alone = [run_files([path], side, options) for path in paths]
        return {name: outcome for found in alone for name, outcome in found.items()}
    return {path.name: fault for path in paths}


def read_report(text: str) -> dict[str, str]:
    """The outcome of each test in a report that pytest wrote."""
    found = {}
    for case in ElementTree.fromstring(text).iter("testcase"):
        name = common_name(f"{case.get('classname')}.{case.get('name')}")
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
