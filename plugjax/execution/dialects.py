"""Which backend writes a program as text: in a dialect, or for hardware that need not be there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from plugjax.core import registry
from plugjax.core.backend import get_backend
from plugjax.core.device import Backend
from plugjax.core.errors import UnknownBackendError


def backend_with_dialect(dialect: str | None, preferred: Backend) -> Backend:
    """A backend that writes programs in a dialect: ``preferred`` if it does, else the best installed one.

    Raises:
        ValueError: no installed backend does, or ``preferred`` has no textual form at all.
    """
    if preferred.dialects if dialect is None else dialect in preferred.dialects:
        return preferred
    if dialect is None:
        raise ValueError(f"backend {preferred.name} has no textual form; name a dialect")
    known: list[str] = []
    for backend in _installed():
        if dialect in backend.dialects:
            return backend
        known.extend(backend.dialects)
    raise ValueError(
        f"unknown dialect: {dialect}. Installed backends write {', '.join(dict.fromkeys(known)) or 'none'}."
    )


def backend_for_hardware(platforms: Sequence[str], preferred: Backend) -> Backend:
    """A backend that writes programs for some hardware: ``preferred`` if it does, else the best installed one.

    Raises:
        ValueError: no installed backend does for all of them.
    """
    known: list[str] = []
    for backend in (preferred, *_installed()):
        if platforms and set(platforms) <= set(backend.lowers_for):
            return backend
        known.append(f"{backend.name} for {', '.join(backend.lowers_for) or 'its devices'}")
    raise ValueError(
        f"lower: no installed backend lowers for {tuple(platforms)}; they are: {'; '.join(dict.fromkeys(known))}."
    )


def _installed() -> Iterator[Backend]:
    """Backends that can be loaded, the best first."""
    for spec in sorted(registry.active().backends().values(), key=lambda spec: -spec.priority):
        try:
            yield get_backend(spec.name)
        except UnknownBackendError:
            continue
