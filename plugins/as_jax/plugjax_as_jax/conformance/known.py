"""Tests of libraries that do not pass here, with the reason of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase


@dataclass(frozen=True)
class Known:
    """Tests that do not pass, and why.

    Attributes:
        library: the distribution.
        tests: a pattern of their full names.
        reason: why, in a sentence.
        backends: the backends on which they fail; all if empty.
    """

    library: str
    tests: str
    reason: str
    backends: tuple[str, ...] = ()

    def holds(self, library: str, backend: str, test: str) -> bool:
        """Whether this is the reason of a failure."""
        here = not self.backends or backend in self.backends
        return here and library == self.library and fnmatchcase(test, self.tests)


KNOWN: Sequence[Known] = (
    Known(
        "chex",
        "*.test_log_abs_fn_pmapped_*",
        "IREE's devices are two for each processor, iree:local and iree:task; local_devices() counts both, and pmap takes those of one "
        "kind.",
        ("iree",),
    ),
)


def reason_of(library: str, backend: str, test: str) -> str:
    """Why a test fails, if that is known; otherwise empty.

    Example:
        >>> reason_of("optax", "numpy", "optax.no_such_test")
        ''
    """
    return next((k.reason for k in KNOWN if k.holds(library, backend, test)), "")
