"""The page of what results are compared with: the rows of the op table, and where other comparisons are."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from plugjax.docs.pages import Page, heading, table
from plugjax.testing import OPS, Op

_RECORD = Path("docs/compiled_ahead.json")
_TEXT = """\
Each row of the op table (`plugjax.testing.OPS`) is a program of one primitive. The tests compare its values with an oracle in NumPy or SciPy, eager and
compiled, on every backend; its derivatives with central differences, forward and reverse with each other; its batches with a loop; its
values, dtypes and weak types with JAX's. [Testing a primitive](../developers/testing.md) has the commands, for a backend of your own too.
"""
_ELSEWHERE = (
    ("short programs in the style of JAX's documentation, with JAX's answers", "[Status](../developers/status.md)"),
    ("applications and tests of libraries that are written for JAX", "[Libraries](../developers/as_jax.md)"),
    ("programs compiled for GPUs and TPUs that are not there", "[What compiles](../developers/compiled_ahead.md)"),
    ("devices of Vulkan", "[Devices](../howto/devices.md)"),
    ("public names of JAX", "`plugjax parity`"),
    ("programs drawn at random", "`plugjax fuzz`"),
    ("what differs from JAX on purpose", "[Coming from JAX](../start/coming_from_jax.md)"),
)  # fmt: skip


def _derivatives(op: Op) -> str:
    if not op.order:
        return ""
    return f"{op.order}, {'both modes' if op.reverse else 'forward'}"


def _ahead(op: Op, refused: dict[str, list[str]]) -> str:
    """For what hardware that is not there some program of the row does not compile."""
    return ", ".join(f"`{target}`" for target in refused[op.name])


def _refused(root: Path) -> dict[str, list[str]]:
    """By row, the targets that refuse it or its gradient."""
    records: dict[str, Any] = json.loads((root / _RECORD).read_text(encoding="utf-8"))
    found: dict[str, list[str]] = defaultdict(list)
    for target, said in sorted(records.items()):
        for row in dict.fromkeys(name.rpartition(": ")[0] for name in said["refused"]):
            found[row].append(target)
    return found


def pages(root: Path) -> Iterator[Page]:
    """One page."""
    refused = _refused(root)
    rows = [
        (
            op.name,
            f"`{op.primitive.name}`",
            f"{op.rtol:g}",
            _derivatives(op),
            f"no: {op.without_jax}" if op.without_jax else "yes",
            _ahead(op, refused),
        )
        for op in sorted(OPS, key=lambda op: op.name)
    ]
    head = (
        "row",
        "primitive",
        "relative tolerance",
        "derivatives",
        "compared with JAX",
        "does not compile for",
    )
    compared = sum(not op.without_jax for op in OPS)
    counts = f"{len(OPS)} rows of {len({op.primitive for op in OPS})} primitives; {compared} are compared with JAX."
    parts = [
        heading("Conformance"),
        _TEXT,
        heading("Other comparisons", 2),
        table(("what", "where"), _ELSEWHERE),
        heading("Rows", 2),
        counts,
        table(head, rows),
    ]  # fmt: skip
    yield Page("reference/conformance", "\n\n".join(parts) + "\n")
