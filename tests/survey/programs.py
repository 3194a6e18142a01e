"""The programs, and the library that they run on."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from tests.survey import topics

# Submodules that a program would import by name.
SUBMODULES = (
    "ad_checkpoint", "custom_batching", "dtypes", "errors", "example_libraries.optimizers", "example_libraries.stax",
    "experimental", "experimental.buffer_callback", "experimental.checkify", "experimental.compute_on",
    "experimental.custom_partitioning", "experimental.error_check", "experimental.hijax", "experimental.jet",
    "experimental.ode", "experimental.random", "experimental.roofline", "experimental.sparse", "experimental.xla_metadata",
    "export", "extend.core", "flatten_util", "image", "interpreters.ad", "interpreters.batching", "interpreters.mlir",
    "interpreters.partial_eval", "lax.linalg", "monitoring", "nn.initializers", "numpy.fft", "numpy.linalg", "ops",
    "profiler", "ref", "scipy.cluster.vq", "scipy.fft", "scipy.integrate", "scipy.interpolate", "scipy.linalg",
    "scipy.ndimage", "scipy.optimize", "scipy.signal", "scipy.sparse.linalg", "scipy.spatial.transform", "scipy.special",
    "scipy.stats", "stages", "test_util", "tree", "tree_util", "typing",
)  # fmt: skip


@dataclass(frozen=True)
class Program:
    """A function of the library's namespace that returns a tree of values."""

    topic: str
    name: str
    run: Callable[[Any], Any]

    def __repr__(self) -> str:
        return f"{self.topic}.{self.name}"


def programs() -> list[Program]:
    """All programs, by topic, as they stand in the files."""
    found = []
    for info in pkgutil.iter_modules(topics.__path__):
        module = importlib.import_module(f"{topics.__name__}.{info.name}")
        found += [
            Program(info.name, name, function)
            for name, function in vars(module).items()
            if inspect.isfunction(function) and not name.startswith("_")
        ]
    return found


def library(name: str) -> ModuleType:
    """``jax`` or ``plugjax``, with its submodules loaded."""
    for submodule in SUBMODULES:
        # A program that needs a missing one fails with its own error.
        with contextlib.suppress(ImportError):
            importlib.import_module(f"{name}.{submodule}")
    return importlib.import_module(name)
