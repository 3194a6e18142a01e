"""Which backend writes a program as text in a dialect."""

from __future__ import annotations

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
    for spec in sorted(registry.active().backends().values(), key=lambda spec: -spec.priority):
        try:
            backend = get_backend(spec.name)
        except UnknownBackendError:
            continue
        if dialect in backend.dialects:
            return backend
        known.extend(backend.dialects)
    raise ValueError(
        f"unknown dialect: {dialect}. Installed backends write {', '.join(dict.fromkeys(known)) or 'none'}."
    )
