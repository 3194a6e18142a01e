"""Malformed calls in both libraries: outcomes, verdicts and counts."""

from __future__ import annotations

import builtins
import signal
import warnings
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.malformed.mutations import Mutation, mutations
from tests.malformed.samples import Sample, namespace_of

REFUSED, ACCEPTED, OTHER_TYPE = "refused", "accepted", "other type"
SECONDS = 10

# Errors that a library does not raise on purpose: something inside it met what it did not expect.
ACCIDENTS = ("AttributeError", "AssertionError", "KeyError", "UnboundLocalError", "RecursionError", "IndexError", "RuntimeError",
             "ZeroDivisionError", "StopIteration")  # fmt: skip

# A function of JAX's that is compiled as a whole hashes its options before it looks at them.
UNHASHABLE = ("Non-hashable static arguments", "unhashable type")


class _TooLong(BaseException):
    pass


def _ring(*_: Any) -> None:
    raise _TooLong


def outcome(text: str, scope: dict[str, Any]) -> str:
    """``"ok"``, or the names of the error's builtin classes, nearest first, and its message."""
    signal.signal(signal.SIGALRM, _ring)
    signal.alarm(SECONDS)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            eval(text, dict(scope))
        return "ok"
    except _TooLong:
        return "too long"
    except Exception as error:
        names = [
            t.__name__ for t in type(error).__mro__ if getattr(builtins, t.__name__, None) is t
        ]
        return f"{','.join(names[:-3])}: {str(error)[:160]}" if names else "Exception"
    finally:
        signal.alarm(0)


@dataclass(frozen=True)
class Finding:
    """One call about which the libraries disagree."""

    sample: str
    mutation: Mutation
    verdict: str
    ours: str
    theirs: str

    @property
    def stumble(self) -> bool:
        """Whether JAX does not judge the call: see :func:`stumbles`."""
        return stumbles(self.theirs)


def stumbles(theirs: str) -> bool:
    """Whether JAX's error is none that it raises on purpose: something inside met what it did not expect, or an option cannot be hashed."""
    return theirs.split(":")[0].split(",")[0] in ACCIDENTS or any(
        words in theirs for words in UNHASHABLE
    )


def verdict(ours: str, theirs: str) -> str | None:
    """How two outcomes disagree, if they do."""
    if "too long" in (ours, theirs) or (ours == theirs == "ok"):
        return None
    if ours == "ok":
        return ACCEPTED
    if theirs == "ok":
        return REFUSED
    wanted = theirs.split(":")[0].split(",")[0]
    return None if wanted in ours.split(":")[0].split(",") else OTHER_TYPE


class Survey:
    """Runs calls in both libraries; what JAX answers may be remembered between surveys."""

    def __init__(self, remembered: dict[str, str] | None = None, every: int = 1) -> None:
        self.remembered = {} if remembered is None else remembered
        self.every = every
        self.calls = 0

    def _theirs(self, key: str, text: str, scope: dict[str, Any]) -> str:
        if key not in self.remembered:
            import jax

            # Tracing tells most calls that are accepted, and compiles nothing.
            traced = outcome(
                "_shape(lambda: (lambda _: None)(" + text + "))",
                {**scope, "_shape": jax.eval_shape},
            )
            self.remembered[key] = "ok" if traced == "ok" else outcome(text, scope)
        return self.remembered[key]

    def of(self, sample: Sample) -> Iterator[Finding]:
        """What the libraries disagree about, among the malformed variants of one call."""
        try:
            ours, theirs = namespace_of(sample, "plugjax"), namespace_of(sample, "jax")
            eval(sample.call(), dict(ours))
            eval(sample.call(), dict(theirs))
        except Exception:
            return
        for mutation in mutations(sample, ours):
            # The same share in each survey, whatever else is surveyed.
            if zlib.crc32(mutation.text.encode()) % self.every:
                continue
            self.calls += 1
            text = mutation.text
            a = outcome(text, ours)
            key = f"{sample.name}|{text}"
            b = self._theirs(key, text, theirs)
            found = verdict(a, b)
            if found == REFUSED:
                # A trace may accept what values refuse.
                b = self.remembered[key] = outcome(text, theirs)
                found = verdict(a, b)
            if found is not None:
                yield Finding(sample.name, mutation, found, a, b)
