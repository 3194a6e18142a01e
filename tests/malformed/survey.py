"""Malformed calls in both libraries: outcomes, verdicts and counts."""

from __future__ import annotations

import builtins
import dis
import functools
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

# Error types that mean an accident inside a library, unless a `raise` statement raised them. C code
# raises the other types on purpose, as `operator.index` does for a float.
ACCIDENTS = ("AttributeError", "AssertionError", "KeyError", "UnboundLocalError", "RecursionError", "IndexError", "RuntimeError",
             "ZeroDivisionError", "StopIteration")  # fmt: skip

# A jitted function of JAX hashes its options before it checks them.
UNHASHABLE = ("Non-hashable static arguments", "unhashable type")
# JAX made a program that its compiler refuses.
COMPILER = (
    "Cannot lower jaxpr with verifier errors",
    "Operation creation failed",
    "invalid tensor dimension size",
    "incompatible function arguments",
)


# Prefix of an outcome whose error is an accident.
ACCIDENT = "accident "


class _TooLong(BaseException):
    pass


def _ring(*_: Any) -> None:
    raise _TooLong


def _is_accident(error: BaseException) -> bool:
    name = next((t.__name__ for t in type(error).__mro__ if t.__module__ == "builtins"), "")
    if name not in ACCIDENTS or name == "AssertionError":
        return name in ACCIDENTS
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return (
        trace is None or trace.tb_frame.f_code.co_code[trace.tb_lasti] != dis.opmap["RAISE_VARARGS"]
    )


def outcome(text: str, scope: dict[str, Any]) -> str:
    """``"ok"``, or the names of the error's builtin classes, nearest first, and its message.

    "accident" precedes them if no ``raise`` statement raised it.
    """
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
        before = ACCIDENT if _is_accident(error) else ""
        return f"{before}{','.join(names[:-3])}: {str(error)[:160]}" if names else "Exception"
    finally:
        signal.alarm(0)


@dataclass(frozen=True)
class Finding:
    """One call on which the libraries disagree."""

    sample: str
    mutation: Mutation
    verdict: str
    ours: str
    theirs: str

    @property
    def stumble(self) -> str:
        """The reason why JAX does not judge the call, "" if it does: see :func:`stumbles`."""
        return stumbles(self.theirs)


def stumbles(theirs: str) -> str:
    """The reason why JAX's error is an accident, "" if it is raised on purpose.

    Accidents are internal failures, unhashable options, and programs that JAX's compiler refuses.
    """
    if theirs.startswith(ACCIDENT):
        return "an accident inside JAX"
    if any(words in theirs for words in UNHASHABLE):
        return "JAX cannot hash an option"
    if any(words in theirs for words in COMPILER):
        return "JAX's compiler refuses"
    return ""


def _types(outcome: str) -> list[str]:
    return outcome.removeprefix(ACCIDENT).split(":")[0].split(",")


def verdict(ours: str, theirs: str) -> str | None:
    """How two outcomes disagree, if they do."""
    if "too long" in (ours, theirs) or (ours == theirs == "ok"):
        return None
    if ours == "ok":
        return ACCEPTED
    if theirs == "ok":
        return REFUSED
    return None if _types(theirs)[0] in _types(ours) else OTHER_TYPE


class _Lazily:
    """The names of a sample's call in JAX, made only if JAX's answers are not stored."""

    def __init__(self, sample: Sample) -> None:
        self._sample = sample

    @functools.cached_property
    def scope(self) -> dict[str, Any]:
        try:
            return namespace_of(self._sample, "jax")
        except Exception:
            return {}


class Survey:
    """Runs calls in both libraries; JAX's answers may be stored between surveys.

    Args:
        every: run one of so many calls.
        first: which of them.
    """

    def __init__(
        self, answers: dict[str, str] | None = None, every: int = 1, first: int = 0
    ) -> None:
        self.answers = {} if answers is None else answers
        self.every, self.first = every, first
        self.calls = 0

    def _theirs(self, key: str, text: str, theirs: _Lazily) -> str:
        import jax

        # The last frame of a traceback shows the origin of the error.
        jax.config.update("jax_traceback_filtering", "off")
        if key not in self.answers:
            # Tracing accepts most valid calls, and compiles nothing.
            scope = theirs.scope
            traced = outcome(
                "_shape(lambda: (lambda _: None)(" + text + "))",
                {**scope, "_shape": jax.eval_shape},
            )
            self.answers[key] = "ok" if traced == "ok" else outcome(text, scope)
        return self.answers[key]

    def of(self, sample: Sample) -> Iterator[Finding]:
        """The disagreements among the malformed variants of one call."""
        try:
            ours = namespace_of(sample, "plugjax")
            eval(sample.call(), dict(ours))
        except Exception:
            return
        theirs = _Lazily(sample)
        if self._theirs(f"{sample.name}|{sample.call()}", sample.call(), theirs) != "ok":
            return
        import jax

        for mutation in mutations(sample, ours):
            # The same share in each survey, independent of the other calls.
            if zlib.crc32(mutation.text.encode()) % self.every != self.first:
                continue
            self.calls += 1
            text = mutation.text
            a = outcome(text, ours)
            key = f"{sample.name}|{text}"
            b = self._theirs(key, text, theirs)
            found = verdict(a, b)
            if found == REFUSED:
                # A trace may accept values that execution refuses, and a cached program may be for
                # other options that compare equal.
                jax.clear_caches()
                b = self.answers[key] = outcome(text, theirs.scope)
                found = verdict(a, b)
            if found is not None:
                yield Finding(sample.name, mutation, found, a, b)
