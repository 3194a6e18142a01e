"""The Sphinx extension: the directives ``run``, ``file`` and ``command``, which show what their blocks print or draw."""

from __future__ import annotations

from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from plugjax.docs import blocks, runner

_logger = logging.getLogger(__name__)
_LANGUAGES = {".toml": "toml", ".py": "python", ".md": "markdown", ".c": "c"}
_KEY = "plugjax_outputs"


def _run_page(app: Sphinx, docname: str, source: list[str]) -> None:
    found = blocks.find(source[0]) if app.config.plugjax_run else []
    outputs: list[runner.Output] = []
    try:
        outputs = runner.run(found, docname)
    except runner.PageError as error:
        _logger.warning("%s", error, location=docname)
    app.env.current_document[_KEY] = outputs


class _Executed(SphinxDirective):
    """Shows a block, and its output below."""

    has_content = True
    optional_arguments = 1
    final_argument_whitespace = True
    option_spec: ClassVar[Any] = {
        "raises": directives.unchanged,
        "typed": directives.unchanged,
        "status": directives.unchanged,
        "needs": directives.unchanged,
        "picture": directives.flag,
    }

    def run(self) -> list[nodes.Node]:
        """The nodes: the code, and what it printed."""
        code = "\n".join(self.content)
        shown = nodes.literal_block(code, code, language=self._language(), classes=["executed"])
        self.set_source_info(shown)
        found: list[nodes.Node] = [shown]
        if self.name == "file":
            caption = nodes.paragraph("", "", nodes.literal("", self.arguments[0]))
            caption["classes"].append("file-name")
            found.insert(0, caption)
        outputs: list[runner.Output] = self.env.current_document.get(_KEY) or []
        if outputs:
            output = outputs.pop(0)
            text = output.text.rstrip("\n")
            if text:
                classes = ["output", "traceback"] if "raises" in self.options else ["output"]
                found.append(nodes.literal_block(text, text, language="text", classes=classes))
            if output.html:
                found.append(nodes.raw(output.html, output.html, format="html"))
        return found

    def _language(self) -> str:
        if self.name == "command":
            return "sh"
        if self.name == "run":
            return "python"
        suffix = self.arguments[0][self.arguments[0].rfind(".") :]
        return _LANGUAGES.get(suffix, "text")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directives, and ``plugjax_run``: whether blocks are run."""
    app.add_config_value("plugjax_run", True, "env", bool)
    for kind in blocks.KINDS:
        app.add_directive(kind, _Executed)
    app.connect("source-read", _run_page)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
