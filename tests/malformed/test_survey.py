"""A share of the survey of malformed calls in each run of the tests; ``python -m tests.malformed`` runs all of it."""

import zlib

from tests.malformed.samples import Argument, Sample, samples
from tests.malformed.survey import ACCEPTED, OTHER_TYPE, REFUSED, Survey, outcome, stumbles, verdict
from tests.malformed.transformations import transformations


def findings(survey, samples):
    return [
        (finding.mutation.text, finding.ours, finding.theirs)
        for sample in samples
        for finding in survey.of(sample)
        if not finding.stumble
    ]


def test_few_malformed_calls_are_judged_otherwise_than_in_jax():
    survey = Survey(every=8)
    share = [s for s in samples() if zlib.crc32(s.name.encode()) % 48 == 5]
    found = findings(survey, share)
    assert survey.calls > 100
    # In all calls the rate is one in two hundred.
    assert len(found) <= survey.calls / 100, found


def test_few_malformed_calls_of_transformations_are_judged_otherwise_than_in_jax():
    survey = Survey(every=96)
    found = findings(survey, transformations())
    assert survey.calls > 80
    # In all calls the rate is one in a hundred.
    assert len(found) <= survey.calls / 40, found


def test_verdicts():
    assert verdict("ok", "ok") is None
    assert verdict("ok", "TypeError: no") == ACCEPTED
    assert verdict("TypeError: no", "ok") == REFUSED
    assert verdict("TypeError: no", "ValueError: no") == OTHER_TYPE
    assert verdict("TypeError,ValueError: no", "ValueError: other words") is None
    assert verdict("ok", "accident AttributeError: no") == ACCEPTED
    assert verdict("AttributeError: no", "accident AttributeError: no") is None
    assert stumbles("accident AttributeError: 'NoneType' object has no attribute 'shape'")
    assert stumbles("ValueError: Non-hashable static arguments are not supported.")
    assert not stumbles("IndexError,LookupError: Too many indices")
    assert not stumbles("TypeError: no")


def test_an_error_that_somebody_raised_is_no_accident():
    def judge(x):
        raise IndexError("too many indices")

    scope = {"judge": judge}
    assert outcome("judge(1)", scope) == "IndexError,LookupError: too many indices"
    assert outcome("()[1]", scope).startswith("accident IndexError")
    assert outcome("None.shape", scope).startswith("accident AttributeError")
    assert outcome("int([])", scope).startswith("TypeError")


def test_mutations_are_written_into_the_call():
    sample = Sample("f", "", "f", [Argument("x", None, "a"), Argument("1", "axis", "axis")])
    assert sample.call() == "f(x, axis=1)"
    assert sample.call({1: "99"}) == "f(x, axis=99)"
    assert sample.call(drop=1, extra="b=2") == "f(x, b=2)"
