"""Print how large the packages are: files and lines of each, and the largest file."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def packages() -> dict[str, list[Path]]:
    """Python files by package: those of ``plugjax`` one level down, those of plugins as a whole, tests apart."""
    found: dict[str, list[Path]] = {}
    for path in sorted(ROOT.glob("plugjax/**/*.py")):
        parts = path.relative_to(ROOT).parts
        name = "/".join(parts[:2]) if len(parts) > 2 else "plugjax"
        found.setdefault(name, []).append(path)
    for folder in sorted([*ROOT.glob("plugins/*/plugjax_*"), ROOT / "tests", ROOT / "benchmarks"]):
        files = sorted(folder.rglob("*.py"))
        if files:
            found[str(folder.relative_to(ROOT))] = files
    return found


def lines(path: Path) -> int:
    """Number of lines of a file."""
    return path.read_text(encoding="utf-8").count("\n")


def main() -> None:
    """Print the table."""
    rows = {name: [(lines(p), p.name) for p in files] for name, files in packages().items()}
    for name, sizes in rows.items():
        largest, file = max(sizes)
        sys.stdout.write(
            f"{name:42} {len(sizes):4} files {sum(n for n, _ in sizes):6} lines, largest {file} {largest}\n"
        )


if __name__ == "__main__":
    main()
