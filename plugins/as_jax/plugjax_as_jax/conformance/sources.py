"""Source distributions, fetched by pip in the version that is installed and unpacked once."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import platformdirs


def source_of(library: str) -> Path:
    """The folder of a library's unpacked source distribution, which pip fetches if it is not there yet.

    Raises:
        ValueError: the library is not installed, or pip finds no source distribution of its version.
    """
    try:
        version = importlib.metadata.version(library)
    except importlib.metadata.PackageNotFoundError:
        raise ValueError(f"{library} is not installed.") from None
    kept = Path(platformdirs.user_cache_dir("plugjax", appauthor=False)) / "sources"
    unpacked = kept / f"{library}-{version}"
    if not unpacked.is_dir():
        kept.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=kept) as folder:
            unpack(_fetched(f"{library}=={version}", Path(folder)), unpacked)
    return unpacked


def unpack(archive: Path, folder: Path) -> None:
    """Unpack an archive with one folder in it; that folder gets the name that is given."""
    with (
        tempfile.TemporaryDirectory(dir=archive.parent) as beside,
        tarfile.open(archive) as opened,
    ):
        opened.extractall(beside, filter="data")
        (inner,) = Path(beside).iterdir()
        inner.rename(folder)


def _fetched(requirement: str, folder: Path) -> Path:
    options = ["--quiet", "--no-binary", ":all:", "--no-deps", "--dest", str(folder)]
    done = subprocess.run(
        [sys.executable, "-m", "pip", "download", *options, requirement],
        capture_output=True,
        text=True,
        check=False,
    )
    archives = sorted(folder.glob("*.tar.gz"))
    if not archives:
        said = done.stderr.strip().splitlines()
        raise ValueError(
            f"pip has no source distribution of {requirement}: {said[-1] if said else ''}"
        )
    return archives[0]
