"""Every pass leaves a well-typed program: the checker runs after each, on the table of programs and their gradients."""

import jax
import numpy as np
import pytest

import plugjax
from plugjax.execution.compile import run_passes
from plugjax.transforms.simplify import simplify
from tests.core.transform_programs import PROGRAMS
from tests.core.transform_words import spell


@pytest.mark.parametrize("program", PROGRAMS, ids=[p.name for p in PROGRAMS])
def test_the_checker_accepts_what_each_pass_makes(program):
    f = program.make(plugjax, plugjax.numpy)
    for word in [(), *([("grad",)] if "grad" not in program.refuses else []), ("vmap",)]:
        if word and word[0] in program.refuses:
            continue
        jaxpr = plugjax.make_jaxpr(spell(plugjax, word, f))(*program.args)
        with plugjax.config.override("enable_checks", True):
            for platform in ("numpy", "xla", "iree"):
                run_passes(jaxpr, platform)


def test_choices_between_a_value_and_itself_are_dropped():
    """``vmap`` of a branch guards derivatives; without derivatives no guard remains."""

    def f(x):
        return plugjax.lax.cond(x > 0, lambda v: v * 2, lambda v: v - 1, x)

    jaxpr = plugjax.make_jaxpr(plugjax.vmap(f))(np.ones(3, np.float32))
    names = [eqn.primitive.name for eqn in jaxpr.jaxpr.eqns]
    assert (names.count("select_n"), names.count("stop_gradient")) == (3, 2)
    left = [eqn.primitive.name for eqn in simplify(jaxpr).jaxpr.eqns]
    assert (left.count("select_n"), left.count("stop_gradient")) == (1, 0)


def test_results_that_nothing_reads_have_no_name():
    text = str(plugjax.make_jaxpr(lambda x: (plugjax.numpy.sin(x), x * 2)[1])(1.0))
    assert text == str(jax.make_jaxpr(lambda x: (jax.numpy.sin(x), x * 2)[1])(1.0))
    assert "_:f32[] = sin a" in text
