"""Docstrings as Markdown: the sections of a docstring become lists and code blocks, and its text is escaped."""

from __future__ import annotations

import inspect
import re
import textwrap
from typing import Any

from plugjax.docs import inventories

_SECTION = re.compile(r"([A-Z][\w' ]{2,40}):")
_LISTS = {"Args", "Attributes", "Raises", "Shapes", "Units"}
_ITEM = re.compile(r"([*\w`., \[\]]+?): (.*)", re.DOTALL)
_CODE = re.compile(r"(``.+?``|:[a-z:]+:`[^`]+`|`[^`\n]+`)", re.DOTALL)
_SPECIAL = re.compile(r"([\\*_\[\]<>#|$`{}~&])")


def inline(text: str) -> str:
    """A paragraph of a docstring as Markdown: code stays code, everything else is plain text."""
    parts = _CODE.split(text)
    for i, part in enumerate(parts):
        if i % 2 == 0:
            parts[i] = _SPECIAL.sub(r"\\\1", part)
        else:
            name = part.rpartition(":")[2] if part.startswith(":") else part
            parts[i] = f"`` {' '.join(name.strip('`').lstrip('~').split())} ``"
    return "".join(parts)


def first_line(value: Any) -> str:
    """The first paragraph of a docstring, in one line of Markdown."""
    doc = inspect.getdoc(value) or ""
    return inline(" ".join(doc.split("\n\n")[0].split()))


def _paragraphs(text: str) -> list[str]:
    found = []
    for part in re.split(r"\n\s*\n", text.strip("\n")):
        if part.lstrip().startswith(">>> "):
            found.append(f"```pycon\n{textwrap.dedent(part)}\n```")
        elif part.startswith("    "):
            found.append(f"```text\n{textwrap.dedent(part)}\n```")
        elif part.lstrip().startswith(("* ", "- ")):
            items = re.split(r"\n(?=[*-] )", textwrap.dedent(part))
            found.append("\n".join("* " + inline(" ".join(i[2:].split())) for i in items))
        elif part.strip():
            found.append(inline(" ".join(part.replace("::", ":").split())))
    return found


def _name(text: str) -> str:
    """What an item begins with, in bold; exceptions of Python are links."""
    words = text.split(", ")
    if inventories.names("python").keys() >= set(words):
        return ", ".join(inventories.link("python", word) for word in words)
    return f"**{inline(text)}**"


def _items(body: str) -> str:
    """``name: text`` with indented continuations, as a list."""
    rows = []
    for part in re.split(r"\n(?=\S)", body.strip("\n")):
        text = " ".join(part.split())
        item = _ITEM.fullmatch(text)
        name = _name(item[1].replace("`", "")) if item else ""
        rows.append(f"* {name}: {inline(item[2])}" if item else f"* {inline(text)}")
    return "\n".join(rows)


def markdown(value: Any) -> str:
    """The whole docstring of an object as Markdown; empty if it has none.

    Example:
        >>> from plugjax.docs.docstrings import markdown
        >>> def f(x):
        ...     '''Twice ``x``.
        ...
        ...     Args:
        ...         x: a number.
        ...     '''
        >>> print(markdown(f))
        Twice `` x ``.
        <BLANKLINE>
        **Args**
        <BLANKLINE>
        * **x**: a number.
    """
    doc = inspect.getdoc(value) or ""
    parts: list[str] = []
    section, lines = "", list[str]()

    def close() -> None:
        body = "\n".join(lines)
        if section:
            parts.append(f"**{section}**")
            body = textwrap.dedent(body)
        if section in _LISTS:
            parts.append(_items(body))
        else:
            parts.extend(_paragraphs(body))

    for line in doc.splitlines():
        head = _SECTION.fullmatch(line)
        if head:
            close()
            section, lines = head[1], []
        elif section and line and not line.startswith(" "):
            close()
            section, lines = "", [line]
        else:
            lines.append(line)
    close()
    return "\n\n".join(part for part in parts if part)
