"""``python -m plugjax.docs [-o FOLDER]``: build the site; no network is needed."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path


def main() -> int:
    """Parse the arguments and build."""
    parser = argparse.ArgumentParser(prog="python -m plugjax.docs", description="Build the site.")
    parser.add_argument("-o", "--output", type=Path, default=Path("build/docs"))
    parser.add_argument("--fresh", action="store_true", help="delete the output first")
    parser.add_argument(
        "--inventories", type=Path, help="folder with python.inv, numpy.inv and jax.inv"
    )
    arguments = parser.parse_args()
    try:
        from plugjax.docs import builder  # noqa: PLC0415  # so that --help works without Sphinx
    except ModuleNotFoundError as error:
        sys.stderr.write(f"{error.name} is missing: pip install '.[docs]'\n")
        return 2
    try:
        site = builder.build(arguments.output.resolve(), arguments.inventories, arguments.fresh)
    except builder.SiteError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write(f"{site / 'index.html'}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
