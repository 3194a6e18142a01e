"""Rules for Taylor series that a program gives in JAX's form give what they give under JAX."""

import importlib

import jax
import numpy as np
import pytest

import plugjax


class Modules:
    """The modules that a program imports, from one framework."""

    def __init__(self, framework):
        name = framework.__name__
        self.jax, self.lax, self.jnp = framework, framework.lax, framework.numpy
        self.jet = importlib.import_module(f"{name}.experimental.jet")
        self.extend = importlib.import_module(f"{name}.extend.core")
        self.tree = importlib.import_module(f"{name}.tree_util")

    def primitive(self, name, impl, several=False):
        p = self.extend.Primitive(name)
        p.multiple_results = several
        p.def_impl(impl)
        p.def_abstract_eval(lambda *avals: list(avals) if several else avals[0])
        return p


@pytest.fixture(params=[jax, plugjax], ids=["jax", "plugjax"])
def m(request):
    return Modules(request.param)


def numbers(result):
    value, series = result
    return np.array([value, *series], np.float64)


def test_by_a_derivative(m):
    p = m.primitive("sine", m.lax.sin)
    m.jet.def_deriv(p, m.lax.cos)
    found = m.jet.jet(lambda x: p.bind(x * x), (0.5,), ([1.0, 0.25, 2.0],))
    expected = m.jet.jet(lambda x: m.lax.sin(x * x), (0.5,), ([1.0, 0.25, 2.0],))
    np.testing.assert_allclose(numbers(found), numbers(expected), rtol=1e-5)


def test_by_other_primitives(m):
    p = m.primitive("hypotenuse", lambda x, y: m.lax.sqrt(x * x + y * y))
    m.jet.def_comp(p, lambda x, y: m.lax.sqrt(x * x + y * y))
    curves = ([1.0, 0.5], [0.25, 2.0])
    found = m.jet.jet(p.bind, (3.0, 4.0), curves)
    expected = m.jet.jet(lambda x, y: m.lax.sqrt(x * x + y * y), (3.0, 4.0), curves)
    np.testing.assert_allclose(numbers(found), numbers(expected), rtol=1e-5)


def test_linear(m):
    p = m.primitive("difference", m.lax.sub)
    m.jet.deflinear(p)
    found = m.jet.jet(lambda x: p.bind(x * x, 2.0), (3.0,), ([1.0, 0.5],))
    np.testing.assert_allclose(numbers(found), [7.0, 6.0, 5.0])


def test_linear_with_several_results(m):
    p = m.primitive("both", lambda x, y: [x + y, x - y], several=True)
    m.jet.deflinear(p)
    values, series = m.jet.jet(lambda x, y: p.bind(x, y), (3.0, 1.0), ([1.0, 2.0], [5.0, 7.0]))
    np.testing.assert_allclose(values, [4.0, 2.0])
    np.testing.assert_allclose(series, [[6.0, 9.0], [-4.0, -5.0]])


def test_constant_around_almost_every_value(m):
    p = m.primitive("steps", m.lax.floor)
    m.jet.defzero(p)
    found = m.jet.jet(lambda x: p.bind(x) * x, (1.5,), ([1.0, 4.0],))
    np.testing.assert_allclose(numbers(found), [1.5, 1.0, 4.0])
    found = m.jet.jet(p.bind, (1.5,), ([1.0, 4.0],))
    np.testing.assert_allclose(numbers(found), [1.0, 0.0, 0.0])


def test_a_rule_of_its_own(m):
    p, seen = m.primitive("product", m.lax.mul), []

    def rule(primals, series, **params):
        (x, y), (xs, ys) = primals, series
        seen.append((len(xs), len(ys), params))
        u, v = [x, *xs], [y, *ys]
        out = [sum(u[j] * v[k - j] for j in range(k + 1)) for k in range(len(u))]
        return out[0], out[1:]

    m.jet.jet_rules[p] = rule
    found = m.jet.jet(lambda x: p.bind(x, 2.0), (3.0,), ([1.0, 0.5],))
    np.testing.assert_allclose(numbers(found), [6.0, 2.0, 1.0])
    assert seen == [(2, 2, {})]
    found = m.jax.jit(lambda x: m.jet.jet(lambda y: p.bind(y, y), (x,), ([1.0, 0.0],)))(3.0)
    np.testing.assert_allclose(numbers(found), [9.0, 6.0, 2.0], rtol=1e-5)


def test_a_rule_that_says_zero(m):
    p = m.primitive("half zero", lambda x: [x, m.lax.floor(x)], several=True)

    def rule(primals, series):
        (x,), (xs,) = primals, series
        return [x, m.lax.floor(x)], [xs, m.jet.zero_series]

    m.jet.jet_rules[p] = rule
    _, series = m.jet.jet(p.bind, (1.5,), ([2.0, 3.0],))
    np.testing.assert_allclose(series, [[2.0, 3.0], [0.0, 0.0]])


def test_rules_are_read(m):
    primal, series = m.jet.jet_rules[m.lax.exp_p]([np.float32(0)], [[np.float32(1), np.float32(0)]])
    np.testing.assert_allclose([primal, *series], [1.0, 1.0, 0.5])
    assert m.lax.sin_p in m.jet.jet_rules
    assert m.primitive("unknown", m.lax.sin) not in m.jet.jet_rules


def test_coefficients_of_polynomials(m):
    found = m.jet.jet2(lambda x: x * x, (3.0,), ([1.0, 0.0],))
    np.testing.assert_allclose(numbers(found), [9.0, 6.0, 1.0])
    np.testing.assert_allclose([m.jet.fact(n) for n in (0, 1, 4)], [1.0, 1.0, 24.0], rtol=1e-5)


def test_zeros_are_containers_without_leaves(m):
    assert m.tree.tree_leaves([m.jet.zero_series, m.jet.zero_term]) == []
    assert m.tree.tree_map(lambda x: x, m.jet.zero_series) is m.jet.zero_series
    assert isinstance(m.jet.zero_term, m.jet.ZeroTerm)
    assert isinstance(m.jet.zero_series, m.jet.ZeroSeries)


def test_rules_of_single_primitives(m):
    x, one = m.jnp.float32(0.5), m.jnp.float32(1)
    sine = m.primitive("single sine", m.lax.sin)
    value, series = m.jet.deriv_prop(sine, m.lax.cos, [x], [[one, one]])
    expected = [np.sin(0.5), np.cos(0.5), np.cos(0.5) - np.sin(0.5) / 2]
    np.testing.assert_allclose([value, *series], expected, rtol=1e-5)
    value, series = m.jet.linear_prop(m.lax.neg_p, [x], [[one, x]])
    np.testing.assert_allclose([value, *series], [-0.5, -1.0, -0.5])
    value, series = m.jet.zero_prop(m.lax.floor_p, [x], [[one, x]])
    assert (float(value), series) == (0.0, m.jet.zero_series)


def test_tracers_show_their_series(m):
    seen = []

    def f(x):
        assert isinstance(x, m.jet.JetTracer)
        seen.append((float(x.primal), [float(t) for t in x.terms]))
        return x

    m.jet.jet(f, (2.0,), ([1.0, 4.0],))
    np.testing.assert_allclose(seen[0][1], [1.0, 2.0], rtol=1e-6)
