"""The document of what compiles for hardware that is not there: ``python -m plugjax.docs.compiled_ahead TARGET ...``.

Each target is compiled for anew and its column replaced; columns of other targets stay as they were recorded. Without targets the
document is written from what is recorded.
"""

from __future__ import annotations

import datetime
import importlib.metadata
import json
import os
import platform
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from plugjax.cli.terminal import console
from plugjax.docs.compile_only import Outcome, outcomes
from plugjax.docs.pages import table
from plugjax.testing import OPS

DOCUMENT = Path("docs/compiled_ahead.md")
RECORD = Path("docs/compiled_ahead.json")
# Columns, with the distributions whose versions decide.
TARGETS = {
    "iree:cuda:sm_80": ("iree-base-compiler",),
    "xla:cuda:a100": ("jaxlib", "jax-cuda13-pjrt"),
    "xla:tpu:v5e:2x2": ("jaxlib", "libtpu"),
}

_TEXT = """\
# What compiles for hardware that is not there

Each row of the op table (`plugjax.testing.OPS`) is a program; where it has a derivative, its pullback is another one. This page says which
of them the compilers take for one device of some hardware, none of which was there: nothing was run. A program counts if its executable could
be written to bytes. `plugjax compile --for TARGET` compiles programs of your own for the same targets.

"""
_AFTER = """
* **yes**: all rows of the primitive compile, with their gradients. **no**: none does. Otherwise the cell counts those that do. A number names the
  reason below.
* Programs that call Python cannot be compiled ahead: the call is an address in a process.
* `eig` on IREE is a long program: its value takes about a minute to compile, its gradient four. `scaled_dot` converts 8-bit floats, for which IREE generates no code on CUDA.
  `rng_uniform` draws numbers without a key, which IREE cannot.
* A program that is refused for a device that is there runs on the host, with a warning.

The command runs compilers in processes of their own, as some end their process. `python -m pytest -m compile_only` compiles the
same rows and compares the outcomes with this page.
"""


def record(target: str, found: Sequence[Outcome]) -> dict[str, Any]:
    """What is kept of a run."""
    return {
        "date": datetime.date.today().isoformat(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "versions": {name: importlib.metadata.version(name) for name in TARGETS[target]},
        "programs": len(found),
        "refused": {f"{o.row}: {o.program}": o.because for o in found if o.because},
    }


def document(records: Mapping[str, Any]) -> str:
    """The document."""
    known = [target for target in TARGETS if target in records]
    runs = [
        (
            f"`{target}`",
            str(records[target]["programs"]),
            str(len(records[target]["refused"])),
            ", ".join(f"{n} {v}" for n, v in records[target]["versions"].items()),
            records[target]["machine"],
            records[target]["date"],
        )
        for target in known
    ]
    reasons: dict[str, int] = {}
    rows = [
        (f"`{name}`", *(_cell(programs, records[t]["refused"], reasons) for t in known))
        for name, programs in sorted(_programs().items())
    ]
    command = f"python -m plugjax.docs.compiled_ahead {' '.join(known)}"
    head = ("target", "programs", "refused", "versions", "machine", "date")
    parts = [
        _TEXT,
        table(head, runs),
        f"\n\nCommand: `{command}`.\n",
        _AFTER,
        "\n## Reasons\n\n",
        *(f"{number}. {_said(text)}\n" for text, number in reasons.items()),
        "\n## Primitives\n\n",
        table(("primitive", *(f"`{t}`" for t in known)), rows),
        "\n",
    ]
    return "".join(parts)


def _programs() -> dict[str, list[str]]:
    """The programs of each primitive, as a record names them."""
    found: dict[str, list[str]] = defaultdict(list)
    for op in OPS:
        names = ("value", "gradient") if op.order and op.reverse else ("value",)
        found[op.primitive.name] += [f"{op.name}: {name}" for name in names]
    return found


def _cell(programs: Sequence[str], refused: Mapping[str, str], reasons: dict[str, int]) -> str:
    """A cell, and the numbers of its reasons."""
    failed = [refused[name] for name in programs if name in refused]
    if not failed:
        return "yes"
    numbers = sorted({reasons.setdefault(_generic(text), len(reasons) + 1) for text in failed})
    count = len(programs) - len(failed)
    words = f"{count} of {len(programs)}" if count else "no"
    return f"{words} ({', '.join(map(str, numbers))})"


def _generic(text: str) -> str:
    """A reason without what differs between programs that have it in common."""
    if "calls the Python function" in text:
        return "The program calls Python."
    return text


def _said(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def main(targets: Sequence[str]) -> None:
    """Compile for targets, keep the outcomes, and write the document."""
    unknown = sorted(set(targets) - set(TARGETS))
    if unknown:
        raise SystemExit(f"no column {', '.join(unknown)}; there are {', '.join(TARGETS)}")
    records = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    for target in targets:
        records[target] = record(target, list(outcomes(target, [op.name for op in OPS])))
        RECORD.write_text(json.dumps(records, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        refused = len(records[target]["refused"])
        console.print(f"{target}: {records[target]['programs']} programs, {refused} refused")
    DOCUMENT.write_text(document(records), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
