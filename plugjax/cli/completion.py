"""What the shell offers for the values of options."""

from __future__ import annotations

from plugjax.extend import registry


def backends(incomplete: str) -> list[str]:
    """Names of installed backends that begin so.

    Example:
        >>> from plugjax.cli.completion import backends
        >>> backends("nu")
        ['numpy']
    """
    return [name for name in sorted(registry.active().backends()) if name.startswith(incomplete)]
