"""Every pass leaves a well-typed program: the checker runs after each, on the table of programs and their gradients."""

import pytest

import plugjax
from plugjax.core.transforms.compile import run_passes
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
