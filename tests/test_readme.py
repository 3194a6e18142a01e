"""The README's Python blocks run as they stand."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).resolve().parents[1] / "README.md"
BLOCKS = re.findall(r"## ([^\n]+)\n+```python\n(.*?)```", README.read_text(), re.DOTALL)


@pytest.mark.parametrize(("title", "code"), BLOCKS, ids=[title for title, _ in BLOCKS])
def test_block(title, code, tmp_path):
    lines = [line for line in code.splitlines() if line.strip()]
    assert len(lines) <= 16
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=200
    )
    assert done.returncode == 0, done.stderr


def test_all_examples_are_there():
    assert [title for title, _ in BLOCKS] == [
        "A gradient", "Switching the backend", "Several devices", "A primitive of your own", "An embedded module",
    ]  # fmt: skip


def test_the_two_commands_are_found_by_ci():
    script = README.parent / ".ci" / "readme_command.py"
    for name in ("demo", "tests"):
        done = subprocess.run(
            [sys.executable, str(script), name], check=True, capture_output=True, text=True
        )
        assert done.stdout.startswith("python3.11 -m venv .venv && .venv/bin/pip install")
