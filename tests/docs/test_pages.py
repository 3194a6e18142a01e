"""Code blocks of the site run, generated reference pages are complete, and what they are made of works."""

import ast
import builtins
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pygments")

import plugjax
from plugjax.cli import parity
from plugjax.core import registry
from plugjax.docs import (
    blocks,
    commands,
    configuration,
    docstrings,
    error_examples,
    errors,
    hooks,
    house,
    house_page,
    links,
    matrix,
    names,
    package_errors,
    runner,
    sources,
    staging,
)

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "docs" / "site"
PARTS = ("tutorials", "howto", "how_it_works")
WRITTEN = sorted(path for part in PARTS for path in (SITE / part).rglob("*.md*"))
# They train, or start several processes. Of these and of the others a sample runs always; all run with --wide, and with -m site when the site is
# built.
SLOW = {
    *("classifier", "transformer", "bayesian", "exporting"),
    *("primitive", "transformation", "join", "backend", "option", "exporter", "devices", "command"),
}


def named(path):
    return path.relative_to(SITE).with_suffix("").as_posix()


@pytest.mark.spread(8)
@pytest.mark.parametrize("path", [p for p in WRITTEN if p.stem not in SLOW], ids=named)
def test_the_blocks_of_a_page_run(path):
    runner.run(blocks.find(path.read_text()), named(path))


@pytest.mark.spread(12)
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
    assert len(pages) >= 25


def test_links_between_written_pages_resolve():
    generated = {"developers", "reference", "start/coming_from_jax", "how_it_works/house"}
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
        ("```{run}\nimport jax\n```\n", "page:2: the page uses JAX from"),
    ],
)
def test_a_block_that_fails_is_named(text, words):
    with pytest.raises(runner.PageError, match=re.compile(words, re.DOTALL)):
        runner.run(blocks.find(text), "page")


def test_a_block_is_not_run_where_what_it_needs_is_missing():
    text = (
        "```{run}\n:needs: no_such_module numpy\n1 / 0\n```\n```{run}\n:needs: numpy bash\n3\n```\n"
        "```{command}\n:needs: no_such_command\nfalse\n```\n"
    )
    shown = [output.text for output in runner.run(blocks.find(text), "page")]
    assert shown == [
        "(not run when this page was built: no_such_module was missing)\n", "3\n",
        "(not run when this page was built: no_such_command was missing)\n",
    ]  # fmt: skip


def test_formulas_become_mathml():
    pytest.importorskip("sphinx")
    from plugjax.docs.mathematics import mathml

    text = (SITE / "how_it_works" / "mathematics.md").read_text()
    prose = re.sub(r"`[^`]*`", "", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    formulas = re.findall(r"\$\$(.*?)\$\$|\$([^$\n]+)\$", prose, re.DOTALL)
    assert len(formulas) > 50
    for block, inline in formulas:
        assert mathml(block or inline, block=bool(block)).startswith("<math")
    assert mathml(r"\bar y").partition(">")[2] == '<mi class="accented">ȳ</mi></math>'


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


def test_every_variable_of_another_program_that_the_code_reads_is_listed():
    (_, environment) = configuration.pages()
    read = set()
    for path in [*ROOT.glob("plugjax/**/*.py"), *ROOT.glob("plugins/*/plugjax_*/**/*.py")]:
        if not {"applications", "conformance", "docs", "fuzz"} & set(path.parts):
            text = path.read_text()
            read |= set(
                re.findall(r"environ\w*(?:\.get\(|\.setdefault\(|\[)[\"']([A-Z]\w+)[\"']", text)
            )
            read |= set(re.findall(r"[\"']((?:SLURM|OMPI|XLA|JAX|TF)_[A-Z_0-9]{4,})[\"']", text))
    others = {name for name in read if not name.startswith("PLUGJAX_")}
    assert others >= {"XLA_FLAGS", "SLURM_PROCID", "JOB_COMPLETION_INDEX"}
    missing = {name for name in others if f"`{name}`" not in environment.text}
    assert missing == set()


def test_every_error_that_leaves_the_framework_is_documented():
    # Caught in the module that raises them, or bases and tools of the tests and the site.
    inside = {
        *("DiedError", "NothingFitsError", "RefusedError", "ReplayError", "TooLongError", "UndescribedError"),
        *("UnfilteredStackTrace", "PageError", "SiteError", "FolderNotPrivateError"),
    }  # fmt: skip
    bases, defined = {}, {}
    for path in [*ROOT.glob("plugjax/**/*.py"), *ROOT.glob("plugins/*/plugjax_*/**/*.py")]:
        if "applications" not in path.parts:
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.ClassDef):
                    names_of_bases = [ast.unparse(base).rpartition(".")[2] for base in node.bases]
                    bases[node.name] = names_of_bases
                    defined[node.name] = path

    def is_error(name, seen=()):
        if name in bases and name not in seen:
            return any(is_error(base, (*seen, name)) for base in bases[name])
        found = getattr(builtins, name, None)
        return isinstance(found, type) and issubclass(found, BaseException)

    listed = {path.rpartition(".")[2] for path in package_errors.found()} | set(errors.types())
    unknown = {n for n in bases if is_error(n) and not n.startswith("_")} - listed - inside
    assert {name: str(defined[name]) for name in unknown} == {}


def test_every_hook_has_its_arguments():
    (page,) = hooks.pages()
    for name in hooks.names():
        assert f"({name})=" in page.text
    assert "| `jaxpr` | `ClosedJaxpr` |" in page.text


ERROR_PAGES = {page.path.removeprefix("reference/errors/"): page.text for page in errors.pages()}


def test_every_error_has_a_page_with_an_example():
    # Bases of others, and a warning about plugins that are installed.
    without = {"JAXTypeError", "JAXIndexError", "PluginWarning"}
    assert set(error_examples.EXAMPLES) == set(errors.types()) - without
    assert set(ERROR_PAGES) == {"index", *errors.types(), *package_errors.found()}
    assert all(
        f"[`{path}`]({path}.md)" in ERROR_PAGES["index"] for path in ERROR_PAGES if path != "index"
    )
    # Of packages: bases and names without a use here, and what takes another process, a fault or a missing package.
    silent = {path for path, (found, _) in package_errors.found().items() if not found.example.code}
    assert {path.rpartition(".")[2] for path in silent} == {
        "JaxException", "CuSparseEfficiencyWarning", "BarrierTimeoutError", "ProcessFailureError",
        "HostCallbackError", "ClientUnavailable", "HelperDiedError",
    }  # fmt: skip


def test_the_programs_of_the_pages_of_errors_raise_them():
    # On the site each page has a process of its own; here one runs them all, those first that choose the number of devices.
    pages = sorted(ERROR_PAGES.values(), key=lambda text: "jax_num_cpu_devices" not in text)
    assert "jax_num_cpu_devices" in pages[0]
    runner.run(blocks.find("\n".join(pages)), "errors")


def test_every_command_is_listed():
    (page,) = commands.pages()
    assert {"demo", "export", "cache clear", "docs"} <= set(commands.commands())
    assert all(f"## `plugjax {name}`" in page.text for name in commands.commands())


def test_every_module_that_is_a_program_is_listed():
    found = {
        ".".join(path.relative_to(folder).parts[:-1])
        for folder in (ROOT, *ROOT.glob("plugins/*"))
        for path in folder.glob("plugjax*/**/__main__.py")
    }
    assert found == {module for module, _ in commands.MODULES}


CELLS = matrix.rows()


def test_the_matrix_has_every_primitive_and_a_line_of_source():
    assert {"sin", "scan", "dot_general"} <= set(CELLS)
    assert CELLS["sin"]["numpy"].provider == "numpy"
    assert CELLS["sin"]["linearize"].state == "derived"
    assert CELLS["nextafter"]["jvp"].state == "absent"
    assert CELLS["nextafter"]["jvp"].because
    data = matrix.data(CELLS, ROOT)
    assert len(data["rows"]) == len(CELLS)
    assert {rule.kind.name for rule in registry.active().rules()} - set(data["columns"]) == {
        "lowering", "impl", "error_check", "taylor",
    }  # fmt: skip
    assert CELLS["sin"]["work"].provider == "lax"
    assert CELLS["scan"]["dce"].provider == "lax"
    for row in CELLS.values():
        for cell in row.values():
            if cell.file:
                assert len(Path(cell.file).read_text().splitlines()) >= cell.line > 0


def test_paths_of_sources():
    assert sources.address(plugjax.__file__, 3, ROOT) == "source/plugjax/__init__.py.html#L3"


ROOMS = house.rooms(ROOT)


def test_the_house_has_a_room_for_every_package():
    packages = {p.parent.name for p in (ROOT / "plugjax").glob("*/__init__.py")}
    plugins = {p.parent.name for p in ROOT.glob("plugins/*/plugjax_*/__init__.py")}
    assert set(ROOMS) == packages | plugins | {house.ROOF}
    assert all(room.purpose and room.changes and room.files for room in ROOMS.values())
    assert ROOMS["lax"].files["plugjax/lax/trigonometric.py"]


def test_imports_of_the_house_point_downwards():
    upwards = [
        (room.name, name)
        for room in ROOMS.values()
        for name in room.imports
        if room.floor >= 0 and name != house.ROOF and ROOMS[name].floor >= room.floor
    ]
    # The map of hooks names the types that hooks take.
    assert upwards == [("core", "execution")]
    assert ROOMS["lax"].imports["extend"] > 50
    assert "numpy" in ROOMS["scipy"].imports
    assert ROOMS["plugjax_numpy"].imports["lax"] > 10


def test_a_package_without_a_row_in_the_architecture_is_named(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "architecture.md").write_text("| `plugjax` | names | names |\n")
    (tmp_path / "plugjax" / "new").mkdir(parents=True)
    (tmp_path / "plugjax" / "new" / "__init__.py").write_text("")
    with pytest.raises(ValueError, match="no row for the package new"):
        house.rooms(tmp_path)


def test_the_picture_of_the_house_says_who_imports_a_room():
    facts = house_page.data(ROOMS, {"plugjax/lax/trigonometric.py"})
    assert facts["lax"]["users"]["numpy"] == ROOMS["numpy"].imports["lax"]
    linked = {file["path"] for file in facts["lax"]["files"] if file["page"]}
    assert linked == {"plugjax/lax/trigonometric.py"}
    assert house_page.picture(ROOMS).count('class="room"') == len(ROOMS)


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


def test_names_link_to_those_of_jax_and_numpy():
    entry = names._entry("plugjax.numpy.linalg", "norm")
    assert "{external+jax:py:obj}`jax.numpy.linalg.norm`" in entry
    assert "{external+numpy:py:obj}`numpy.linalg.norm`" in entry
    assert "Elsewhere" not in names._entry("plugjax.visualize", "record_memory")


# Names take most of a build: every eighth module's are written, all with --wide, and blocks are not run, which other tests do.
BUILD = """
import sys
from pathlib import Path
from plugjax.docs import builder, names
every = int(sys.argv[2])
found = names.namespaces()
names.namespaces = lambda: found[::every]
builder.build(Path(sys.argv[1]), run=False)
assert "jax" not in sys.modules
"""


@pytest.mark.timeout(900)
def test_the_site_builds_without_warnings_and_with_links_that_lead_somewhere(tmp_path, request):
    pytest.importorskip("sphinx")
    every = 1 if request.config.getoption("--wide") else 8
    done = subprocess.run(
        [sys.executable, "-c", BUILD, str(tmp_path), str(every)],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    found = list((tmp_path / "html").rglob("*.html"))
    named = "".join(path.read_text() for path in found if path.parent.name == "names")
    assert 'href="https://docs.jax.dev/en/latest/_autosummary/jax.' in named
    assert 'href="https://docs.python.org/3/library/exceptions.html#ValueError"' in named
    written = {path.stem for path in found}
    assert {
        "matrix",
        "conformance",
        "house",
        "coming_from_jax",
        "ShapeError",
        "transformer",
    } <= written
