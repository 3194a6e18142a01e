"""Blocks of a Markdown page that are executed.

A block is a fence with the name of a directive::

    ```{run}
    :raises: TypeError
    print(1 + "1")
    ```

``run`` is Python, in one namespace for the whole page. ``file`` writes its text into the page's folder. ``command`` is a line of shell, run in
that folder.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

KINDS = ("run", "file", "command")
_FENCE = re.compile(
    rf"^```\{{({'|'.join(KINDS)})\}}[ \t]*([^\n]*)\n(.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL
)
_OPTION = re.compile(r":([\w-]+):[ \t]*(.*)")


@dataclass(frozen=True)
class Block:
    r"""One executed block.

    Attributes:
        kind: one of :data:`KINDS`.
        argument: the name of the file, for ``file``.
        code: the text.
        options: ``raises`` (the type of the expected error), ``typed`` (lines for a debugger, divided by ``;``), ``status`` (a command's exit status),
            ``needs`` (modules or commands without which the block is not run), ``picture`` (the last value is shown as a notebook shows it).
        line: line of the page where the text begins, from 1.

    Example:
        >>> from plugjax.docs.blocks import find
        >>> find("```{run}\n1 + 1\n```\n")[0].code
        '1 + 1\n'
    """

    kind: str
    argument: str
    code: str
    options: dict[str, str] = field(default_factory=dict)
    line: int = 1


def find(text: str) -> list[Block]:
    """The executed blocks of a page, in order."""
    blocks = []
    for match in _FENCE.finditer(text):
        kind, argument, body = match.groups()
        lines = body.splitlines(keepends=True)
        options: dict[str, str] = {}
        while lines and (option := _OPTION.fullmatch(lines[0].rstrip("\n"))):
            options[option[1]] = option[2]
            del lines[0]
        first = text.count("\n", 0, match.start()) + 2 + len(options)
        blocks.append(Block(kind, argument.strip(), "".join(lines), options, first))
    return blocks
