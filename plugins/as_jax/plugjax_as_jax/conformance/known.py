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


_HIJAX = "tests.nnx.mutable_array_test."
_VARIABLES = (
    "A hijax variable of nnx is read by its attributes aval and __jax_array__, which are those of its content, before its "
    "registered type is."
)
_ITS_TYPE = f"{_VARIABLES} Then its type is asked for shape and dtype, as an array's is."

KNOWN: Sequence[Known] = (
    Known("flax", f"{_HIJAX}TestOptimizer.test_optimize_hijax", _ITS_TYPE),
    Known("flax", f"{_HIJAX}TestHijaxVariables.test_eval_shape", _ITS_TYPE),
    Known("flax", f"{_HIJAX}TestHijaxVariables.test_hijax_and_pytree", _ITS_TYPE),
    Known("flax", f"{_HIJAX}TestHijaxVariables.*", _VARIABLES),
    Known("flax", f"{_HIJAX}HijaxTransformCoverageTest.*", _VARIABLES),
)


def reason_of(library: str, backend: str, test: str) -> str:
    """Why a test fails, if that is known; otherwise empty.

    Example:
        >>> reason_of("optax", "numpy", "optax.no_such_test")
        ''
    """
    return next((k.reason for k in KNOWN if k.holds(library, backend, test)), "")
