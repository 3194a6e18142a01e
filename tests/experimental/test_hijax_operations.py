"""Operations that a class describes behave as in JAX under every transformation, on every backend."""

import importlib

import jax
import numpy as np
import pytest

import plugjax


class Program:
    """Operations of one framework. Their derivatives are wrong on purpose: that of the functions would show."""

    def __init__(self, framework):
        self.jax = framework
        self.np = importlib.import_module(f"{framework.__name__}.numpy")
        hijax = importlib.import_module(f"{framework.__name__}.experimental.hijax")
        base = hijax.VJPHiPrimitive
        jnp = self.np

        class Affine(base):
            """``(x["a"] * y + shift, sum of y)``."""

            def __init__(self, x, y, shift):
                self.in_avals = (x, y)
                self.out_aval = (x["a"], y.update(shape=()))
                self.params = {"shift": shift}
                super().__init__()

            def expand(self, x, y):
                return x["a"] * y + self.shift, jnp.sum(y)

            def vjp_fwd(self, nzs_in, x, y):
                return self(x, y), (x, y, nzs_in)

            def vjp_bwd_retval(self, res, g):
                x, y, _ = res
                out, total = map(hijax.instantiate_zeros, g)
                return {"a": 3 * out * y}, out * x["a"] + 5 * total

            def jvp(self, primals, tangents):
                (x, y), (x_dot, y_dot) = primals, tangents
                return self(x, y), (3 * x_dot["a"] * y + x["a"] * y_dot, 5 * jnp.sum(y_dot))

            def batch_dim_rule(self, axis_data, in_dims):
                dims = [d for d in (in_dims[0]["a"], in_dims[1]) if d is not None]
                return (dims[0], 0)

        class Twice(base):
            """``2 * x``, with accumulators in its backward pass and a rule for batches."""

            def __init__(self, x):
                self.in_avals, self.out_aval, self.params = (x,), x, {}
                super().__init__()

            def expand(self, x):
                return 2 * x

            def vjp_fwd(self, nzs_in, x):
                return self(x), ()

            def vjp_bwd(self, res, g, x_accum):
                x_accum.accum(7 * g)
                x_accum.accum(g)

            def batch(self, axis_data, args, dims):
                (x,), (d,) = args, dims
                assert d is None or axis_data.size == x.shape[d]
                return Twice(framework.typeof(x))(x), d

        self.Affine, self.Twice = Affine, Twice

    def affine(self, x, y, shift=1.0):
        return self.Affine({"a": self.jax.typeof(x)}, self.jax.typeof(y), shift)({"a": x}, y)

    def twice(self, x):
        return self.Twice(self.jax.typeof(x))(x)

    def loss(self, x, y):
        out, total = self.affine(x, self.twice(y))
        return self.np.sum(out**2) * self.np.sin(total)

    def results(self):
        """Values under every transformation."""
        j, f = self.jax, self.loss
        x, y = np.array([1.0, 2.0, 4.0], np.float32), np.array([0.5, -1.0, 2.0], np.float32)
        xs, ys = np.stack([x, 2 * x]), np.stack([y, -y], 1)
        x, y, xs, ys = map(self.np.asarray, (x, y, xs, ys))
        each = j.grad(f, (0, 1))

        def looped(x):
            return j.lax.scan(lambda c, v: (self.affine(c, x)[0], self.twice(v)), x, xs)

        return {
            "value": f(x, y),
            "jit": j.jit(f)(x, y),
            "grad": each(x, y),
            "jit of grad": j.jit(each)(x, y),
            "grad of jit": j.grad(j.jit(f), 1)(x, y),
            "vmap": j.vmap(f, (0, 1))(xs, ys),
            "vmap of grad": j.vmap(each, (0, 1))(xs, ys),
            "grad of vmap": j.grad(lambda x, ys: j.vmap(f, (None, 1))(x, ys).sum(), (0, 1))(x, ys),
            "jit of grad of vmap": j.jit(j.grad(lambda x: j.vmap(lambda v: f(v, y))(x).sum()))(xs),
            "vmap of vmap": j.vmap(j.vmap(self.affine, (0, None)), (None, 1))(xs, ys),
            "scan": looped(x),
            "grad of scan": j.grad(lambda x: looped(x)[0].sum())(x),
            "jvp": j.jvp(self.affine, (x, y), (y, x)),
        }


def test_operations_are_those_of_jax(on_backend):
    theirs, ours = Program(jax).results(), Program(plugjax).results()
    for name, expected in theirs.items():
        for a, b in zip(jax.tree.leaves(ours[name]), jax.tree.leaves(expected), strict=True):
            np.testing.assert_allclose(a, b, rtol=2e-5, err_msg=name)


@pytest.fixture(params=[jax, plugjax], ids=["jax", "plugjax"])
def program(request):
    return Program(request.param)


def test_an_operation_is_one_equation(program):
    x = program.np.ones(3)
    eqns = program.jax.make_jaxpr(program.affine)(x, x).eqns
    assert [e.primitive.name for e in eqns] == ["call_hi_primitive"]
    assert eqns[0].params["_prim"] == program.Affine(
        {"a": program.jax.typeof(x)}, program.jax.typeof(x), 1.0
    )
    assert eqns[0].params["_prim"] != program.Affine(
        {"a": program.jax.typeof(x)}, program.jax.typeof(x), 2.0
    )


def test_unread_operations_are_dropped(program):
    x = program.np.ones(3)
    jaxpr = program.jax.make_jaxpr(lambda x: (program.twice(x), x)[1])(x).jaxpr
    pe = importlib.import_module(f"{program.jax.__name__}.interpreters.partial_eval")
    assert pe.dce_jaxpr(jaxpr, [True])[0].eqns == []


def test_what_is_missing_is_named(program):
    base = type(program.twice).__mro__ and program.Twice.__mro__[1]

    class Bare(base):
        def __init__(self, x):
            self.in_avals, self.out_aval, self.params = (x,), x, {}
            super().__init__()

        def expand(self, x):
            return x

    x = program.np.ones(3)
    f = Bare(program.jax.typeof(x))
    for run, words in (
        (program.jax.grad(lambda x: f(x).sum()), "for grad support"),
        (program.jax.vmap(lambda x: Bare(program.jax.typeof(x))(x)), "for vmap support"),
        (lambda x: program.jax.jvp(f, (x,), (x,)), "for jvp support"),
    ):
        with pytest.raises(NotImplementedError, match=words):
            run(x)
    with pytest.raises(AttributeError, match=r"should set `self\.out_aval`"):
        type(
            "NoOut",
            (base,),
            {"__init__": lambda self: (setattr(self, "in_avals", ()), base.__init__(self))[1]},
        )()


def test_forward_mode_of_a_linearized_operation():
    program = Program(plugjax)
    x, y = program.np.arange(1.0, 4.0), program.np.ones(3)
    _, push = plugjax.linearize(program.affine, x, y)
    expected = plugjax.jvp(program.affine, (x, y), (y, x))[1]
    for a, b in zip(push(y, x), expected, strict=True):
        np.testing.assert_allclose(a, b)
    with pytest.raises(TypeError, match="Twice has reverse mode alone after linearize"):
        plugjax.linearize(program.twice, x)[1](x)
