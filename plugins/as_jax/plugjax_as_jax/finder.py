"""The import finder: ``import jax.x`` finds the module that the table names."""

from __future__ import annotations

import importlib
import importlib.metadata
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

from plugjax_as_jax import missing
from plugjax_as_jax.modules import Alias, standing_for
from plugjax_as_jax.table import TABLE

_REAL = """\
the real jax {version} is imported already ({file}), so `import jax` cannot become plugjax in this process.
Call plugjax_as_jax.install() before the first import of jax or of a library that imports it, or start the program with
`python -m plugjax_as_jax program.py` or with PLUGJAX_AS_JAX=1."""


class Finder(MetaPathFinder, Loader):
    """Finds ``jax`` and all that is below it, and nothing else."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of a module of JAX; ``None`` for modules of others.

        Raises:
            ModuleNotFoundError: the table has no such module; the error names who imports it.
        """
        if fullname != "jax" and not fullname.startswith("jax."):
            return None
        if fullname not in TABLE:
            raise missing.module(fullname)
        return ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """An alias of the module that stands for it."""
        return Alias(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Import what stands for it; its names are shown when they are asked for."""
        standing_for(module.__name__)
        if module.__name__ == "jax":
            importlib.import_module("plugjax_as_jax.switches").turn()


_finder = Finder()


def install() -> None:
    """From here on, ``import jax`` is plugjax in this process, also where the real jax is installed.

    Nothing is imported yet. A second call changes nothing.

    Raises:
        RuntimeError: this process has imported the real jax.

    Example:
        >>> import subprocess, sys
        >>> program = "import plugjax_as_jax; plugjax_as_jax.install(); import jax; print(jax.Array, jax.__version__)"
        >>> print(subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout.strip())
        <class 'plugjax.core.array.Array'> 0.10.2
    """
    loaded = sys.modules.get("jax")
    if loaded is not None and not isinstance(loaded, Alias):
        version = getattr(loaded, "__version__", "")
        raise RuntimeError(_REAL.format(version=version, file=getattr(loaded, "__file__", None)))
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)


def installed() -> bool:
    """Whether ``import jax`` is plugjax in this process."""
    return _finder in sys.meta_path


def shadowed() -> str | None:
    """The version and folder of the real jax that is installed and not used; ``None`` if there is none."""
    spec = PathFinder.find_spec("jax")
    if spec is None or spec.origin is None:
        return None
    try:
        version = importlib.metadata.version("jax")
    except importlib.metadata.PackageNotFoundError:
        version = "of unknown version"
    return f"jax {version} ({spec.origin.removesuffix('/__init__.py')})"
