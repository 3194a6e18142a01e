"""Functions that IREE does not inline: their attributes, and the same module without them.

Two attributes are needed: the inliner of StableHLO programs reads one, and IREE's own the other.
"""

from __future__ import annotations

KEPT = ("no_inline", "noinline")


def keeps_functions(text: str) -> bool:
    """Whether a module in the generic form has such functions."""
    return "}) {noinline} : " in text


def inlined(text: str) -> str:
    """The module with functions that IREE inlines."""
    return text.replace(", no_inline, sym_name", ", sym_name").replace("}) {noinline} : ", "}) : ")
