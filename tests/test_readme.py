"""The README's Python blocks run as they stand."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).resolve().parents[1] / "README.md"
# Python blocks by the heading above them, each with the command behind it, if there is one.
BLOCKS = [
    (section.partition("\n")[0].strip("# "), code, command)
    for section in README.read_text().split("\n## ")
    for code, command in re.findall(r"```python\n(.*?)```\n+(?:```sh\n(.*?)```)?", section, re.DOTALL)
]  # fmt: skip


@pytest.mark.parametrize(("title", "code", "command"), BLOCKS, ids=[b[0] for b in BLOCKS])
def test_block(title, code, command, tmp_path):
    lines = [line for line in code.splitlines() if line.strip()]
    assert len(lines) <= 16
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=200
    )
    assert done.returncode == 0, done.stderr
    if command:
        tools = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        done = subprocess.run(
            ["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True,
            timeout=200, env={**os.environ, "PATH": tools},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr


def test_every_python_block_is_run():
    assert README.read_text().count("```python") == len(BLOCKS)


def test_all_examples_are_there():
    assert [title for title, _, _ in BLOCKS] == [
        "plugjax", "A gradient", "Switching the backend", "Several devices", "A primitive of your own", "An embedded module",
    ]  # fmt: skip


def test_the_two_commands_are_found_by_ci():
    script = README.parent / ".ci" / "readme_command.py"
    for name in ("demo", "tests"):
        done = subprocess.run(
            [sys.executable, str(script), name], check=True, capture_output=True, text=True
        )
        assert done.stdout.startswith("python3.11 -m venv .venv && .venv/bin/pip install")
