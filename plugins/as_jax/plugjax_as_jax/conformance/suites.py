"""Where the tests of a library are: in its wheel, or in a folder of its source distribution."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path

# By distribution: the package in whose folder tests lie, and the names of the files.
SUITES: dict[str, tuple[str, tuple[str, ...]]] = {
    "chex": ("chex", ("**/*_test.py",)),
    "distrax": ("distrax", ("**/*_test.py",)),
    "dm-haiku": ("haiku", ("**/*_test.py",)),
    "einops": ("einops", ("tests/test_*.py",)),
    "jraph": ("jraph", ("**/*_test.py",)),
    "optax": ("optax", ("**/*_test.py",)),
    "orbax-checkpoint": ("orbax.checkpoint", ("**/*_test.py",)),
}
_IN_SOURCES = ("**/test_*.py", "**/*_test.py")


def files_of(library: str, folder: Path | None) -> list[Path]:
    """The files with tests.

    Args:
        library: a distribution of ``SUITES``, or a name for what is in ``folder``.
        folder: of an unpacked source distribution; ``None`` for the wheel that is installed.

    Raises:
        ValueError: there are none.
    """
    patterns: Sequence[str] = _IN_SOURCES
    if folder is None:
        if library not in SUITES:
            raise ValueError(
                f"the wheel of {library} has no tests that are known here; unpack its source distribution and pass --folder. "
                f"Wheels with tests: {', '.join(SUITES)}."
            )
        package, patterns = SUITES[library]
        spec = importlib.util.find_spec(package)
        if spec is None or not spec.submodule_search_locations:
            raise ValueError(f"{library} is not installed.")
        folder = Path(next(iter(spec.submodule_search_locations)))
    found = sorted({path for pattern in patterns for path in folder.glob(pattern)})
    if not found:
        raise ValueError(f"no tests of {library} in {folder}.")
    return found
