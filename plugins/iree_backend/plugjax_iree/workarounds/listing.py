"""The table of workarounds for people: rows for ``plugjax doctor --workarounds``, and the text of the documentation.

``python -m plugjax_iree.workarounds.listing FILE`` writes the table into a Markdown file, between its two marks.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Sequence
from importlib import metadata
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from plugjax_iree.workarounds.row import Effect, Stage, Workaround
from plugjax_iree.workarounds.switch import from_environment
from plugjax_iree.workarounds.table import WORKAROUNDS

BEGIN = (
    "<!-- The table of workarounds: python -m plugjax_iree.workarounds.listing docs/traps.md -->"
)
END = "<!-- End of the table of workarounds. -->"

_STAGES = {
    Stage.DONATION: "Donated arguments",
    Stage.PROGRAM: "The program, before it is lowered",
    Stage.LOWERING: "Lowering rules",
    Stage.INLINED: "StableHLO, while functions are inlined",
    Stage.STABLEHLO: "StableHLO, before IREE's passes",
    Stage.STRUCTURED: "Passes of MLIR before IREE's passes",
    Stage.FLAGS: "Flags of the compiler",
    Stage.LINALG: "The program in linalg and scf, as IREE reads it",
    Stage.FUSION: "The whole program, before it is divided into kernels",
    Stage.FLOW: "The program, divided into kernels",
    Stage.KERNELS: "Kernels, before they are translated",
    Stage.UNCOUNTED: "Kernels, where they cannot be scheduled as elsewhere",
    Stage.UNSETTLED: "Kernels, while IREE schedules them",
    Stage.SCHEDULED: "Kernels, once IREE has scheduled them",
    Stage.CONFIGURED: "Kernels, once IREE has chosen how they are translated",
    Stage.TRANSLATED: "Kernels, once IREE has translated them for the device",
    Stage.BYTECODE: "The program of the virtual machine, before its bytecode is written",
    Stage.REFUSED: "After a refusal",
    Stage.RESULTS: "Results of a call",
}


class Row(NamedTuple):
    """A workaround as ``plugjax doctor --workarounds`` shows it.

    Attributes:
        name: for the variable that switches it off.
        stage: where it acts.
        defect: what is worked around.
        without: what happens without it.
        seen: the version of the compiler in which the defect was last seen.
        installed: the version of the compiler that is installed.
        state: whether it is in force.
    """

    name: str
    stage: str
    defect: str
    without: str
    seen: str
    installed: str
    state: str


def rows() -> list[Row]:
    """The table, and what the environment says of it."""
    off = from_environment()
    installed = metadata.version("iree-base-compiler")
    return [
        Row(
            w.name,
            w.stage,
            w.defect,
            w.without,
            w.version,
            installed,
            "off" if w.name in off else "on",
        )
        for w in WORKAROUNDS
    ]


def markdown() -> str:
    """The table as a part of a document."""
    parts = []
    for stage, found in groupby(WORKAROUNDS, lambda w: w.stage):
        parts.append(f"### {_STAGES[stage]}\n")
        parts += map(_described, found)
    return "\n".join(parts)


def _described(w: Workaround) -> str:
    test = w.test if w.test.startswith("tests/") else f"plugins/iree_backend/tests/{w.test}"
    unseen = f"Without it: nothing to be seen, {w.because}."
    others = f" (with `{'`, `'.join(w.beside)}` off)" if w.beside else ""
    without = unseen if w.without is Effect.UNSEEN else f"Without it{others}: {w.without}."
    program = textwrap.dedent(w.program).strip()
    return (
        f"**`{w.name}`** ({w.version}). {w.defect} {without}\n"
        f"`plugjax_iree/{w.where}`, `{test}`\n\n```python\n{program}\n```\n"
    )


def written_into(text: str) -> str:
    """A document with the table between its marks.

    Raises:
        ValueError: it lacks the marks.
    """
    head, begin, rest = text.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"the document lacks the lines {BEGIN!r} and {END!r}")
    return f"{head}{BEGIN}\n\n{markdown()}\n{END}{tail}"


def main(arguments: Sequence[str]) -> None:
    """Write the table into a file."""
    (name,) = arguments
    path = Path(name)
    path.write_text(written_into(path.read_text()))


if __name__ == "__main__":
    main(sys.argv[1:])
