"""The public names of the installed JAX, for ``plugjax/cli/data/jax_names.json``.

``python tests/cli/jax_names.py`` writes the file. A name is public if it is an attribute of a public module without a
leading underscore, not a module, and readable without an error.
"""

from __future__ import annotations

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


def table() -> dict[str, object]:
    """The content of the file."""
    all_names = {name: names(name) for name in namespaces()}
    return {
        "origin": f"public names of JAX {jax.__version__}, listed by tests/cli/jax_names.py",
        "version": jax.__version__,
        "names": {name: found for name, found in all_names.items() if found},
    }


if __name__ == "__main__":
    FILE.write_text(json.dumps(table(), indent=1) + "\n")
