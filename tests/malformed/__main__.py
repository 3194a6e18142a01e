"""``python -m tests.malformed``: survey malformed calls over the public API against JAX.

Counts calls and kinds of calls (a function and a malformation) that JAX accepts and we refuse, that it refuses and we
accept, and that both refuse with errors of different types.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections import Counter
from pathlib import Path

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("PLUGJAX_BACKEND", "numpy")

from tests.malformed.samples import samples
from tests.malformed.survey import Survey
from tests.malformed.transformations import transformations


def main() -> int:
    parser = argparse.ArgumentParser("python -m tests.malformed", description=__doc__)
    parser.add_argument(
        "--only", default="", help="a regular expression that names of functions match"
    )
    parser.add_argument("--part", default="0/1", help="K/N: every Nth function from the Kth on")
    parser.add_argument("--every", type=int, default=1, help="run one of so many calls")
    parser.add_argument("--first", type=int, default=0, help="which one of so many calls")
    parser.add_argument(
        "--cache", type=Path, help="a file that keeps JAX's answers between surveys"
    )
    parser.add_argument(
        "-o", "--output", type=Path, help="a file for the findings, one JSON object a line"
    )
    options = parser.parse_args()
    part, parts = map(int, options.part.split("/"))
    known = {}
    if options.cache and options.cache.exists():
        known = json.loads(options.cache.read_text())
    survey, findings, functions = Survey(known, options.every, options.first), [], 0
    for i, sample in enumerate([*samples(), *transformations()]):
        if i % parts == part and re.search(options.only, sample.name):
            before = survey.calls
            findings += survey.of(sample)
            functions += survey.calls > before
            if survey.calls == before and options.every == 1:
                sys.stderr.write(f"no sample: {sample.name}\n")
    if options.cache:
        options.cache.write_text(json.dumps(survey.answers))
    if options.output:
        rows = [
            {"function": f.sample, "kind": f.mutation.kind, "text": f.mutation.text, "verdict": f.verdict, "stumble": f.stumble,
             "ours": f.ours, "jax": f.theirs}
            for f in findings
        ]  # fmt: skip
        options.output.write_text("".join(json.dumps(row) + "\n" for row in rows))
    sys.stdout.write(f"{survey.calls} calls of {functions} functions\n")
    counts = Counter(f.verdict + (f" ({f.stumble})" if f.stumble else "") for f in findings)
    kinds = Counter(
        v
        for v, *_ in {
            (f.verdict + (f" ({f.stumble})" if f.stumble else ""), f.sample, f.mutation.role)
            for f in findings
        }
    )
    for verdict, count in counts.items():
        sys.stdout.write(f"{verdict}: {count} calls, {kinds[verdict]} kinds\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
