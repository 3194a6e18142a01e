"""Build wheels and sdists of all distributions into a folder: the same bytes from the same commit.

``python .ci/release.py dist`` needs the package ``build``. Times in the files are that of the last commit, or of
``SOURCE_DATE_EPOCH``. The version is that of ``plugjax/__init__.py`` for all of them; ``CITATION.cff`` must say the same.
"""

import gzip
import io
import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DISTRIBUTIONS = (
    ROOT,
    *(ROOT / "plugins" / n for n in ("numpy_backend", "xla_backend", "iree_backend", "as_jax")),
)


def versions() -> dict[str, str]:
    """The version that each file says, by its path."""
    files = {
        "plugjax/__init__.py": r'^__version__ = "(.+)"',
        "CITATION.cff": r"^version: (.+)",
    }
    found = {}
    for name, pattern in files.items():
        match = re.search(pattern, (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE)
        found[name] = match[1] if match else ""
    return found


def build(distribution: Path, output: Path, epoch: str) -> None:
    """Build the sdist of a distribution, and the wheel from it."""
    subprocess.run(
        [
            sys.executable,
            "-m",
            "build",
            "--no-isolation",
            "--outdir",
            str(output),
            str(distribution),
        ],
        env={**os.environ, "SOURCE_DATE_EPOCH": epoch},
        check=True,
        stdout=subprocess.DEVNULL,
    )


def normalise(sdist: Path, epoch: int) -> None:
    """Write an sdist again, with one time and no owners; setuptools takes those of the files."""
    packed = io.BytesIO()
    with tarfile.open(sdist) as old, tarfile.open(fileobj=packed, mode="w") as new:
        for item in sorted(old.getmembers(), key=lambda m: m.name):
            content = old.extractfile(item)
            item.mtime, item.uid, item.gid, item.uname, item.gname = epoch, 0, 0, "", ""
            item.mode = 0o755 if item.isdir() else 0o644
            item.pax_headers = {}
            new.addfile(item, content)
    sdist.write_bytes(gzip.compress(packed.getvalue(), mtime=epoch))


def main(output: Path, distributions: tuple[Path, ...] = DISTRIBUTIONS) -> None:
    """Build them all."""
    if len(set(versions().values())) != 1:
        sys.exit(f"versions differ: {versions()}. plugjax/__init__.py says what they should be.")
    epoch = (
        os.environ.get("SOURCE_DATE_EPOCH")
        or subprocess.run(
            ["git", "log", "-1", "--format=%ct"],
            cwd=ROOT,
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()
    )
    for distribution in distributions:
        build(distribution, output, epoch)
    for sdist in output.glob("*.tar.gz"):
        normalise(sdist, int(epoch))


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
