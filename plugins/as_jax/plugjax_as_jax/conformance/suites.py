"""Where the tests of a library are: in its wheel, or in its source distribution."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

_NAMES = ("**/test_*.py", "**/*_test.py")


@dataclass(frozen=True)
class Suite:
    """Where the tests of a library are.

    Attributes:
        place: the package in whose folder they lie, or their folder in the source distribution.
        in_wheel: whether what pip installs has them.
        names: patterns of the files.
        variables: of the environment that they are run in.
        without: files that need what pip does not install here, or that hold no tests.
    """

    place: str
    in_wheel: bool = True
    names: tuple[str, ...] = ("**/*_test.py",)
    variables: Mapping[str, str] = field(default_factory=dict)
    without: tuple[str, ...] = ()


# By distribution. orbax-checkpoint has none: neither its wheel nor its source distribution holds its tests.
SUITES: dict[str, Suite] = {
    "blackjax": Suite("tests", in_wheel=False, names=("**/test_*.py",)),
    "chex": Suite("chex"),
    "distrax": Suite("distrax"),
    "dm-haiku": Suite("haiku"),
    "einops": Suite(
        "einops",
        names=("tests/test_*.py",),
        variables={"EINOPS_TEST_BACKENDS": "numpy,jax"},
    ),
    "flax": Suite("tests", in_wheel=False, names=_NAMES, without=("tensorboard_test.py",)),
    "jax-md": Suite(
        "tests",
        in_wheel=False,
        # They read downloads, or compare with a program that pip does not install.
        without=("amber_fe_test.py", "tpu_test.py", "uma_e2e_test.py", "uma_pretrained_test.py"),
    ),
    "jraph": Suite("jraph"),
    "numpyro": Suite("test", in_wheel=False, names=("test_*.py",)),
    "optax": Suite("optax"),
}


def files_of(library: str, folder: Path | None) -> list[Path]:
    """The files with tests.

    Args:
        library: a distribution of ``SUITES``, or a name for what is in ``folder``.
        folder: of an unpacked source distribution; ``None`` for the wheel that is installed.

    Raises:
        ValueError: there are none.
    """
    suite = SUITES.get(library)
    names: Sequence[str] = suite.names if suite else _NAMES
    if folder is None:
        if suite is None or not suite.in_wheel:
            with_tests = ", ".join(name for name, suite in SUITES.items() if suite.in_wheel)
            raise ValueError(
                f"the wheel of {library} has no tests that are known here; unpack its source distribution and pass --folder. "
                f"Wheels with tests: {with_tests}."
            )
        folder = _installed(library, suite.place)
    elif suite is not None and (folder / suite.place).is_dir():
        folder = folder / suite.place
    found = {path for name in names for path in folder.glob(name)}
    found = {path for path in found if suite is None or path.name not in suite.without}
    if not found:
        raise ValueError(f"no tests of {library} in {folder}.")
    return sorted(found)


def _installed(library: str, package: str) -> Path:
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise ValueError(f"{library} is not installed.")
    return Path(next(iter(spec.submodule_search_locations)))
