"""Formulas of a page as MathML, which browsers draw without a script and without network; docutils translates them.

A dot or a bar above a letter becomes one character with the letter: where no font for mathematics is installed, browsers draw a separate accent into the
letter. Docutils puts the index of such a letter below it, and here it stands beside.
"""

from __future__ import annotations

import unicodedata
from typing import Any, NoReturn
from xml.etree import ElementTree

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx

_SPACE = "http://www.w3.org/1998/Math/MathML"
# Docutils' accents, and the characters that combine with the letter before.
_ACCENTS = {"˙": "\N{COMBINING DOT ABOVE}", "ˉ": "\N{COMBINING MACRON}"}


def mathml(formula: str, block: bool = False) -> str:
    r"""A formula of TeX as MathML.

    Example:
        >>> from plugjax.docs.mathematics import mathml
        >>> print(mathml(r"\dot v_i").partition(">")[2])
        <msub><mi class="accented">v̇</mi><mi>i</mi></msub></math>
    """
    ElementTree.register_namespace("", _SPACE)
    tree = ElementTree.fromstring(tex2mathml(formula, as_block=block))
    for element in list(tree.iter()):
        # Docutils indents elements; spaces of words are meant.
        if element.tag != f"{{{_SPACE}}}mtext":
            element.text = (element.text or "").strip()
        element.tail = (element.tail or "").strip()
    for element in list(tree.iter()):
        accent = _ACCENTS.get(element[-1].text or "") if len(element) else None
        if accent is not None:
            _combine(element, accent)
    return ElementTree.tostring(tree, encoding="unicode")


def _combine(element: ElementTree.Element, accent: str) -> None:
    """A letter, perhaps its index, and an accent as a letter with the accent, and the index beside it."""
    letter, *index = list(element)[:-1]
    element.clear()
    accented = element
    if index:
        element.tag = f"{{{_SPACE}}}msub"
        accented = ElementTree.SubElement(element, "")
        element.extend(index)
    accented.tag = f"{{{_SPACE}}}mi"
    accented.set("class", "accented")
    accented.text = unicodedata.normalize("NFC", (letter.text or "") + accent)


def _inline(translator: Any, node: nodes.math) -> NoReturn:
    translator.body.append(mathml(node.astext()))
    raise nodes.SkipNode


def _block(translator: Any, node: nodes.math_block) -> NoReturn:
    translator.body.append(f'<div class="formula">{mathml(node.astext(), block=True)}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer under the name ``mathml``."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
