"""A table of the arrays that hold memory, largest first."""

from __future__ import annotations

from collections.abc import Sequence

from plugjax.profiler.measured_memory import HeldArray
from plugjax.visualize.elements import bytes_words, note, table

# Rows of the table.
_MOST = 30


def table_of_holders(when: str, holders: Sequence[HeldArray]) -> str:
    """The table.

    Args:
        when: the moment, as the heading of the first column.
        holders: the arrays, largest first; those of a program have names.
    """
    # Arrays of a run have no names, and no column for them.
    first = 0 if any(h.name for h in holders) else 1
    cells = [(h.name, h.kind, bytes_words(h.size), h.made_by, h.source) for h in holders[:_MOST]]
    heads = [when, *("type", "size", "made by", "line")[first:]]
    rows = [row[first:] for row in cells]
    left = holders[_MOST:]
    size = bytes_words(sum(h.size for h in left))
    return table(heads, rows) + (note(f"… {len(left):,} more arrays, {size}") if left else "")


__all__ = ["table_of_holders"]
