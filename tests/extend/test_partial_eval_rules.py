"""A rule of JAX's partial evaluation says what ``checkpoint`` keeps of an equation, as under JAX."""

import importlib

import jax
import numpy as np
import pytest

import plugjax


class Costly:
    """``sin`` as a primitive of a program, with the rule that is tested."""

    def __init__(self, framework):
        name = framework.__name__
        self.framework, self.asked = framework, []
        self.extend = importlib.import_module(f"{name}.extend.core")
        self.ad = importlib.import_module(f"{name}.interpreters.ad")
        self.mlir = importlib.import_module(f"{name}.interpreters.mlir")
        self.pe = importlib.import_module(f"{name}.interpreters.partial_eval")
        core = importlib.import_module(f"{name}.core")
        self.lax = importlib.import_module(f"{name}.lax")
        self.primitive = p = self.extend.Primitive("costly")
        p.def_impl(self.lax.sin)
        p.def_abstract_eval(lambda x: core.ShapedArray(x.shape, x.dtype))
        self.mlir.register_lowering(p, self.mlir.lower_fun(self.lax.sin, multiple_results=False))

        def jvp(primals, tangents):
            ((x,), (t,)) = primals, tangents
            y = p.bind(x)
            return y, self.lax.mul(t, y)

        self.ad.primitive_jvps[p] = jvp

    def split_by(self, rule):
        def asked(saveable, unknown, again, eqn):
            self.asked.append((list(unknown), eqn.primitive is self.primitive))
            return rule(saveable, unknown, again, eqn)

        self.pe.partial_eval_jaxpr_custom_rules[self.primitive] = asked

    def function(self, policy=None):
        return self.framework.checkpoint(
            lambda x: self.lax.sin(self.primitive.bind(self.lax.cos(x))), policy=policy
        )

    def count(self, f):
        text = str(self.framework.make_jaxpr(self.framework.grad(f))(1.0))
        return text.count("= costly")


@pytest.fixture(params=[jax, plugjax], ids=["jax", "plugjax"])
def costly(request):
    return Costly(request.param)


def keep(saveable, unknown, again, eqn):
    needed = [v for v, a in zip(eqn.invars, again, strict=True) if not a]
    return eqn, None, [False], [False], [*needed, *eqn.outvars]


def compute(saveable, unknown, again, eqn):
    needed = [v for v, a in zip(eqn.invars, again, strict=True) if not a]
    return eqn, eqn, [False], [True], needed


def as_the_policy_says(saveable, unknown, again, eqn):
    if saveable(eqn.primitive, *[v.aval for v in eqn.invars], **eqn.params):
        return keep(saveable, unknown, again, eqn)
    return compute(saveable, unknown, again, eqn)


@pytest.mark.parametrize(("rule", "count"), [(keep, 1), (compute, 2), (as_the_policy_says, 2)])
def test_what_the_rule_says(costly, rule, count):
    costly.split_by(rule)
    assert costly.count(costly.function()) == count
    assert costly.asked
    assert all(not any(unknown) and own for unknown, own in costly.asked)
    found = costly.framework.grad(costly.function())(1.0)
    y = np.sin(np.cos(1.0))
    np.testing.assert_allclose(found, np.cos(y) * y * -np.sin(1.0), rtol=1e-6)


def test_the_rule_goes_before_the_policy(costly):
    policies = costly.framework.checkpoint_policies
    costly.split_by(compute)
    assert costly.count(costly.function(policies.everything_saveable)) == 2
    costly.split_by(as_the_policy_says)
    assert costly.count(costly.function(policies.everything_saveable)) == 1


def test_the_second_computation_may_be_another(costly):
    def rule(saveable, unknown, again, eqn):
        needed = [v for v, a in zip(eqn.invars, again, strict=True) if not a]
        other = costly.framework.make_jaxpr(costly.lax.sin)(1.0).eqns[0]
        second = other.replace(invars=eqn.invars, outvars=eqn.outvars)
        return eqn, second, [False], [True], needed

    costly.split_by(rule)
    assert costly.count(costly.function()) == 1
    y = np.sin(np.cos(1.0))
    found = costly.framework.grad(costly.function())(1.0)
    np.testing.assert_allclose(found, np.cos(y) * y * -np.sin(1.0), rtol=1e-6)


def test_within_a_loop(costly):
    costly.split_by(keep)
    f = costly.function()

    def looped(x):
        return costly.lax.fori_loop(0, 3, lambda _, y: f(y), x)

    step = costly.framework.make_jaxpr(costly.framework.grad(looped))(1.0)
    assert str(step).count("= costly") == 1


def test_a_rule_of_a_plugin_is_not_displaced():
    from plugjax.interpreters import partial_eval as pe

    assert plugjax.lax.scan_p not in pe.partial_eval_jaxpr_custom_rules
