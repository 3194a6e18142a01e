"""What a program asked of JAX and plugjax lacks."""

from __future__ import annotations

from dataclasses import dataclass

from plugjax_as_jax import missing
from plugjax_as_jax.finder import installed, shadowed
from plugjax_as_jax.missing import Missing


@dataclass(frozen=True)
class Report:
    """Which ``jax`` this process has, and the names that were looked up in vain.

    Attributes:
        header: which ``jax`` it is, and which one it shadows.
        missing: the names, each with library, file, line, and how often.

    A name in the list may do no harm: libraries ask by ``hasattr`` for what other versions of JAX have.
    """

    header: str
    missing: tuple[tuple[Missing, int], ...]

    def __str__(self) -> str:
        if not self.missing:
            return f"{self.header}\nNo name was missing."
        lines = [
            f"  {record}{f', {count} times' if count > 1 else ''}" for record, count in self.missing
        ]
        return "\n".join([self.header, f"Missing names: {len(lines)}.", *lines])


def report() -> Report:
    """Which ``jax`` this process has, and the names that the program looked up and that are missing.

    Example:
        >>> import plugjax_as_jax
        >>> print(plugjax_as_jax.report())
        `import jax` is not plugjax in this process.
        No name was missing.
    """
    rows = sorted(missing.found.items(), key=lambda row: (row[0].library, row[0].name, row[0].line))
    return Report(_header(), tuple(rows))


def _header() -> str:
    if not installed():
        return "`import jax` is not plugjax in this process."
    real = shadowed()
    return "`import jax` is plugjax" + (f"; {real} is installed and not used." if real else ".")
