"""The programs over eight devices compute what one device computes."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.meshes.launching import launch

FOLDER = Path(__file__).resolve().parents[2] / "examples/several_devices"
# Float32: sums over devices are taken in another order than over one array.
TOLERANCE = 2e-5


@pytest.mark.spread(8)
@pytest.mark.parametrize("program", sorted(p.stem for p in FOLDER.glob("*.py")))
def test_same_as_on_one_device(program, backend):
    environment = {**os.environ, "PLUGJAX_BACKEND": backend}
    environment.pop("XLA_FLAGS", None)
    command = [sys.executable, "-W", "error", str(FOLDER / f"{program}.py")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
    apart = re.search(r"^largest difference: (\S+)$", done.stdout, re.MULTILINE)
    assert float(apart[1]) < TOLERANCE
    accuracies = re.findall(r"^accuracy .*: (\S+) %$", done.stdout, re.MULTILINE)
    if program == "data_parallel":
        one, several = map(float, accuracies)
        assert one > 95
        # One image of 360.
        assert abs(one - several) < 0.3


@pytest.mark.spread(4)
@pytest.mark.parametrize("program", sorted(p.stem for p in FOLDER.glob("*.py")))
def test_in_two_processes(program):
    lines, done = launch(FOLDER / f"{program}.py", "-n", "2", "--devices", "4")
    assert done.returncode == 0, done.stdout
    # Each process has all results.
    assert lines[0] == lines[1]
    (apart,) = re.findall(r"^largest difference: (\S+)$", "\n".join(lines[0]), re.MULTILINE)
    assert float(apart) < TOLERANCE
