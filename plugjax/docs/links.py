"""Check of a built site: every internal link leads to a file, and to an anchor in it."""

from __future__ import annotations

import html
import os.path
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

# Sphinx and this package write every attribute in double quotes; a parser of HTML would take most of the build's time.
_TAG = re.compile(r'<(\w+)(\s(?:[^<>"]+|"[^"]*")+)>')
_ATTRIBUTE = re.compile(r'\s(id|name|href|src)="([^"]+)"')
_SCRIPT = re.compile(r"<(script|style)\b([^>]*)>.*?</\1>", re.DOTALL)


def _attributes(text: str) -> tuple[set[str], set[str]]:
    """Anchors and links of a page."""
    anchors: set[str] = set()
    links: set[str] = set()
    for name, attributes in _TAG.findall(_SCRIPT.sub(r"<\1\2>", text)):
        for kind, value in _ATTRIBUTE.findall(attributes):
            value = html.unescape(value)
            if kind in ("href", "src"):
                links.add(value)
            elif kind == "id" or name == "a":
                anchors.add(value)
    return anchors, links


def broken(site: Path) -> list[str]:
    """Links that lead nowhere, as ``page: link``; links to other hosts are not followed."""
    # `_static` holds files of the theme, templates among them.
    written = [p for p in site.rglob("*.html") if p.relative_to(site).parts[0] != "_static"]
    pages = {str(path): _attributes(path.read_text(encoding="utf-8")) for path in written}
    found = []
    for path, (_, links) in pages.items():
        for link in links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            folder, anchor = os.path.dirname(path), unquote(parts.fragment)
            target = (
                os.path.normpath(os.path.join(folder, unquote(parts.path))) if parts.path else path
            )
            if target in pages:
                exists = not anchor or anchor in pages[target][0]
            else:
                exists = os.path.isfile(target)
            if not exists:
                found.append(f"{os.path.relpath(path, site)}: {link}")
    return sorted(found)
