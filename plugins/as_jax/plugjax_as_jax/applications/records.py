"""What applications give with the real jax: numbers, the tolerance, and the versions that they were made with."""

from __future__ import annotations

import importlib.metadata
import json
import math
from pathlib import Path
from typing import Any

from plugjax_as_jax.libraries import LIBRARIES

DATA = Path(__file__).parent / "data"


def write(name: str, answer: dict[str, Any]) -> None:
    """Record an answer of the real jax."""
    versions = {}
    for library in ("jax", *LIBRARIES):
        try:
            versions[library] = importlib.metadata.version(library)
        except importlib.metadata.PackageNotFoundError:
            continue
    record = {k: answer[k] for k in ("tolerance", "numbers")} | {"versions": versions}
    (DATA / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n")


def read(name: str) -> dict[str, Any]:
    """The record of an application."""
    record: dict[str, Any] = json.loads((DATA / f"{name}.json").read_text())
    return record


def difference(name: str, numbers: dict[str, Any]) -> str:
    """The first number that is not the recorded one within the tolerance, in words; empty if there is none.

    A number differs by its tolerance relative to the larger one of it and 1.
    """
    record = read(name)
    tolerance, wanted = record["tolerance"], record["numbers"]
    if numbers.keys() != wanted.keys():
        return f"other names of numbers: {sorted(numbers.keys() ^ wanted.keys())}"
    for key, expected in wanted.items():
        found, expected = _listed(numbers[key]), _listed(expected)
        if len(found) != len(expected):
            return f"{key}: {len(found)} numbers, not {len(expected)}"
        for i, (x, y) in enumerate(zip(found, expected, strict=True)):
            if not math.isclose(x, y, rel_tol=tolerance, abs_tol=tolerance):
                return f"{key}[{i}]: {x!r}, with the real jax {y!r}"
    return ""


def _listed(value: Any) -> list[float]:
    return value if isinstance(value, list) else [value]
