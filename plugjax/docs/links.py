"""Check of a built site: every internal link leads to a file, and to an anchor in it."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect anchors and links."""
        for name, value in attrs:
            if value and (name == "id" or (tag == "a" and name == "name")):
                self.anchors.add(value)
            elif value and name in ("href", "src"):
                self.links.append(value)


def _parsed(path: Path) -> _Page:
    page = _Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def broken(site: Path) -> list[str]:
    """Links that lead nowhere, as ``page: link``; links to other hosts are not followed."""
    # `_static` holds files of the theme, templates among them.
    written = [p for p in site.rglob("*.html") if p.relative_to(site).parts[0] != "_static"]
    pages = {path.resolve(): _parsed(path) for path in written}
    found = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchor = unquote(parts.fragment)
            exists = target.is_file() if target not in pages else True
            known = not anchor or target not in pages or anchor in pages[target].anchors
            if not exists or not known:
                found.append(f"{path.relative_to(site.resolve())}: {link}")
    return sorted(set(found))
