"""A share of the survey of malformed calls in each run of the tests; ``python -m tests.malformed`` runs all of it."""

import zlib

from tests.malformed.samples import Argument, Sample, samples
from tests.malformed.survey import ACCEPTED, OTHER_TYPE, REFUSED, Survey, outcome, stumbles, verdict


def test_few_malformed_calls_are_judged_otherwise_than_in_jax():
    survey = Survey(every=8)
    findings = [
        finding
        for sample in samples()
        if zlib.crc32(sample.name.encode()) % 48 == 5
        for finding in survey.of(sample)
        if not finding.stumble
    ]
    assert survey.calls > 100
    # Before the survey was made it was one call in twelve.
    assert len(findings) <= survey.calls / 25, [
        (f.mutation.text, f.ours, f.theirs) for f in findings
    ]


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
