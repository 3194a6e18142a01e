"""``custom_vjp`` with ``optimize_remat``: where nothing reads the residuals, the function runs in place of its forward rule."""

import importlib

import jax
import numpy as np
import pytest

import plugjax


class Program:
    """A sine whose forward rule gives the cosine with it, both as one operation; ``calls`` says what ran."""

    def __init__(self, framework):
        self.jax = framework
        self.np = importlib.import_module(f"{framework.__name__}.numpy")
        self.calls = calls = []

        def sine(x):
            calls.append("fun")
            return np.sin(x)

        def sine_and_cosine(x):
            calls.append("fwd")
            return np.sin(x), np.cos(x)

        def call(function, result, x):
            return framework.pure_callback(function, result, x, vmap_method="expand_dims")

        @framework.custom_vjp
        def f(x):
            return call(sine, x, x)

        def forward(x):
            y, cosine = call(sine_and_cosine, (x, x), x)
            return y, (cosine, x)

        f.defvjp(forward, lambda residuals, g: (residuals[0] * g,), optimize_remat=True)
        self.f = f

    def of_vjp(self, function):
        """Gives the results of a function that is about to be differentiated, and is not."""
        return lambda x: self.jax.vjp(function, x)[0]

    def ran(self, function, *args):
        """The results of a function, and which operations ran."""
        self.calls.clear()
        found = [np.asarray(y) for y in self.jax.tree.leaves(self.jax.jit(function)(*args))]
        return found, sorted(self.calls)


def in_a_loop(p):
    return lambda x: p.jax.lax.scan(lambda c, _: (p.of_vjp(p.f)(c), None), x, None, length=2)[0]


CASES = {
    "results alone": lambda p: p.of_vjp(p.f),
    "derivative": lambda p: p.jax.grad(p.f),
    "both": lambda p: p.jax.value_and_grad(p.f),
    "mapped": lambda p: lambda x: p.jax.vmap(p.of_vjp(p.f))(x + p.np.arange(3.0)),
    "derivative of mapped": lambda p: p.jax.grad(
        lambda x: p.jax.vmap(p.f)(x + p.np.arange(3.0)).sum()
    ),
    "mapped about to be differentiated": lambda p: p.of_vjp(
        lambda x: p.jax.vmap(p.f)(x + p.np.arange(3.0))
    ),
    "in a loop": in_a_loop,
    "about to be recomputed": lambda p: p.of_vjp(p.jax.checkpoint(p.f)),
}


@pytest.mark.parametrize("name", CASES)
def test_what_runs(name, backend):
    expected, found = (p.ran(CASES[name](p), 0.5) for p in map(Program, (jax, plugjax)))
    assert found[1] == expected[1]
    for a, b in zip(found[0], expected[0], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


def test_its_equation():
    p = Program(plugjax)
    (eqn,) = plugjax.make_jaxpr(p.of_vjp(p.f))(0.5).eqns
    assert eqn.primitive is plugjax.custom_derivatives.remat_opt_p
    assert (eqn.params["num_res"], len(eqn.outvars)) == (1, 2)  # The argument is no result.


def test_a_rule_whose_residuals_are_arguments(backend):
    f = plugjax.custom_vjp(lambda x, y: x * y)
    f.defvjp(lambda x, y: (x * y, (x, y)), lambda r, g: (g * r[1], g * r[0]), optimize_remat=True)
    assert "remat_opt" not in str(plugjax.make_jaxpr(plugjax.grad(f))(2.0, 3.0))
    assert plugjax.jit(plugjax.grad(f, (0, 1)))(2.0, 3.0) == (3.0, 2.0)


def test_derivatives_of_higher_order(backend):
    f = plugjax.custom_vjp(lambda x: x**3)
    f.defvjp(lambda x: (x**3, 3 * x**2), lambda r, g: (r * g,), optimize_remat=True)
    second = plugjax.grad(plugjax.grad(f))
    assert second(2.0) == plugjax.jit(second)(2.0) == 12.0


@pytest.mark.parametrize("framework", [jax, plugjax])
def test_symbolic_zeros_are_refused(framework):
    f = framework.custom_vjp(lambda x: x)

    def run():
        f.defvjp(
            lambda x: (x.value, None), lambda _, g: (g,), symbolic_zeros=True, optimize_remat=True
        )
        framework.grad(f)(1.0)

    with pytest.raises(NotImplementedError, match="does not support symbolic zeros"):
        run()
