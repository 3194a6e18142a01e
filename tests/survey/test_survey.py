"""The survey's programs agree with what JAX gave; ``python -m tests.survey`` prints a table and records anew."""

import pytest

import plugjax
from tests.survey import records
from tests.survey.answers import answer, disagreement
from tests.survey.differences import BY_BACKEND, ON_PURPOSE, reason
from tests.survey.programs import library, programs

PROGRAMS = programs()


def compare(program, backend):
    with plugjax.default_device(backend):
        ours = answer(program, library("plugjax"))
    found = disagreement(ours, records.read(program.topic)[program.name])
    if reason(repr(program), backend):
        assert found is not None, f"{program!r} agrees: take it from the differences"
    else:
        assert found is None, found


@pytest.mark.parametrize("program", PROGRAMS, ids=repr)
def test_program_on_numpy(program):
    compare(program, "numpy")


@pytest.mark.spread(12)
@pytest.mark.parametrize("program", PROGRAMS, ids=repr)
def test_program_on_xla(program):
    compare(program, "xla")


@pytest.mark.spread(40)
@pytest.mark.parametrize("program", PROGRAMS, ids=repr)
def test_program_on_iree(program):
    compare(program, "iree")


def test_every_program_has_an_answer_of_jax():
    names = {topic: set(records.read(topic)) for topic in {p.topic for p in PROGRAMS}}
    assert {(topic, name) for topic in names for name in names[topic]} == {
        (p.topic, p.name) for p in PROGRAMS
    }
    assert len(PROGRAMS) > 400


def test_differences_are_of_programs():
    named = set(ON_PURPOSE).union(*BY_BACKEND.values())
    assert named <= {repr(p) for p in PROGRAMS}


def test_answers_that_differ_are_told_apart():
    one = {"kind": "array", "dtype": "float32", "shape": [2], "weak": False, "data": [1.0, 100.0]}
    assert disagreement({"gives": one}, {"gives": one}) is None
    near = one | {"data": [1.001, 100.0]}
    assert disagreement({"gives": near}, {"gives": one}) is None
    far = one | {"data": [1.1, 100.0]}
    assert "where JAX has" in disagreement({"gives": far}, {"gives": one})
    assert "weak" in disagreement({"gives": one | {"weak": True}}, {"gives": one})
    assert "where JAX has" in disagreement({"gives": [1, 2]}, {"gives": [1, 2, 3]})
    assert disagreement({"gives": "plugjax.x"}, {"gives": "jax.x"}) is None
    error = {"raises": ["ShapeError", "TypeError", "Exception"], "message": ""}
    assert disagreement(error, {"raises": ["TypeError"], "message": ""}) is None
    assert "where JAX raises" in disagreement(error, {"raises": ["ValueError"], "message": ""})
    assert "raises" in disagreement(error, {"gives": 1})
    assert "gives" in disagreement({"gives": 1}, error)
