"""Comments and docstrings use the field's words, and speak of the product only."""

import ast
import io
import re
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = sorted(path.parent.name for path in (ROOT / "plugjax").glob("*/__init__.py"))
PLUGINS = ("as_jax", "iree_backend", "numpy_backend", "xla_backend")
# Files of a folder itself, then of folders with all that is below them.
SOURCES = (
    *("*.py", "plugjax/*.py"),
    *(f"plugjax/{name}/**/*.py" for name in PACKAGES),
    *(f"plugins/{name}/**/*.py" for name in PLUGINS),
    *(f"{name}/**/*.py" for name in ("tests", "benchmarks", "examples")),
)
# A pattern, and what to write instead.
WORDS = {
    r"roads?": "path, fast path, slow path",
    r"mend(s|ed|ing)?": "work around, repair",
    r"remember(s|ed|ing)?": "cache, save, record",
    r"noting": "recording",
    r"watch(es|ed|ing|ers?)?": "instrument, check",
    r"makers?": "the function that makes it, defining op",
    r"whoever|whatever|nobody|somebody|anybody": "name who or what it is",
    r"would seem|as it were|so to speak": "say what is so",
    r"goes wrong|went wrong|what came": "the error, the input",
    r"forgets?|forgotten": "drop, ignore, lose",
    r"held against|hold against": "compared with",
    r"now and then": "sometimes",
    r"until now|at hand|was found|this session": "nothing: history is git's",
    r"/work/\S*|/home/\S*": "nothing: the repository speaks of itself",
}
PATTERNS = [
    (re.compile(rf"(?<![\w`/])(?:{p})(?![\w`])", re.IGNORECASE), w) for p, w in WORDS.items()
]


def prose(source):
    """Pairs of line and text: comments, and docstrings without their examples."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            text = ast.get_docstring(node)
            if text:
                yield (node.body[0].lineno, text.split("\nExample:")[0])


def may_have_findings(source):
    """Whether one of the words is somewhere in a file; it is read as Python only then."""
    text = " ".join(source.replace("\\n", " ").split())
    return any(pattern.search(text) for pattern, _ in PATTERNS)


def findings(texts):
    """Lines with words that have a better one; ``texts`` are pairs of line and text."""
    return [
        f"line {line}: {found[0]!r} (write: {instead})"
        for line, text in texts
        for pattern, instead in PATTERNS
        for found in pattern.finditer(" ".join(text.split()))
    ]


@pytest.mark.parametrize("files", SOURCES)
def test_words_of_comments_and_docstrings(files):
    paths = sorted(ROOT.glob(files))
    assert paths
    found = {
        path.relative_to(ROOT).as_posix(): lines
        for path in paths
        if may_have_findings(source := path.read_text()) and (lines := findings(prose(source)))
    }
    assert found == {}


def test_words_of_documents():
    found = {
        path.relative_to(ROOT).as_posix(): lines
        for path in sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
        if (lines := findings(enumerate(path.read_text().splitlines(), 1)))
    }
    assert found == {}


def test_words_are_found_in_comments_and_docstrings_alone():
    source = '"""Cached on the general\nroad."""\nroad = "the road"  # whoever asks\n'
    assert [line.split(":")[0] for line in findings(prose(source))] == ["line 3", "line 1"]
