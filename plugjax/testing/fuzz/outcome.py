"""Outcome of one program: drawn, run on the backend and by the oracle, compared."""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any, TypeVar

from plugjax.extend.errors import JaxRuntimeError
from plugjax.testing.fuzz.judge import compare
from plugjax.testing.fuzz.program import Program
from plugjax.testing.fuzz.run import (
    in_library,
    on_backend,
    on_numpy,
    primitives,
    with_noise,
)

T = TypeVar("T")

# Kinds that say nothing about the backend.
AGREES, REFUSED_BY_BOTH, ORACLE_FAILED = "agrees", "refused by both", "the oracle failed"
# Kinds that are findings.
FAULTS = ("wrong", "shape", "dtype", "weak type", "refused", "accepted", "crash", "hang", "memory")


@dataclass(frozen=True)
class Outcome:
    """The verdict on a program.

    Args:
        kind: one of the three above, or of `FAULTS`.
        text: what differs, or the error.
        result: position of the wrong result.
        primitives: names of the primitives of the program.
    """

    kind: str
    text: str = ""
    result: int | None = None
    primitives: tuple[str, ...] = field(default=())

    @property
    def is_fault(self) -> bool:
        """Whether it is a finding."""
        return self.kind in FAULTS

    @property
    def signature(self) -> str:
        """Key by which findings are grouped: kind, error, primitives."""
        head = self.text.split(":")[0] if self.kind in ("refused", "accepted", "crash") else ""
        return " ".join(x for x in (self.kind, head, "+".join(self.primitives)) if x)

    def to_json(self) -> str:
        """The outcome as text."""
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(text: str) -> Outcome:
        """The outcome from its JSON."""
        data = json.loads(text)
        return Outcome(**{**data, "primitives": tuple(data["primitives"])})


def _attempt(run: Callable[..., T], *args: Any) -> T | Exception:
    try:
        return run(*args)
    except MemoryError:
        raise
    except Exception as error:
        return error


def examine(
    program: Program,
    backend: str,
    oracle: str = "numpy",
    phase: Callable[[str], object] = lambda name: None,
) -> Outcome:
    """Run a program and compare it with an oracle.

    The oracle is ``numpy``, the NumPy backend step by step, or the name of a module with JAX's names. ``phase`` is
    called when it runs.
    """
    try:
        found = _attempt(on_backend, program, backend)
    except MemoryError as error:
        return Outcome("memory", str(error))
    if isinstance(found, JaxRuntimeError) and str(found).startswith("RESOURCE_EXHAUSTED"):
        return Outcome("memory", str(found))
    phase("oracle")
    expected = _attempt(on_numpy, program) if oracle == "numpy" else _attempt(in_library, program, oracle)  # fmt: skip
    if isinstance(expected, AssertionError):
        return Outcome(ORACLE_FAILED, _message(expected))
    if isinstance(found, Exception) and isinstance(expected, Exception):
        return Outcome(REFUSED_BY_BOTH, _message(found))
    if isinstance(found, Exception):
        return Outcome("refused", _message(found), primitives=names_of_primitives(program))
    if isinstance(expected, Exception):
        text = f"the oracle raises {_message(expected)}"
        return Outcome("accepted", text, primitives=names_of_primitives(program))
    difference = compare(found, expected, lambda: with_noise(program))
    if difference is not None and not difference.finite and oracle == "numpy":
        # A cotangent of a loop is an array of zeros where that of plain Python is known to be zero, and inf * 0 is nan.
        traced = _attempt(on_numpy, program, True)
        if not isinstance(traced, Exception):
            difference = compare(found, traced, lambda: with_noise(program))
    if difference is None:
        return Outcome(AGREES)
    names = names_of_primitives(program)
    return Outcome(difference.kind, difference.text, difference.position, names)


def names_of_primitives(program: Program) -> tuple[str, ...]:
    """Names of the primitives of a program; none if it cannot be traced."""
    names = _attempt(primitives, program)
    return () if isinstance(names, Exception) else tuple(names)


def _message(error: Exception) -> str:
    return "".join(traceback.format_exception_only(error)).strip()[:600]
