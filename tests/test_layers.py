"""What stands above `plugjax.extend` imports from below it only through it."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BELOW = (
    "plugjax.core",
    "plugjax.meshes",
    "plugjax.transforms",
    "plugjax.calls",
    "plugjax.execution",
)
ABOVE = (
    "plugjax/lax",
    "plugjax/stablehlo",
    "plugjax/numpy",
    "plugjax/random",
    "plugjax/scipy",
    "plugjax/nn",
    "plugjax/guard",
    "plugjax/debug",
    "plugjax/visualize",
    "plugjax/testing",
    "plugjax/interpreters",
    "plugjax/export",
    "plugjax/ffi",
    "plugjax/cli",
    "plugins/numpy_backend/plugjax_numpy",
    "plugins/xla_backend/plugjax_xla",
    "plugins/iree_backend/plugjax_iree",
    "plugins/as_jax/plugjax_as_jax",
)


def imported(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def below(name):
    return any(name == package or name.startswith(f"{package}.") for package in BELOW)


@pytest.mark.parametrize("folder", ABOVE)
def test_imports_from_below_go_through_extend(folder):
    files = sorted((ROOT / folder).rglob("*.py"))
    past = [f"{p.relative_to(ROOT)}: {name}" for p in files for name in imported(p) if below(name)]
    assert files
    assert past == []


def test_the_surface_imports_only_from_below():
    files = sorted((ROOT / "plugjax/extend").rglob("*.py"))
    names = {name for p in files for name in imported(p) if name.startswith("plugjax.")}
    assert names
    assert [n for n in sorted(names) if not below(n) and not n.startswith("plugjax.extend.")] == []


def test_the_core_is_read_in_an_evening():
    lines = sum(p.read_text().count("\n") for p in (ROOT / "plugjax/core").rglob("*.py"))
    assert lines <= 4500
