"""Drawn programs over boxes, and over operations that classes describe, leave what they leave in JAX."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

import plugjax
from tests.experimental.test_hijax_boxes import OURS, THEIRS, described

# What is done with two boxes and a number, which is also the next number. Types of what a box holds stay as they are.
STEPS = {
    "set": lambda j, a, b, x: (a.set(a.get() + x), x)[1],
    "swap": lambda j, a, b, x: (_swap(a, b), x + 1)[1],
    "read": lambda j, a, b, x: x + a.get() * b.get(),
    "own box": lambda j, a, b, x: (j.Box(x), x * 2)[1],
    "jit": lambda j, a, b, x: j.jax.jit(lambda x: (b.set(x - 1), x * 3)[1])(x),
    "passed": lambda j, a, b, x: j.jax.jit(lambda a, x: (a.set(x), x + a.get())[1])(a, x),
    "scan": lambda j, a, b, x: j.lax.scan(lambda c, y: (_grow(a, c + y), c), x, j.np.arange(3.0))[0],
    "fori": lambda j, a, b, x: j.lax.fori_loop(0, 2, lambda i, c: _grow(b, c), x),
    "while": lambda j, a, b, x: j.lax.while_loop(lambda c: c < 4.0, lambda c: c + 1 + 0 * _grow(a, c), x),
    "cond": lambda j, a, b, x: j.lax.cond(x > 0, lambda x: _grow(a, x), lambda x: -x, x),
    "cond of a box": lambda j, a, b, x: (
        j.lax.cond(x > 1, lambda b: b.set(b.get() / 2), lambda b: None, b),
        x,
    )[1],
}  # fmt: skip


def _swap(a, b):
    held = a.get()
    a.set(b.get())
    b.set(held)


def _grow(box, x):
    box.set(box.get() * 0.5 + x)
    return x * 0.25


def run(j, steps, form):
    one = j.np.float32(1.0)
    a, b = j.Box(one), j.Box(one * 2)

    def f(x):
        for step in steps:
            x = STEPS[step](j, a, b, x)
        return x

    return form(j, f)(one * 1.5), a.get(), b.get()


def around(j, f):
    """The boxes are set to what is not differentiated."""
    return j.jax.grad(lambda x: (f(j.lax.stop_gradient(x)), x * x)[1])


FORMS = {
    "plain": lambda j, f: f,
    "jit": lambda j, f: j.jax.jit(f),
    "twice": lambda j, f: lambda x: (lambda g: (g(x), g(x + 1)))(j.jax.jit(f)),
    "scan": lambda j, f: lambda x: j.lax.scan(lambda c, _: (f(c), c), x, None, length=2),
    "grad": around,
    "jit of grad": lambda j, f: j.jax.jit(around(j, f)),
}


@pytest.mark.spread(4)
@pytest.mark.parametrize("form", FORMS)
@given(steps=st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=3))
def test_boxes(form, steps):
    (structure, found), (expected, wanted) = (
        described(run(j, steps, FORMS[form])) for j in (OURS, THEIRS)
    )
    assert structure == expected
    for x, y in zip(found, wanted, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-5)


class Operations:
    """Operations with the rules that transformations ask for."""

    def __init__(self, j):
        self.j, hijax = j, j.hijax

        class Scaled(hijax.VJPHiPrimitive):
            def __init__(self, aval, power):
                self.in_avals, self.out_aval, self.params = (aval, aval), aval, {"power": power}
                super().__init__()

            def expand(self, x, y):
                return x**self.power * j.np.sin(y)

            def jvp(self, primals, tangents):
                x, y = primals
                x_dot, y_dot = map(hijax.instantiate_zeros, tangents)
                slope = self.power * x ** (self.power - 1) * j.np.sin(y)
                return self(x, y), slope * x_dot + x**self.power * j.np.cos(y) * y_dot

            def vjp_fwd(self, nzs_in, x, y):
                return self(x, y), (x, y)

            def vjp_bwd_retval(self, res, g):
                x, y = res
                slope = self.power * x ** (self.power - 1) * j.np.sin(y)
                return g * slope, g * x**self.power * j.np.cos(y)

            def batch_dim_rule(self, axis_data, dims):
                return next(d for d in dims if d is not None)

        self.steps = {
            "square": lambda x: Scaled(j.jax.typeof(x), 2)(x, x + 1),
            "cube": lambda x: Scaled(j.jax.typeof(x), 3)(x, x),
            "scan": lambda x: j.lax.scan(
                lambda c, y: (Scaled(j.jax.typeof(c), 2)(c, y), c), x[0], x
            )[1],
            "jit": lambda x: j.jax.jit(lambda x: Scaled(j.jax.typeof(x), 2)(x, 2 * x))(x),
            "plain": j.np.sin,
        }
        self.forms = {
            "jit": lambda f: j.jax.jit(f),
            "grad": lambda f: j.jax.grad(lambda x: j.np.sum(f(x))),
            "jvp": lambda f: lambda x: j.jax.jvp(f, (x,), (x + 1,)),
            "vmap": lambda f: lambda x: j.jax.vmap(f)(j.np.stack([x, -x])),
            "vmap of grad": lambda f: (
                lambda x: j.jax.vmap(j.jax.grad(lambda x: j.np.sum(f(x))))(j.np.stack([x, -x]))
            ),
        }

    def run(self, steps, form):
        def f(x):
            for step in steps:
                x = self.steps[step](x)
            return x

        return self.j.jax.tree.leaves(self.forms[form](f)(self.j.np.asarray([0.5, -1.25, 2.0])))


OPERATIONS = Operations(OURS), Operations(THEIRS)


def compare(steps, form):
    ours, theirs = (o.run(steps, form) for o in OPERATIONS)
    for x, y in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=1e-4, atol=1e-5)


@given(
    steps=st.lists(st.sampled_from(sorted(OPERATIONS[0].steps)), min_size=1, max_size=2),
    form=st.sampled_from(sorted(OPERATIONS[0].forms)),
)
def test_operations(steps, form):
    compare(steps, form)


@pytest.mark.parametrize("platform", ["xla", "iree"])
def test_operations_compiled(platform):
    with plugjax.default_device(plugjax.devices(platform)[0]):
        compare(["square", "scan"], "jit")
        compare(["jit"], "vmap of grad")
