"""What compiles for hardware that is not there: the document, and the processes that compilers may end."""

import contextlib
import json
from pathlib import Path

import pytest

from plugjax.docs import compile_only, compiled_ahead
from plugjax.docs.compile_only import Outcome, outcomes
from plugjax.extend.errors import UnknownBackendError
from plugjax.testing import OPS

ROOT = Path(__file__).resolve().parents[2]
RECORDS = json.loads((ROOT / compiled_ahead.RECORD).read_text())
NAMES = [op.name for op in OPS]


def test_the_document_is_that_of_the_record():
    assert (ROOT / compiled_ahead.DOCUMENT).read_text() == compiled_ahead.document(RECORDS)


def test_the_record_is_of_the_rows_that_there_are():
    known = {program for each in compiled_ahead._programs().values() for program in each}
    assert set(RECORDS) == set(compiled_ahead.TARGETS)
    for each in RECORDS.values():
        assert each["programs"] == len(known)
        assert each["refused"].keys() <= known


def test_a_cell_counts_and_numbers():
    reasons = {}
    refused = {"a: value": "big | <small>", "b: gradient": "'f' calls the Python function 'g'"}
    assert compiled_ahead._cell(["a: value"], refused, reasons) == "no (1)"
    assert compiled_ahead._cell(["c: value"], refused, reasons) == "yes"
    assert compiled_ahead._cell(["a: value", "b: value", "b: gradient"], refused, reasons) == "1 of 3 (1, 2)"  # fmt: skip
    assert list(reasons) == ["big | <small>", "The program calls Python."]


def test_outcomes_of_rows():
    found = list(outcomes("iree:cuda:sm_80", ["neg", "pure_callback"]))
    assert found[:2] == [Outcome("neg", "value"), Outcome("neg", "gradient")]
    assert found[2].program == "value"
    assert "'pure_callback' calls the Python function" in found[2].because


def test_a_compiler_that_ends_its_process_costs_one_program():
    with contextlib.closing(compile_only._Compiler("vulkan")) as compiler:
        compiler._start().kill()
        died, then = compiler.row("neg")
    assert died == Outcome("neg", "value", "the compiler ends its process: SIGKILL")
    assert then == Outcome("neg", "gradient")


def test_a_compiler_that_does_not_end(monkeypatch):
    monkeypatch.setattr(compile_only, "ROW_SECONDS", 0.0)
    (found,) = outcomes("vulkan", ["and"])
    assert found.because == "the compiler does not end within 0 s"


def test_no_compiler(monkeypatch):
    monkeypatch.setenv("TPU_LIBRARY_PATH", "/nowhere/libtpu.so")
    with pytest.raises(UnknownBackendError, match="pip install libtpu"):
        list(outcomes("tpu:v5e:2x2", ["neg"]))


@pytest.mark.compile_only
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("target", compiled_ahead.TARGETS)
def test_what_the_document_says_compiles(target):
    try:
        found = list(outcomes(target, NAMES))
    except UnknownBackendError as error:
        pytest.skip(str(error))
    refused = {f"{each.row}: {each.program}" for each in found if each.because}
    assert refused == RECORDS[target]["refused"].keys()
