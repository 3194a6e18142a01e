"""Results of verification: which programs were verified, which were wrong, and what was done."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from plugjax.extend.execution import CompilationCache, default_cache

_MAGIC = b"plugjax verification\n"
_LONGEST = 4096


class VerificationWarning(UserWarning):
    """A backend computed other values than NumPy."""


@dataclass(frozen=True)
class Verification:
    """Result of the verification of one compiled program.

    Attributes:
        name: name of the function.
        backend: name of the backend that compiled it.
        state: ``"not yet"``, ``"verified"``, ``"partly verified"``, ``"not verified"`` or ``"repaired"``.
        because: the reason why it was not verified, or the fault.
        outputs: positions of results that were not verified.
        apart: whether each of its operations is compiled on its own.
        on_host: positions of equations that run by their host kernels.
        all_on_host: whether NumPy runs all of it.
        folder: folder that reproduces the fault.
    """

    name: str
    backend: str
    state: str = "not yet"
    because: str = ""
    outputs: tuple[int, ...] = ()
    apart: bool = False
    on_host: tuple[int, ...] = ()
    all_on_host: bool = False
    folder: str = ""

    def __str__(self) -> str:
        said = f"{self.name} on {self.backend}: {self.state}"
        return f"{said} ({self.because})" if self.because else said


_MOST_KNOWN = 10_000

_known: dict[int, Verification] = {}
_numbers = itertools.count()
_lock = threading.Lock()


def new_number() -> int:
    """A number that identifies a compiled program."""
    return next(_numbers)


def record(number: int, verification: Verification) -> None:
    """Keep the result of a program; of very many programs only the last."""
    with _lock:
        _known[number] = verification
        if len(_known) > _MOST_KNOWN:
            del _known[next(iter(_known))]


def report() -> list[Verification]:
    """Results for the programs of this process, in the order of their compilation.

    Example:
        >>> from plugjax import guard
        >>> all(isinstance(v, guard.Verification) for v in guard.report())
        True
    """
    with _lock:
        return list(_known.values())


def _key(program_key: str) -> str:
    return CompilationCache.key("verification", program_key)


def stored(program_key: str) -> Verification | None:
    """Result that an earlier process stored in the cache."""
    cache = default_cache() if program_key else None
    payload = cache.get(_key(program_key)) if cache is not None else None
    return _parsed(payload) if payload is not None else None


def store(program_key: str, verification: Verification) -> None:
    """Store a result for later processes."""
    cache = default_cache() if program_key else None
    if cache is not None:
        cache.put(_key(program_key), _MAGIC + json.dumps(asdict(verification)).encode())


def all_stored() -> Iterator[Verification]:
    """Results of all programs in the cache."""
    cache = default_cache()
    for entry in cache.entries() if cache is not None else ():
        if entry.bytes <= _LONGEST and cache is not None:
            payload = cache.get(entry.key)
            found = _parsed(payload) if payload is not None else None
            if found is not None:
                yield found


def _parsed(payload: bytes) -> Verification | None:
    if not payload.startswith(_MAGIC):
        return None
    try:
        fields = json.loads(payload[len(_MAGIC) :])
        fields["outputs"], fields["on_host"] = tuple(fields["outputs"]), tuple(fields["on_host"])
        return Verification(**fields)
    except (ValueError, TypeError, KeyError):
        return None
