"""Test suites of libraries: run with the real jax and with plugjax, and compared."""

import tarfile
import textwrap

import pytest

from plugjax_as_jax.conformance import known
from plugjax_as_jax.conformance.__main__ import _listed
from plugjax_as_jax.conformance.comparing import Options, compare, run_files
from plugjax_as_jax.conformance.sources import source_of, unpack
from plugjax_as_jax.conformance.suites import SUITES, files_of

SUITE = """
import jax, pytest

def test_that_passes():
    assert jax.numpy.add(1, 2) == 3

def test_of_the_real_jax():
    assert not jax.Array.__module__.startswith("plugjax"), "another jax"

def test_that_fails_everywhere():
    assert jax is None

@pytest.mark.skip
def test_that_is_skipped():
    pass
"""


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("suite")
    (folder / "test_suite.py").write_text(textwrap.dedent(SUITE))
    (path,) = files_of("anything", folder)
    return [run_files([path], side, Options(folder)) for side in ("jax", "numpy")]


NAMED_BY_CLASSES = """
import jax.numpy as jnp, pytest

@pytest.mark.parametrize("number", range(8))
@pytest.mark.parametrize("dtype", [jnp.int8, jnp.float32, jnp.bfloat16], ids=repr)
def test_of_a_class(dtype, number):
    pass
"""


def test_the_sample_is_the_same_where_names_tell_classes(tmp_path):
    (tmp_path / "test_classes.py").write_text(NAMED_BY_CLASSES)
    paths, options = files_of("anything", tmp_path), Options(tmp_path, every=3)
    with_jax, here = (run_files(paths, side, options) for side in ("jax", "numpy"))
    assert 0 < len(with_jax) < 24
    assert list(here) == list(with_jax)


def test_what_passes_with_the_real_jax_is_compared(outcomes):
    found = compare(*outcomes)
    assert [name.rpartition(".")[2] for name in found.wanted] == [
        "test_of_the_real_jax",
        "test_that_passes",
    ]
    (failure,) = found.failures.items()
    assert failure[0].endswith("test_of_the_real_jax")
    assert "another jax" in failure[1]
    assert (found.passed, found.broken, found.share) == (1, 1, 0.5)
    lines = _listed("library", "numpy", list(found.failures.items()))
    assert lines[0].startswith("library on numpy, 1: AssertionError: another jax")
    assert len(lines) == 2


def test_a_file_that_cannot_be_run_fails_all_that_pass_elsewhere():
    found = compare({"a.one": "passed", "a.two": "skipped"}, {"a.py": "exit status -11: dead"})
    assert found.failures == {"a.one": "exit status -11: dead"}
    assert found.share == 0.0
    assert compare({}, {}).share == 1.0


def test_a_process_that_dies_costs_the_results_of_one_file(tmp_path):
    (tmp_path / "test_dies.py").write_text("import os\n\ndef test_dies():\n    os._exit(7)\n")
    (tmp_path / "test_lives.py").write_text("def test_lives():\n    pass\n")
    found = run_files(files_of("anything", tmp_path), "numpy", Options(tmp_path))
    assert found == {"test_dies.py": "exit status 7: ", "test_lives.test_lives": "passed"}


def test_known_failures_are_told_by_their_reasons(monkeypatch):
    row = known.Known("library", "tests.*", "The test reads a private name.", ("numpy",))
    monkeypatch.setattr(known, "KNOWN", [row])
    failures = [("tests.one", "said this"), ("others.two", "said that")]
    assert _listed("library", "numpy", failures)[0] == (
        "library on numpy, 1: known: The test reads a private name."
    )
    assert _listed("library", "xla", failures)[0] == "library on xla, 1: said this"
    assert known.reason_of("elsewhere", "numpy", "tests.one") == ""


def test_rows_of_known_failures_name_libraries_with_tests():
    assert {row.library for row in known.KNOWN} <= set(SUITES)
    assert all(row.reason.endswith(".") for row in known.KNOWN)


def test_a_source_distribution_is_unpacked_under_its_name(tmp_path):
    (tmp_path / "some_name").mkdir()
    (tmp_path / "some_name" / "test_it.py").touch()
    with tarfile.open(tmp_path / "some.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "some_name", "some_name")
    unpack(tmp_path / "some.tar.gz", tmp_path / "library-1.0")
    assert [path.name for path in files_of("x", tmp_path / "library-1.0")] == ["test_it.py"]
    with pytest.raises(ValueError, match="no-such-library is not installed"):
        source_of("no-such-library")


def test_wheels_without_tests_are_named(tmp_path):
    with pytest.raises(ValueError, match="unpack its source distribution and pass --folder"):
        files_of("blackjax", None)
    with pytest.raises(ValueError, match="no tests of x"):
        files_of("x", tmp_path)
