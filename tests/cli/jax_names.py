"""The public names of the installed JAX: what ``plugjax/cli/data/jax_names.json`` is made from.

``python tests/cli/jax_names.py`` writes the file. A name is public if it is an attribute without a leading underscore of a
public module, is no module, and can be got without an error.
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
    """The namespaces of the parity goal; those below ``scipy`` are found by looking."""
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
            except AttributeError:  # removed, and only named for its message
                continue
            if not isinstance(value, types.ModuleType) and name != "annotations":
                found.append(name)
    return sorted(found)


def table() -> dict[str, object]:
    """What the file holds."""
    all_names = {name: names(name) for name in namespaces()}
    return {
        "origin": f"public names of JAX {jax.__version__}, listed by tests/cli/jax_names.py",
        "version": jax.__version__,
        "names": {name: found for name, found in all_names.items() if found},
    }


if __name__ == "__main__":
    FILE.write_text(json.dumps(table(), indent=1) + "\n")
