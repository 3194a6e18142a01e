"""Primitives that a program defines by JAX's tables, under drawn nestings of transformations: values and derivatives are those of JAX."""

import importlib

import jax
import numpy as np
import pytest
from hypothesis import given, strategies as st

import plugjax


class Defined:
    """A linear and a nonlinear primitive, and one of two results, with rules in each table of a framework."""

    def __init__(self, framework):
        self.jax = framework
        self.np = jnp = importlib.import_module(f"{framework.__name__}.numpy")
        name = framework.__name__
        core = importlib.import_module(f"{name}.extend.core")
        tables = {
            part: importlib.import_module(f"{name}.interpreters.{part}")
            for part in ("ad", "batching", "mlir")
        }
        ad, batching, mlir = tables["ad"], tables["batching"], tables["mlir"]

        def define(primitive, function, avals):
            primitive.def_impl(lambda *xs, **params: function(*map(jnp.asarray, xs), **params))
            primitive.def_abstract_eval(avals)
            several = primitive.multiple_results
            lowering = mlir.lower_fun(function, multiple_results=several)
            mlir.register_lowering(primitive, lowering)

        scale = core.Primitive("scale")
        define(scale, lambda x, *, by: x * by, lambda x, *, by: x)
        ad.deflinear2(scale, lambda ct, x, *, by: [scale.bind(ct, by=by)])
        batching.primitive_batchers[scale] = lambda args, dims, *, by: (
            scale.bind(args[0], by=by),
            dims[0],
        )

        bend = core.Primitive("bend")
        define(bend, lambda x, y: jnp.sin(x) * y, lambda x, y: x)
        ad.defjvp(
            bend,
            lambda t, x, y: t * jnp.cos(x) * y,
            lambda t, x, y: t * jnp.sin(x),
        )
        batching.defbroadcasting(bend)

        both = core.Primitive("both")
        both.multiple_results = True
        define(both, lambda x: [x + 1, x * x], lambda x: [x, x])

        def both_jvp(primals, tangents):
            (x,), (t,) = primals, tangents
            t = ad.instantiate_zeros(t)
            return both.bind(x), [t, 2 * x * t]

        ad.primitive_jvps[both] = both_jvp
        batching.primitive_batchers[both] = lambda args, dims: (both.bind(*args), [dims[0]] * 2)

        self.steps = {
            "scale": lambda x: scale.bind(x, by=2.5),
            "bend": lambda x: bend.bind(x, x + 1),
            "bend by sum": lambda x: bend.bind(x, jnp.broadcast_to(jnp.sum(x), x.shape)),
            "both": lambda x: both.bind(x)[0] * both.bind(x)[1],
            "scan": lambda x: framework.lax.scan(
                lambda c, y: (scale.bind(c, by=0.5) + y, bend.bind(c, y)), 0 * x[0], x
            )[1],
            "cond": lambda x: framework.lax.cond(
                jnp.sum(x) > 0, lambda x: bend.bind(x, x), lambda x: scale.bind(x, by=-1.0), x
            ),
            "checkpoint": framework.checkpoint(lambda x: bend.bind(scale.bind(x, by=2.0), x)),
            "jit": framework.jit(lambda x: both.bind(x)[1]),
        }
        self.transformations = {
            "jit": framework.jit,
            "vmap": lambda f: lambda x: framework.vmap(f)(jnp.stack([x, x * 2]))[1],
            "vmap of the last axis": lambda f: (
                lambda x: framework.vmap(f, -1, -1)(jnp.stack([x, x - 1], -1))[..., 0]
            ),
            "grad": lambda f: framework.grad(lambda x: jnp.sum(f(x) ** 2)),
            "jvp": lambda f: lambda x: sum(framework.jvp(f, (x,), (x + 1,))),
            "linearize": lambda f: lambda x: framework.linearize(f, x)[1](x),
            "vjp": lambda f: lambda x: framework.vjp(f, x)[1](x)[0],
            "checkpoint": framework.checkpoint,
        }

    def run(self, steps, transformations, x):
        def f(x):
            for step in steps:
                x = self.steps[step](x)
            return x

        for name in transformations:
            f = self.transformations[name](f)
        return np.asarray(f(self.np.asarray(x)))


OURS, THEIRS = Defined(plugjax), Defined(jax)
X = np.array([0.3, -0.7, 1.1], np.float32)


def compare(steps, transformations):
    found, wanted = (d.run(steps, transformations, X) for d in (OURS, THEIRS))
    scale = max(1, np.abs(wanted).max())
    np.testing.assert_allclose(found, wanted, rtol=2e-4, atol=2e-5 * scale)


@given(
    steps=st.lists(st.sampled_from(sorted(OURS.steps)), min_size=1, max_size=2),
    transformations=st.lists(st.sampled_from(sorted(OURS.transformations)), max_size=3),
)
def test_nested_transformations(steps, transformations):
    compare(steps, transformations)


@pytest.mark.parametrize("platform", ["xla", "iree"])
def test_compiled(platform):
    with plugjax.default_device(plugjax.devices(platform)[0]):
        compare(["bend", "both"], ["grad", "jit"])
        compare(["scan"], ["vmap", "jit"])
