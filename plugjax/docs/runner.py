"""Run the blocks of a page in a process of their own, in an empty folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import plugjax
from plugjax.docs.blocks import Block


class PageError(RuntimeError):
    """A block of a page failed."""


@dataclass(frozen=True)
class Output:
    """What a block printed, and the picture that is its value, if it asks for that."""

    block: Block
    text: str
    html: str = ""


def _environment() -> dict[str, str]:
    """The environment of a user: the tools of this Python first, and a terminal of 100 columns."""
    tools = str(Path(sys.executable).parent)
    path = os.pathsep.join([tools, os.environ.get("PATH", "")])
    # The tests' backend and options are not the reader's.
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PLUGJAX_", "JAX_", "PYTEST"))}
    cache = os.environ.get("PLUGJAX_CACHE_DIR")
    return {
        **kept,
        **({"PLUGJAX_CACHE_DIR": cache} if cache else {}),
        "PATH": path,
        "COLUMNS": "100",
        "NO_COLOR": "1",
        "TF_CPP_MIN_LOG_LEVEL": "1",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }


def run(blocks: Sequence[Block], page: str, timeout: float = 300) -> list[Output]:
    """Run the blocks of a page.

    Args:
        blocks: in order.
        page: the page's name, for messages.
        timeout: seconds for the whole page.

    Raises:
        PageError: a block failed; the message has its line and its output.
    """
    if not blocks:
        return []
    with tempfile.TemporaryDirectory() as folder:
        try:
            done = subprocess.run(
                [sys.executable, "-m", "plugjax.docs.page_process"],
                input=json.dumps([asdict(block) for block in blocks]),
                cwd=folder,
                env=_environment(),
                capture_output=True,
                text=True,
                timeout=timeout,
            )
        except subprocess.TimeoutExpired:
            raise PageError(f"{page}: not done after {timeout:.0f} seconds") from None
    last = done.stdout.rpartition("\n")[2]
    if done.returncode != 0 or not last.startswith("["):
        raise PageError(f"{page}: the process ended with {done.returncode}\n{done.stderr[-3000:]}")
    outputs = []
    for block, result in zip(blocks, json.loads(last), strict=False):
        if result["fault"]:
            raise PageError(f"{page}:{block.line}: {result['fault']}")
        text, html = (_without_places(result.get(form, "")) for form in ("output", "html"))
        outputs.append(Output(block, text, html))
    return outputs


def _without_places(text: str) -> str:
    """Paths of the framework's files from ``plugjax/`` on, so that the pages are the same on each machine."""
    root = str(Path(plugjax.__file__).resolve().parents[1]) + os.sep
    return text.replace(root, "")
