"""The public names of the installed JAX, for ``plugjax/cli/data/jax_names.json``.

``python tests/cli/jax_names.py`` writes the file. A name is public if it is an attribute of a public module without a
leading underscore, not a module, and readable without an error. In the modules outside of the goal, which are read as text,
a name is public if it is defined there, imported under its own name (``import x as x``), or in ``__all__``.
"""

from __future__ import annotations

import ast
import importlib
import json
import pkgutil
import types
import warnings
from pathlib import Path

import jax

FILE = Path(__file__).parents[2] / "plugjax" / "cli" / "data" / "jax_names.json"
ROOTS = (
    "numpy", "numpy.linalg", "numpy.fft", "lax", "lax.linalg", "random", "nn", "nn.initializers", "scipy", "ops", "tree",
    "tree_util", "dtypes", "flatten_util", "image",
)  # fmt: skip


def namespaces() -> list[str]:
    """The namespaces of the parity goal; those below ``scipy`` are discovered."""
    found = [name for name in ROOTS if name != "scipy"]
    scipy = importlib.import_module("jax.scipy")
    below = (m.name for m in pkgutil.walk_packages(scipy.__path__, "jax.scipy."))
    found += [name.removeprefix("jax.") for name in below if "._" not in name]
    return sorted(found)


def names(namespace: str) -> list[str]:
    """Public names of one namespace."""
    module = importlib.import_module(f"jax.{namespace}")
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in dir(module):
            if name.startswith("_"):
                continue
            try:
                value = getattr(module, name)
            except AttributeError:  # Removed names that exist only for their error message.
                continue
            if not isinstance(value, types.ModuleType) and name != "annotations":
                found.append(name)
    return sorted(found)


def others() -> dict[str, list[str]]:
    """Public names of all other public modules, by module; ``jax`` itself is the empty string."""
    root = Path(jax.__file__).parent
    found = {}
    for file in sorted(root.rglob("*.py")):
        parts = file.relative_to(root).with_suffix("").parts
        parts = parts[:-1] if parts[-1] == "__init__" else parts
        module = ".".join(parts)
        if any(part.startswith("_") for part in parts) or module in namespaces():
            continue
        declared = declared_names(file, root)
        if declared:
            found[module] = declared
    return found


def declared_names(file: Path, root: Path) -> list[str]:
    """Names that a module shows, from its text."""
    tree = ast.parse(file.read_text())
    own: set[str] = set()
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            own.add(node.name)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            named = {t.id for t in targets if isinstance(t, ast.Name)}
            if "__all__" in named and isinstance(node.value, (ast.List, ast.Tuple)):
                return sorted(ast.literal_eval(node.value))
            called = node.value.func if isinstance(node.value, ast.Call) else None
            if "TypeVar" not in ast.dump(called or ast.Pass()) and named.isdisjoint({"map", "zip"}):
                own |= named
        elif isinstance(node, ast.ImportFrom):
            folder = root.parent.joinpath(*(node.module or "").split("."))
            own |= {
                a.asname
                for a in node.names
                if a.asname == a.name
                and not (folder / f"{a.name}.py").exists()
                and not (folder / a.name).is_dir()
            }
    return sorted(name for name in own if not name.startswith("_"))


def table() -> dict[str, object]:
    """The content of the file."""
    all_names = {name: names(name) for name in namespaces()}
    return {
        "origin": f"public names of JAX {jax.__version__}, listed by tests/cli/jax_names.py",
        "version": jax.__version__,
        "names": {name: found for name, found in all_names.items() if found},
        "others": others(),
    }


if __name__ == "__main__":
    FILE.write_text(json.dumps(table(), indent=1) + "\n")
