"""Primitives with rules as methods, on tuples as values of a type of their own; JAX is the oracle."""

import types

import jax
import jax.experimental.hijax
import jax.numpy as jnp
import numpy as np
import pytest

import plugjax
import plugjax.experimental.hijax
import plugjax.numpy as pnp


def tuples(j):
    """``make``, ``get`` and ``parts`` of tuples of a library."""
    hijax = j.experimental.hijax

    class Tup:
        def __init__(self, elts):
            self.elts = tuple(elts)

    class TupTy(hijax.HiType):
        def __init__(self, tys):
            self.tys = tuple(tys)

        def __hash__(self):
            return hash(self.tys)

        def __eq__(self, other):
            return isinstance(other, TupTy) and self.tys == other.tys

        def str_short(self, short_dtypes=False, **_):
            return f"Tup[{len(self.tys)}]"

        __repr__ = str_short

        def lo_ty(self):
            return list(self.tys)

        def lower_val(self, tup):
            return list(tup.elts)

        def raise_val(self, *elts):
            return Tup(elts)

        def to_tangent_aval(self):
            return TupTy([t.to_tangent_aval() for t in self.tys])

        def vspace_zero(self):
            return Tup([j.numpy.zeros(t.shape, t.dtype) for t in self.tys])

        def vspace_add(self, x, y):
            return make(*(get(x, i) + get(y, i) for i in range(len(self.tys))))

    hijax.register_hitype(Tup, lambda t: TupTy([j.typeof(x) for x in t.elts]))

    class Make(hijax.HiPrimitive):
        def abstract_eval(self, *avals):
            return TupTy(avals), set()

        def to_lojax(self, *elts):
            return Tup(elts)

        def jvp(self, primals, tangents):
            return make(*primals), make(*map(hijax.instantiate_zeros, tangents))

        def transpose(self, ct, *operands):
            return [get(ct, i) for i in range(len(operands))]

    class Get(hijax.HiPrimitive):
        def abstract_eval(self, tup, *, index):
            return tup.tys[index], set()

        def to_lojax(self, tup, *, index):
            return tup.elts[index]

        def jvp(self, primals, tangents, *, index):
            (tup,), (tup_dot,) = primals, tangents
            return get(tup, index), get(tup_dot, index)

        def transpose(self, ct, tup, *, index):
            zeros = [j.numpy.zeros(t.shape, t.dtype) for t in tup.aval.tys]
            zeros[index] = ct
            return [make(*zeros)]

    class Parts(hijax.HiPrimitive):
        multiple_results = True

        def abstract_eval(self, tup):
            return list(tup.tys), set()

        def to_lojax(self, tup):
            return list(tup.elts)

    make_p, get_p, parts_p = Make("make_tup"), Get("get_tup"), Parts("parts")

    def make(*elts):
        return make_p.bind(*elts)

    def get(tup, index):
        return get_p.bind(tup, index=index)

    return types.SimpleNamespace(make=make, get=get, parts=parts_p.bind)


X = np.array([0.3, 0.7], np.float32)


def swapped(j, np_, t):
    def f(x):
        tup = t.make(np_.sin(x), x * 2)
        return t.get(tup, 1) * t.get(tup, 0)

    return f


PROGRAMS = {
    "eager": lambda j, np_, t: swapped(j, np_, t)(X),
    "compiled": lambda j, np_, t: j.jit(swapped(j, np_, t))(X),
    "gradient": lambda j, np_, t: j.grad(lambda x: swapped(j, np_, t)(x).sum())(X),
    "gradient of jit": lambda j, np_, t: j.grad(j.jit(lambda x: swapped(j, np_, t)(x).sum()))(X),
    "tangents": lambda j, np_, t: j.jvp(swapped(j, np_, t), (X,), (2 * X,)),
    "several results": lambda j, np_, t: j.jit(lambda x: t.parts(t.make(x, x + 1)))(X),
    "carry": lambda j, np_, t: t.get(j.lax.fori_loop(0, 3, lambda i, c: t.make(t.get(c, 1), t.get(c, 0) + 1), t.make(X, 2 * X)), 0),
    "argument": lambda j, np_, t: j.jit(lambda tup: t.get(tup, 0) + t.get(tup, 1))(t.make(j.numpy.asarray(X), j.numpy.asarray(X))),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("device", ["numpy", "xla"])
def test_values_and_derivatives_are_those_of_jax(name, device):
    wanted = jax.tree.leaves(PROGRAMS[name](jax, jnp, tuples(jax)))
    with plugjax.default_device(device):
        found = plugjax.tree.leaves(PROGRAMS[name](plugjax, pnp, tuples(plugjax)))
    for a, b in zip(found, wanted, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-6)


def test_equations_are_named_after_the_primitive():
    t = tuples(plugjax)
    jaxpr = plugjax.make_jaxpr(lambda x: t.get(t.make(x, x), 1))(X)
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["make_tup", "get_tup"]


def test_a_method_that_is_missing_is_named():
    class Empty(plugjax.experimental.hijax.HiPrimitive):
        pass

    with pytest.raises(NotImplementedError, match="Empty must implement `to_lojax`"):
        Empty("empty").bind(pnp.ones(2))
