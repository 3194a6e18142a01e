"""Programs whose ``jax`` is plugjax run in processes of their own: this one has the real jax as an oracle."""

import json
import os
import subprocess
import sys
import textwrap

import pytest


def python(*arguments, code=0, cwd=None, **environment):
    """Run Python; what it printed."""
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        env={**os.environ, **environment},
        cwd=cwd, capture_output=True, text=True, timeout=200, check=False,
    )  # fmt: skip
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout if not code else done.stdout + done.stderr


@pytest.fixture
def run(tmp_path):
    """Run a program under the alias, after ``install``; it calls ``tell(value)`` once, and that is the answer."""

    def call(program, **environment):
        lines = [
            "import json, plugjax_as_jax",
            "plugjax_as_jax.install()",
            "def tell(value): print('answer', json.dumps(value))",
            textwrap.dedent(program),
        ]
        out = python("-c", "\n".join(lines), cwd=tmp_path, **environment)
        return json.loads(out.rpartition("answer ")[2])

    return call
