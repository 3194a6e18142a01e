"""Jaxprs are those of JAX: the same equations, apart from calls of functions that JAX compiles one by one; and the same text."""

import re

import jax
import jax.ad_checkpoint
import jax.numpy
import numpy as np
import pytest

import plugjax
import plugjax.ad_checkpoint
import plugjax.numpy
from tests.core.jaxpr_programs import DIFFERENT, PROGRAMS, SHAPES

ON_PURPOSE = {name for names in DIFFERENT.values() for name in names}


def traced(j, name):
    function, arguments = PROGRAMS[name]
    names = {"jax": j, "jnp": j.numpy, "np": np}
    structs = [j.ShapeDtypeStruct(*SHAPES[letter]) for letter in arguments]
    return j.make_jaxpr(eval(function, names))(*structs)


class Lines:
    """The equations of a program as lines, those of compiled functions in the place of their calls."""

    def __init__(self, closed):
        self.lines = []
        self.count = 0
        jaxpr = getattr(closed, "jaxpr", closed)
        names = {}
        for var in (*jaxpr.constvars, *jaxpr.invars):
            names[var] = self.new()
        self.read(jaxpr, names)
        self.lines.append([self.atom(v, names) for v in jaxpr.outvars])

    def new(self):
        self.count += 1
        return f"v{self.count}"

    def atom(self, atom, names):
        if hasattr(atom, "val"):
            return f"{np.asarray(atom.val).item()}:{atom.aval.str_short()}"
        return names[atom]

    def read(self, jaxpr, names):
        for eqn in jaxpr.eqns:
            operands = [self.atom(v, names) for v in eqn.invars]
            if eqn.primitive.name in ("jit", "pjit"):
                inner = eqn.params["jaxpr"].jaxpr
                within = dict(zip(inner.invars, operands, strict=True))
                self.read(inner, within)
                found = [self.atom(v, within) for v in inner.outvars]
            else:
                found = [self.new() for _ in eqn.outvars]
                types = [v.aval.str_short() for v in eqn.outvars]
                params = {k: parameter(k, v) for k, v in sorted(eqn.params.items()) if known(v)}
                self.lines.append((found, types, eqn.primitive.name, params, operands))
            names.update(zip(eqn.outvars, found, strict=True))


def known(value):
    """Whether a parameter says something: shardings and the program of a plain scatter do not."""
    return value is not None and not (isinstance(value, tuple) and not value)


def parameter(name, value):
    if hasattr(value, "eqns"):
        return Lines(value).lines
    if isinstance(value, tuple) and value and hasattr(value[0], "eqns"):
        return [Lines(v).lines for v in value]
    if "fun" in name or "thunk" in name or name == "bwd":
        return "a function"
    text = str(value).replace("plugjax.", "").replace("jax._src.", "")
    return re.sub(r" at 0x\w+|np\.int64\((\d+)\)", r"\1", text)


@pytest.mark.spread(6)
@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in ON_PURPOSE])
def test_the_equations_are_those_of_jax(name):
    assert Lines(traced(plugjax, name)).lines == Lines(traced(jax, name)).lines


@pytest.mark.spread(6)
@pytest.mark.parametrize("name", sorted(ON_PURPOSE))
def test_what_is_listed_differs(name):
    assert Lines(traced(plugjax, name)).lines != Lines(traced(jax, name)).lines


def test_the_text_is_that_of_jax():
    wrong = {}
    for name in PROGRAMS:
        # JAX writes a space after an equation without operands.
        theirs = str(traced(jax, name)).replace(" \n", "\n")
        if name not in ON_PURPOSE and "jit[" not in theirs:
            ours = str(traced(plugjax, name))
            if ours != theirs:
                wrong[name] = (ours, theirs)
    assert wrong == {}


def test_a_known_number_is_converted_without_an_equation():
    def program(x):
        return plugjax.lax.full((3,), 2, "float32") * x + np.float32(1) + plugjax.numpy.int8(3)

    names = [eqn.primitive.name for eqn in plugjax.make_jaxpr(program)(np.float32(1)).eqns]
    assert "convert_element_type" not in names


@pytest.mark.parametrize(
    "value", [2**31 - 1, -1, 1.5, True, float("nan"), float("inf"), 1e300, 3 + 4j]
)
@pytest.mark.parametrize(
    "dtype", ["int8", "uint8", "int32", "float16", "bfloat16", "float32", "bool", "complex64"]
)
@pytest.mark.filterwarnings("ignore")
def test_known_numbers_become_what_arrays_become(value, dtype):
    j = plugjax.numpy
    dtype = getattr(j, dtype)
    found = plugjax.jit(lambda: plugjax.lax.convert_element_type(value, dtype))()
    expected = plugjax.lax.convert_element_type(j.full(2, value), dtype)[0]
    np.testing.assert_array_equal(np.asarray(found, complex), np.asarray(expected, complex))


def test_a_named_residual_is_called_by_its_name(capsys):
    """Also where ``checkpoint`` holds it, and once."""

    def named(j):
        def function(x):
            name = j.ad_checkpoint.checkpoint_name
            return j.numpy.sum(j.numpy.sin(name(j.numpy.cos(x), "a")) * 2)

        policy = j.checkpoint_policies.save_only_these_names("a")
        j.ad_checkpoint.print_saved_residuals(
            j.checkpoint(function, policy=policy), j.numpy.ones(3)
        )
        return capsys.readouterr().out

    ours, theirs = named(plugjax), named(jax)
    assert ours.count("named 'a'") == theirs.count("named 'a'") == 1
    assert "output of" not in ours
