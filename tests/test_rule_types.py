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


@pytest.fixture(scope="module")
def errors(tmp_path_factory):
    """The errors of mypy in each file: one run over all of them."""
    folder = tmp_path_factory.mktemp("rules")
    for shape, cases in (("right", RIGHT), ("wrong", WRONG)):
        for kind, (signature, result) in cases.items():
            text = PROGRAM.format(kind=kind, signature=signature, result=result)
            (folder / f"{shape}_{kind}.py").write_text(text)
    paths = sorted(folder.glob("*.py"))
    run = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(ROOT / ".mypy_cache"), *map(str, paths)],
        capture_output=True, text=True, cwd=ROOT, timeout=280, check=False,
    )  # fmt: skip
    assert "checked " + str(len(paths)) in run.stdout, run.stdout + run.stderr
    lines = [line for line in run.stdout.splitlines() if ": error:" in line]
    return {path.stem: [line for line in lines if path.name in line] for path in paths}


@pytest.mark.parametrize("kind", RIGHT)
def test_a_rule_of_the_right_shape_passes(errors, kind):
    assert errors[f"right_{kind}"] == []


@pytest.mark.parametrize("kind", WRONG)
def test_a_rule_of_the_wrong_shape_is_found(errors, kind):
    assert errors[f"wrong_{kind}"]
