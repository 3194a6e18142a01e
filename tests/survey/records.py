"""JAX's answers as files: one for each topic, with the version of JAX that gave them."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "recorded"


def write(topic: str, version: str, answers: dict[str, Any]) -> None:
    """Write the answers of a topic's programs."""
    rows = [
        f"  {json.dumps(name)}: {json.dumps(found, separators=(',', ':'))}"
        for name, found in answers.items()
    ]
    FOLDER.mkdir(exist_ok=True)
    head = f'{{"jax": "{version}", "answers": {{\n'
    (FOLDER / f"{topic}.json").write_text(head + ",\n".join(rows) + "\n}}\n")


@functools.cache
def read(topic: str) -> dict[str, Any]:
    """JAX's answers by the names of a topic's programs."""
    return json.loads((FOLDER / f"{topic}.json").read_text())["answers"]
