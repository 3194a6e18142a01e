"""``python -m tests.survey``: run short programs over JAX's public modules, and compare with what JAX gave.

``record`` runs them on JAX and writes its answers; ``run --backend NAME`` prints how many agree, by topic, and what differs.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections import Counter

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("PLUGJAX_BACKEND", "numpy")
os.environ.setdefault("PLUGJAX_VERIFY", "off")

from tests.survey import records
from tests.survey.answers import answer, disagreement
from tests.survey.differences import reason
from tests.survey.programs import Program, library, programs


def record(only: str) -> int:
    """Write JAX's answers for the topics that match."""
    jax = library("jax")
    by_topic: dict[str, dict[str, object]] = {}
    for program in programs():
        if re.search(only, program.topic):
            by_topic.setdefault(program.topic, {})[program.name] = answer(program, jax)
    for topic, answers in by_topic.items():
        records.write(topic, jax.__version__, answers)
    return 0


def run(backend: str, only: str) -> int:
    """Print what differs from JAX's answers, and a table."""
    os.environ["PLUGJAX_BACKEND"] = backend
    plugjax = library("plugjax")
    count: Counter[str] = Counter()
    agreed: Counter[str] = Counter()
    on_purpose = 0
    for program in programs():
        if not re.search(only, repr(program)):
            continue
        count[program.topic] += 1
        found = _found(program, plugjax)
        if found is None:
            agreed[program.topic] += 1
        elif reason(repr(program), backend):
            on_purpose += 1
        else:
            sys.stdout.write(f"{program!r} {found}\n")
    for topic, total in count.items():
        sys.stdout.write(f"{topic:20} {agreed[topic]:4} of {total}\n")
    sys.stdout.write(
        f"{'all':20} {agreed.total():4} of {count.total()}, {on_purpose} differ on purpose\n"
    )
    return 0


def _found(program: Program, plugjax: object) -> str | None:
    return disagreement(answer(program, plugjax), records.read(program.topic)[program.name])


def main() -> int:
    parser = argparse.ArgumentParser("python -m tests.survey", description=__doc__)
    parser.add_argument("command", choices=("record", "run"))
    parser.add_argument("--backend", default="numpy", help="numpy, xla or iree")
    parser.add_argument("--only", default="", help="a regular expression for topics or programs")
    options = parser.parse_args()
    return (
        record(options.only) if options.command == "record" else run(options.backend, options.only)
    )


if __name__ == "__main__":
    sys.exit(main())
