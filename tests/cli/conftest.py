"""The command line, as a user types it."""

import os
import subprocess
import sys

import pytest


def run(*arguments, code=0, **environment):
    """What ``plugjax ARGUMENTS`` prints on both streams; its exit status must be ``code``."""
    done = subprocess.run(
        [sys.executable, "-m", "plugjax", *arguments],
        env={**os.environ, "COLUMNS": "200", "TERM": "dumb", **environment},
        capture_output=True, text=True, timeout=280, check=False,
    )  # fmt: skip
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture
def plugjax():
    """The command."""
    return run
