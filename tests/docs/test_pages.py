"""Code blocks of the site run, generated reference pages are complete, and what they are made of works."""

import re
from pathlib import Path

import pytest

pytest.importorskip("pygments")

import plugjax
from plugjax.cli import parity
from plugjax.docs import (
    blocks,
    commands,
    configuration,
    docstrings,
    error_examples,
    errors,
    hooks,
    links,
    matrix,
    names,
    runner,
    sources,
    staging,
)

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "docs" / "site"
WRITTEN = sorted(
    path for path in SITE.rglob("*.md*") if "tutorials" in path.parts or "howto" in path.parts
)
# Its own tests run these commands too, or they start several processes: they run with --wide.
SLOW = {"classifier", "exporting", "primitive", "transformation", "join", "backend", "command"}


def named(path):
    return path.relative_to(SITE).with_suffix("").as_posix()


@pytest.mark.parametrize("path", [p for p in WRITTEN if p.stem not in SLOW], ids=named)
def test_the_blocks_of_a_page_run(path):
    runner.run(blocks.find(path.read_text()), named(path))


@pytest.mark.spread(6)
@pytest.mark.parametrize("path", [p for p in WRITTEN if p.stem in SLOW], ids=named)
def test_the_blocks_of_a_longer_page_run(path, stopwatch):
    with stopwatch(f"{named(path)}, from nothing to what works"):
        runner.run(blocks.find(path.read_text()), named(path))


def test_a_block_may_show_a_picture():
    text = "```{run}\n:picture:\nimport plugjax\nplugjax.visualize.jaxpr(abs, 1.0)\n```\n"
    (output,) = runner.run(blocks.find(text), "page")
    assert output.text == ""
    assert output.html.startswith("<div")
    assert "abs" in output.html


@pytest.mark.parametrize("name", ["index.md", "start/index.md", "start/which_backend.md"])
def test_the_first_pages_run(name):
    runner.run(blocks.find((SITE / name).read_text()), name)


def test_every_page_ends_with_what_to_read_next():
    pages = [p for p in WRITTEN if p.stem != "index"]
    assert [named(p) for p in pages if "\n## Next\n" not in p.read_text()] == []
    assert len(pages) >= 15


def test_links_between_written_pages_resolve():
    generated = {"developers", "reference", "start/coming_from_jax"}
    wrong = []
    for path in SITE.rglob("*.md*"):
        for target in re.findall(r"\]\(([\w./]+\.md)\)", path.read_text()):
            name = (path.parent / target).resolve().relative_to(SITE).with_suffix("").as_posix()
            exists = (SITE / f"{name}.md").exists()
            if not exists and name.split("/")[0] not in generated and name not in generated:
                wrong.append((named(path), target))
    assert wrong == []


def test_blocks_are_found_with_their_options_and_lines():
    text = "a\n```{run}\n:raises: TypeError\nx\n```\n```python\nno\n```\n```{file} a/b.py\ny\n```\n"
    first, second = blocks.find(text)
    assert (first.kind, first.code, first.options, first.line) == (
        "run", "x\n", {"raises": "TypeError"}, 4,
    )  # fmt: skip
    assert (second.kind, second.argument) == ("file", "a/b.py")


def test_what_a_block_prints_is_captured():
    text = (
        "```{run}\nx = 2\nprint('a')\nx + 1\n```\n```{run}\n:raises: ZeroDivisionError\nx / 0\n```\n"
        "```{run}\n:typed: p x; c\nimport pdb; pdb.set_trace(); y = x\n```\n"
        "```{file} f.py\nprint(5)\n```\n```{command}\npython f.py\n```\n"
    )
    shown = [output.text for output in runner.run(blocks.find(text), "page")]
    assert shown[0] == "a\n3\n"
    assert "ZeroDivisionError: division by zero" in shown[1]
    assert "(Pdb) p x\n2\n" in shown[2]
    assert shown[3:] == ["", "5\n"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("```{run}\n1 / 0\n```\n", "page:2: .*ZeroDivisionError"),
        ("```{run}\n:raises: TypeError\n1\n```\n", "nothing was raised"),
        ("```{command}\nfalse | true\n```\n", "exit status 1"),
        ("```{run}\nimport os; os._exit(3)\n```\n", "ended with 3"),
    ],
)
def test_a_block_that_fails_is_named(text, words):
    with pytest.raises(runner.PageError, match=re.compile(words, re.DOTALL)):
        runner.run(blocks.find(text), "page")


def test_a_docstring_becomes_markdown():
    def f(x):
        """Twice ``x`` of <a> and [b].

        Args:
            x: a number *or*
                two.

        Example:
            >>> 1 + 1
            2
        """

    assert docstrings.markdown(f) == (
        "Twice `` x `` of \\<a\\> and \\[b\\].\n\n**Args**\n\n* **x**: a number \\*or\\* two.\n\n"
        "**Example**\n\n```pycon\n>>> 1 + 1\n2\n```"
    )


PAGES = {page.path: page.text for page in names.pages()}


def test_every_public_name_has_an_entry():
    text = "\n".join(PAGES.values())
    entries = set(re.findall(r"^::::\{py:\w+\} ([\w.]+)", text, re.MULTILINE))
    listed = {f"{space}.{name}" for space in names.namespaces() for name in names.names(space)}
    assert listed == entries
    absent = parity.missing()
    counted = {
        f"plugjax.{space}.{name}"
        for space, found in parity.listed().items()
        for name in set(found) - set(absent[space])
    }
    assert counted - entries == set()
    assert len(entries) > 2000


def test_every_option_and_variable_is_listed():
    options, environment = (page.text for page in configuration.pages())
    for option in configuration.options().values():
        assert f"`jax_{option.name}`" in options
        assert f"`{configuration.variable(option)}`" in environment


def test_every_environment_variable_that_the_code_reads_is_listed():
    known = {name for name, _, _ in configuration.VARIABLES}
    known |= {configuration.variable(option) for option in configuration.options().values()}
    read = set()
    for path in [*ROOT.glob("plugjax/**/*.py"), *ROOT.glob("plugins/*/plugjax_*/**/*.py")]:
        if "applications" not in path.parts:
            read |= set(re.findall(r"[\"'](PLUGJAX_[A-Z][A-Z0-9_]+)[\"']", path.read_text()))
    # The prefix of two variables.
    assert {name for name in read if not name.endswith("_")} - known == set()


def test_every_hook_has_its_arguments():
    (page,) = hooks.pages()
    for name in hooks.names():
        assert f"({name})=" in page.text
    assert "| `jaxpr` | `ClosedJaxpr` |" in page.text


def test_every_error_has_a_section_and_an_example():
    (page,) = errors.pages()
    # Bases of others, and a warning about plugins that are installed.
    without = {"JAXTypeError", "JAXIndexError", "PluginWarning"}
    assert set(error_examples.EXAMPLES) == set(errors.types()) - without
    assert all(f"## `{name}`" in page.text for name in errors.types())
    runner.run(blocks.find(page.text), "errors")


def test_every_command_is_listed():
    (page,) = commands.pages()
    assert {"demo", "export", "cache clear", "docs"} <= set(commands.commands())
    assert all(f"## `plugjax {name}`" in page.text for name in commands.commands())


CELLS = matrix.rows()


def test_the_matrix_has_every_primitive_and_a_line_of_source():
    assert {"sin", "scan", "dot_general"} <= set(CELLS)
    assert CELLS["sin"]["numpy"].provider == "numpy"
    assert CELLS["sin"]["linearize"].state == "derived"
    assert CELLS["nextafter"]["jvp"].state == "absent"
    assert CELLS["nextafter"]["jvp"].because
    data = matrix.data(CELLS, ROOT)
    assert len(data["rows"]) == len(CELLS)
    for row in CELLS.values():
        for cell in row.values():
            if cell.file:
                assert len(Path(cell.file).read_text().splitlines()) >= cell.line > 0


def test_paths_of_sources():
    assert sources.address(plugjax.__file__, 3, ROOT) == "source/plugjax/__init__.py.html#L3"


def test_broken_links_are_found(tmp_path):
    (tmp_path / "a.html").write_text(
        '<p id="x"></p><a href="b.html#y">1</a><a href="#x">2</a><a href="c.html">3</a>'
        '<a href="https://example.org/z">4</a><a href="b.html#z">5</a>'
    )
    (tmp_path / "b.html").write_text('<p id="y"></p>')
    assert links.broken(tmp_path) == ["a.html: b.html#z", "a.html: c.html"]


def test_pages_that_are_no_more_are_deleted(tmp_path):
    staging.stage([staging.Page("a", "1"), staging.Page("b/c", "2")], tmp_path)
    staging.stage([staging.Page("b/c", "2")], tmp_path)
    assert [p.name for p in tmp_path.rglob("*.md")] == ["c.md"]
