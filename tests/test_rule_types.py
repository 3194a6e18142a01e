"""Rule kinds are typed: mypy finds a rule of the wrong shape."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = """
from collections.abc import Sequence
from typing import Any

from plugjax.extend import (
    Axis, Primitive, RuleSet, batching_rule, jvp_rule, lowering, transpose_rule,
)

rules, p = RuleSet(__name__), Primitive("p")


@rules.define({kind}, p)
def rule({signature}) -> {result}:
    raise NotImplementedError
"""
RIGHT = {
    "jvp_rule": (
        "primals: Sequence[Any], tangents: Sequence[Any], *, axis: int",
        "tuple[Any, Any]",
    ),
    "batching_rule": (
        "axis: Axis, args: Sequence[Any], dims: Sequence[int | None], *, size: int",
        "tuple[Any, int | None]",
    ),
    "transpose_rule": ("cotangent: Any, x: Any, y: Any, *, axis: int", "list[Any]"),
    "lowering": ("ctx: Any, x: Any, *, axis: int", "Any"),
}
WRONG = {
    "jvp_rule": ("primals: Sequence[Any], *, axis: int", "tuple[Any, Any]"),
    "batching_rule": ("args: Sequence[Any], dims: Sequence[int | None]", "tuple[Any, Any]"),
    "transpose_rule": ("cotangent: Any, x: Any", "int"),
    "lowering": ("*, axis: int", "Any"),
}


def errors(tmp_path, kind, signature, result):
    path = tmp_path / "rule_of_an_author.py"
    path.write_text(PROGRAM.format(kind=kind, signature=signature, result=result))
    run = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(ROOT / ".mypy_cache"), str(path)],
        capture_output=True, text=True, cwd=ROOT, timeout=280, check=False,
    )  # fmt: skip
    return [
        line
        for line in run.stdout.splitlines()
        if "rule_of_an_author.py" in line and "error" in line
    ]


@pytest.mark.parametrize("kind", RIGHT)
def test_a_rule_of_the_right_shape_passes(tmp_path, kind):
    assert errors(tmp_path, kind, *RIGHT[kind]) == []


@pytest.mark.parametrize("kind", WRONG)
def test_a_rule_of_the_wrong_shape_is_found(tmp_path, kind):
    assert errors(tmp_path, kind, *WRONG[kind])
