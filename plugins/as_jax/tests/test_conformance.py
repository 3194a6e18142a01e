"""Test suites of libraries: run with the real jax and with plugjax, and compared."""

import textwrap

import pytest

from plugjax_as_jax.conformance.__main__ import _listed
from plugjax_as_jax.conformance.comparing import compare, run_file
from plugjax_as_jax.conformance.suites import files_of

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
    return [run_file(path, side, 1, 60.0) for side in ("jax", "numpy")]


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


def test_wheels_without_tests_are_named(tmp_path):
    with pytest.raises(ValueError, match="unpack its source distribution and pass --folder"):
        files_of("blackjax", None)
    with pytest.raises(ValueError, match="no tests of x"):
        files_of("x", tmp_path)
