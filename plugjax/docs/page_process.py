"""The process in which the blocks of one page run: JSON in on stdin, JSON out on stdout.

Python blocks share one namespace, and the value of a last expression is shown as an interactive session shows it. Sources go into
``linecache``, so that tracebacks and pdb show their lines.
"""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import io
import json
import linecache
import shutil
import subprocess
import sys
import traceback
import types
from pathlib import Path
from typing import Any, TextIO


class _Typed(io.StringIO):
    """Lines that a person would type; each is shown where it is read."""

    def __init__(self, text: str, screen: TextIO) -> None:
        super().__init__("".join(line.strip() + "\n" for line in text.split(";")))
        self._screen = screen

    def readline(self, size: int = -1, /) -> str:  # type: ignore[override]  # the stubs take the base class of bytes
        """The next line."""
        line = super().readline(size)
        self._screen.write(line)
        return line


def _error_text(error: BaseException, filename: str) -> str:
    """The traceback from the page's own frames on."""
    tb = error.__traceback__
    while tb is not None and tb.tb_frame.f_code.co_filename != filename:
        tb = tb.tb_next
    return "".join(traceback.format_exception(type(error), error, tb))


def _execute(code: str, filename: str, namespace: dict[str, Any], picture: bool) -> str:
    """Run statements; print the value of the last one, if it is an expression and not None, or return its HTML."""
    linecache.cache[filename] = (len(code), None, code.splitlines(keepends=True), filename)
    tree = ast.parse(code, filename)
    last = tree.body[-1] if tree.body else None
    if isinstance(last, ast.Expr):
        del tree.body[-1]
    exec(compile(tree, filename, "exec"), namespace)
    if isinstance(last, ast.Expr):
        value = eval(compile(ast.Expression(last.value), filename, "eval"), namespace)
        if picture:
            return str(value._repr_html_())
        if value is not None:
            sys.stdout.write(f"{value!r}\n")
    return ""


def _run(block: dict[str, Any], filename: str, namespace: dict[str, Any]) -> dict[str, Any]:
    """The output of a Python block, and what is wrong with it, if anything is."""
    screen, wanted, fault = io.StringIO(), block["options"].get("raises"), ""
    typed = block["options"].get("typed")
    picture, shown = "picture" in block["options"], ""
    stdin = sys.stdin
    with contextlib.redirect_stdout(screen), contextlib.redirect_stderr(screen):
        if typed is not None:
            sys.stdin = _Typed(typed, screen)
        try:
            shown = _execute(block["code"], filename, namespace, picture)
            fault = f"expected {wanted}, but nothing was raised" if wanted else ""
        except BaseException as error:
            screen.write(_error_text(error, filename))
            names = [base.__name__ for base in type(error).__mro__]
            if wanted not in names:
                fault = screen.getvalue()
        finally:
            sys.stdin = stdin
    return {"output": screen.getvalue(), "fault": fault, "html": shown}


def _command(block: dict[str, Any]) -> dict[str, Any]:
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", block["code"]],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    expected = int(block["options"].get("status", 0))
    fault = f"exit status {done.returncode}\n{done.stdout}" if done.returncode != expected else ""
    return {"output": done.stdout, "fault": fault}


def _missing(block: dict[str, Any]) -> list[str]:
    """What the block needs and this environment lacks: modules, or commands."""
    needs = block["options"].get("needs", "").split()
    return [n for n in needs if not (shutil.which(n) or importlib.util.find_spec(n))]


def _not_run(missing: list[str]) -> dict[str, Any]:
    text = f"(not run when this page was built: {', '.join(missing)} was missing)\n"
    return {"output": text, "fault": ""}


def _file(block: dict[str, Any]) -> dict[str, Any]:
    path = Path(block["argument"])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(block["code"], encoding="utf-8")
    return {"output": "", "fault": ""}


def _fault_of_imports(namespace: dict[str, Any]) -> str:
    """What is wrong if the page uses JAX itself, which ``import jax`` gives outside of the alias.

    That it is loaded says nothing: jaxlib before 0.11 does so by itself where several devices are used and JAX is installed.
    """
    for value in namespace.values():
        file = str(getattr(value, "__file__", None) or "")
        if getattr(value, "__name__", "").partition(".")[0] == "jax" and "plugjax" not in file:
            return f"the page uses JAX from {file}"
    return ""


def main() -> None:
    """Run the blocks; stop at the first fault."""
    page = types.ModuleType("__main__")
    sys.modules["__main__"] = page
    sys.path.insert(0, "")
    results: list[dict[str, Any]] = []
    for index, block in enumerate(json.load(sys.stdin)):
        if missing := _missing(block):
            results.append(_not_run(missing))
        elif block["kind"] == "run":
            name = f"<block {index + 1}>"
            results.append(_run(block, name, page.__dict__))
            results[-1]["fault"] = results[-1]["fault"] or _fault_of_imports(page.__dict__)
        else:
            results.append(_command(block) if block["kind"] == "command" else _file(block))
        if results[-1]["fault"]:
            break
    # Folders of this machine are of no interest to readers.
    text = json.dumps(results).replace(json.dumps(str(Path.cwd()) + "/")[1:-1], "")
    sys.stdout.write("\n" + text)


if __name__ == "__main__":
    main()
