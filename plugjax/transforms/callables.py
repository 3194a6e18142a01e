"""What functions of functions are given."""

from __future__ import annotations


def check_callable(who: str, fun: object) -> None:
    """Refuse what cannot be called where a function is needed.

    Raises:
        TypeError: ``fun`` is not callable.
    """
    if not callable(fun):
        raise TypeError(f"{who}: Expected a callable value, got {fun!r}")
