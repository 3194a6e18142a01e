"""Files of the source as pages with an anchor for each line, ``source/<path>.html#L12``."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

_STYLE = """
body { background: Canvas; color: CanvasText; margin: 1rem; }
:root { color-scheme: light dark; }
pre { line-height: 1.35; }
pre span:target, a:target { background: rgba(255, 200, 0, 0.35); }
"""


def relative(filename: str, root: Path) -> str:
    """A file's path below the repository, or below the folder that Python imports it from."""
    path = Path(filename).resolve()
    folders = [root, *(Path(entry).resolve() for entry in sys.path if entry)]
    for folder in folders:
        if path.is_relative_to(folder):
            return path.relative_to(folder).as_posix()
    return path.name


def address(filename: str, line: int, root: Path) -> str:
    """The address of a line in the site."""
    return f"source/{relative(filename, root)}.html#L{line}"


def write(files: Iterable[str], root: Path, site: Path) -> None:
    """Write the pages of ``files`` into the site."""
    formatter = HtmlFormatter(lineanchors="L", linespans=None, nobackground=True)
    rules = formatter.get_style_defs("pre")
    for filename in sorted(set(files)):
        name = relative(filename, root)
        target = site / "source" / f"{name}.html"
        target.parent.mkdir(parents=True, exist_ok=True)
        text = highlight(Path(filename).read_text(encoding="utf-8"), PythonLexer(), formatter)
        text = (
            text.replace('id="L-', 'id="L')
            .replace('name="L-', 'name="L')
            .replace('href="#L-', 'href="#L')
        )
        target.write_text(
            f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{name}</title>'
            f"<style>{_STYLE}@media (prefers-color-scheme: light) {{ {rules} }}</style></head><body><h1>{name}</h1>{text}</body></html>\n",
            encoding="utf-8",
        )
