"""``python -m plugjax_as_jax program.py arguments``, or ``-m module arguments``: the program's ``jax`` is plugjax."""

from __future__ import annotations

import sys

from plugjax.cli.programs import run
from plugjax_as_jax.finder import install, shadowed
from plugjax_as_jax.report import report

_USAGE = """\
usage: python -m plugjax_as_jax [--report] program.py [arguments]
       python -m plugjax_as_jax [--report] -m module [arguments]
       python -m plugjax_as_jax --shadowed

--report    at the end, print the names of JAX that were looked up and that plugjax lacks
--shadowed  print which real jax is installed and not used
The backend is PLUGJAX_BACKEND=numpy|xla|iree."""


def main(arguments: list[str]) -> int:
    """Run the program, or answer; the exit status."""
    reports = arguments[:1] == ["--report"]
    program = arguments[reports:]
    if program == ["--shadowed"]:
        print(shadowed() or "no real jax is installed")  # noqa: T201
        return 0
    if not program or program[0] in ("-h", "--help"):
        print(_USAGE)  # noqa: T201
        return 0 if program else 2
    install()
    try:
        run(program)
    finally:
        if reports:
            print(report(), file=sys.stderr)  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
