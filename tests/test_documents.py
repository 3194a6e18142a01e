"""The documents describe what is there: files, figures, counts; and the product alone."""

import re
from pathlib import Path

import pytest

from benchmarks import report
from benchmarks.meshes import ROWS as MESH_ROWS
from benchmarks.rows import ROWS
from plugjax.cli import parity
from plugjax.testing import OPS

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), ROOT / "benchmarks" / "README.md"])
TREES = ("plugjax/", "plugins/", "tests/", "docs/", "examples/", "benchmarks/")
# A diary, a particular machine, or a place outside the repository.
DIARY = re.compile(
    r"this session|until now|busy machine|beside other work|was found|since then|the machine where"
    r"|(?<![\w.])/(?:work|home|tmp)/|never run\b",
    re.IGNORECASE,
)
PERFORMANCE = (ROOT / "docs" / "performance.md").read_text()


def named(document):
    return document.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("document", DOCUMENTS, ids=named)
def test_files_that_a_document_names_exist(document):
    paths = [p for p in re.findall(r"`([\w./-]+)`", document.read_text()) if p.startswith(TREES)]
    # The tests of a plugin are named from its own folder.
    roots = [ROOT, *ROOT.glob("plugins/*/")]
    assert [p for p in paths if not any((root / p).exists() for root in roots)] == []


def test_modules_that_the_glossary_names_exist():
    rows = re.findall(
        r"^\|.*\| (`.*`) \|$", (ROOT / "docs" / "glossary.md").read_text(), re.MULTILINE
    )
    modules = {m.strip("` ") for row in rows for m in row.split(",")}
    paths = [*ROOT.glob("plugjax/**/*.py"), *ROOT.glob("plugins/*/plugjax_*/**/*.py")]
    known = {p.parent.name if p.name == "__init__.py" else p.stem for p in paths}
    assert len(rows) > 60
    assert [m for m in sorted(modules - known) if not (ROOT / m).exists()] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=named)
def test_a_document_keeps_no_diary(document):
    assert DIARY.findall(document.read_text()) == []


def test_the_table_of_figures_has_the_rows_and_targets_of_the_benchmarks():
    cells = [
        tuple(cell.strip() for cell in line.strip("|").split("|"))
        for line in PERFORMANCE.splitlines()
        if line.startswith("| ")
    ]
    targets = {row.name: row.target for row in [*ROWS, *MESH_ROWS]}
    targets["eager operations, geometric mean"] = report.EAGER_TARGET
    assert cells[0] == report.COLUMNS
    for name, _, _, ratio, target, reached in (c for c in cells if c != report.COLUMNS):
        assert float(target) == targets.pop(name)
        assert reached == ("yes" if float(ratio) <= float(target) else "no")
    assert targets == {}


def test_every_row_that_is_not_reached_has_a_reason():
    missed = [line.split("|")[4].strip() for line in PERFORMANCE.splitlines() if "| no |" in line]
    reasons = PERFORMANCE.split("Rows that are not reached")[1]
    # The reason names the row's ratio, or its rounded form.
    assert [r for r in missed if r not in reasons and f"{float(r):.1f}" not in reasons] == []


def test_a_run_is_printed_and_written_into_a_document():
    results = report.with_eager_mean(
        [
            report.Result("eager a", 1e-6, 4e-6, 0.25, 0.3, "us", 1e6),
            report.Result("eager b", 4e-6, 4e-6, 1.0, 0.3, "us", 1e6),
        ]
    )
    run = {"machine": "M", "versions": "V", "date": "D", "command": "C"}
    table = report.markdown(*report.load(report.dump(run, results)))
    assert "| eager a | 1.00 us | 4.00 us | 0.25 | 0.30 | yes |" in table
    assert "| eager operations, geometric mean |  |  | 0.50 | 0.30 | no |" in table
    before = "A\n<!-- figures -->\nold\n<!-- end of figures -->\nZ\n"
    after = report.write_into(before, table)
    assert after == f"A\n<!-- figures -->\n\n{table}\n<!-- end of figures -->\nZ\n"
    with pytest.raises(ValueError, match="figures"):
        report.write_into("no markers", table)


def test_the_readme_counts_the_primitives_with_a_row():
    count = int(re.search(r"\* (\d+) primitives", (ROOT / "README.md").read_text())[1])
    assert count == len({op.primitive for op in OPS})


def test_the_status_counts_the_public_names():
    text = (ROOT / "docs" / "status.md").read_text()
    listed = {**parity.listed(), **parity.listed("others")}
    absent = [(space, name) for space, names in parity.missing(listed).items() for name in names]
    here = sum(map(len, listed.values())) - len(absent)
    assert f"({here} of {here + sum(parity.is_counted(*name) for name in absent)};" in text
