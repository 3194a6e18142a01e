"""Values of types of a program's own behave as in JAX: their derivatives are what the program says, not what their arrays would give."""

import dataclasses
import importlib
from typing import Any

import jax
import numpy as np
import pytest

import plugjax
from plugjax.experimental import hijax


class Program:
    """Quantized arrays, whose tangents are arrays of floats; rounding has the derivative 1."""

    def __init__(self, framework):
        self.jax = framework
        self.np = jnp = importlib.import_module(f"{framework.__name__}.numpy")
        self.hijax = hijax = importlib.import_module(f"{framework.__name__}.experimental.hijax")

        @dataclasses.dataclass(frozen=True)
        class Quantized:
            q: Any
            scale: Any

        @dataclasses.dataclass(frozen=True)
        class Spec(importlib.import_module(f"{framework.__name__}.{self.where}").MappingSpec):
            axis: int

        @dataclasses.dataclass(frozen=True)
        class QuantizedTy(hijax.HiType):
            shape: tuple[int, ...]
            batch: tuple[int, ...] = ()

            def lo_ty(self):
                return [
                    hijax.ShapedArray((*self.batch, *self.shape), np.dtype("int8")),
                    hijax.ShapedArray(self.batch, np.dtype("float32")),
                ]

            def lower_val(self, x):
                return [x.q, x.scale]

            def raise_val(self, q, scale):
                return Quantized(q, scale)

            def to_tangent_aval(self):
                return hijax.ShapedArray((*self.batch, *self.shape), np.dtype("float32"))

            def dec_rank(self, size, spec):
                return QuantizedTy(self.shape, self.batch[1:])

            def inc_rank(self, size, spec):
                return QuantizedTy(self.shape, (size, *self.batch))

            def str_short(self, short_dtypes=False, **_):
                return f"Quantized{list(self.shape)}"

        class Quantize(hijax.VJPHiPrimitive):
            def __init__(self, x):
                self.in_avals, self.out_aval, self.params = (x,), QuantizedTy(x.shape), {}
                super().__init__()

            def expand(self, x):
                scale = jnp.max(jnp.abs(x)) / 127
                return Quantized(jnp.round(x / scale).astype(jnp.int8), scale)

            def vjp_fwd(self, nzs_in, x):
                return self(x), None

            def vjp_bwd_retval(self, res, g):
                return (g,)

            def jvp(self, primals, tangents):
                return self(*primals), tangents[0]

        class Dequantize(hijax.VJPHiPrimitive):
            def __init__(self, aval):
                self.in_avals = (aval,)
                self.out_aval = hijax.ShapedArray(aval.shape, np.dtype("float32"))
                self.params = {}
                super().__init__()

            def expand(self, x):
                return x.q.astype(jnp.float32) * x.scale

            def vjp_fwd(self, nzs_in, x):
                return self(x), None

            def vjp_bwd_retval(self, res, g):
                return (g,)

            def jvp(self, primals, tangents):
                return self(*primals), tangents[0]

            def batch(self, axis_data, args, dims):
                (x,), (dim,) = args, dims
                assert dim == Spec(0)
                if isinstance(x, Quantized):
                    return x.q.astype(jnp.float32) * x.scale[:, None], 0
                return DequantizeAll(framework.typeof(x))(x), 0

        class DequantizeAll(Dequantize):
            def __init__(self, aval):
                self.in_avals, self.params = (aval,), {}
                self.out_aval = aval.to_tangent_aval()
                hijax.VJPHiPrimitive.__init__(self)

            def expand(self, x):
                return x.q.astype(jnp.float32) * x.scale[:, None]

        hijax.register_hitype(
            Quantized, lambda x: QuantizedTy(x.q.shape[x.scale.ndim :], tuple(x.scale.shape))
        )
        self.Quantized, self.Type, self.Spec = Quantized, QuantizedTy, Spec
        self.quantize = lambda x: Quantize(framework.typeof(x))(x)
        self.dequantize = lambda x: Dequantize(framework.typeof(x))(x)

    @property
    def where(self):
        return "_src.hijax" if self.jax is jax else "experimental.hijax"

    def through(self, x):
        return self.np.sum(self.dequantize(self.quantize(x)) ** 2)

    def of_quantized(self, x, y):
        return self.np.sum(self.dequantize(x) * y)

    def results(self):
        j = self.jax
        x, y = (
            self.np.asarray(np.array(v, np.float32)) for v in ([0.3, -1.0, 2.0], [1.0, 2.0, 4.0])
        )
        qx = j.jit(self.quantize)(x)
        assert type(qx) is self.Quantized
        assert j.typeof(qx) == self.Type((3,))
        by_quantized = j.grad(self.of_quantized)
        steps = self.np.stack([x, y])

        def looped(x):
            return j.lax.scan(
                lambda c, v: (c + self.dequantize(self.quantize(c * v)), c), x, steps
            )[0].sum()

        def carried(x):
            return self.dequantize(
                j.lax.scan(
                    lambda c, v: (self.quantize(self.dequantize(c) + v), None),
                    self.quantize(x),
                    steps,
                )[0]
            )

        def counted(x):
            step = lambda c: (c[0] + 1, self.quantize(self.dequantize(c[1]) + y))  # noqa: E731
            return self.dequantize(
                j.lax.while_loop(lambda c: c[0] < 3, step, (0, self.quantize(x)))[1]
            )

        def repeated(x):
            step = lambda _, c: self.quantize(self.dequantize(c) * 2)  # noqa: E731
            return self.dequantize(j.lax.fori_loop(0, 3, step, self.quantize(x)))

        def chosen(x):
            double = lambda q: self.quantize(self.dequantize(q) * 2)  # noqa: E731
            found = j.lax.cond(x.sum() > 0, double, lambda q: q, self.quantize(x))
            return self.dequantize(j.lax.switch(1, [lambda q: q, double], found))

        # JAX fails inside where branches, or a loop that a condition does not end, are under jit.
        jit = j.jit if j is plugjax else lambda f: f

        return {
            "while": counted(x),
            "jit of while": j.jit(counted)(x),
            "fori": repeated(x),
            "jit of fori": jit(repeated)(x),
            "cond": chosen(x),
            "jit of cond": jit(chosen)(x),
            "arrays": (qx.q, qx.scale),
            "eager": self.quantize(x).q,
            "jit": j.jit(self.dequantize)(qx),
            "jit of several": j.jit(lambda a, b: (b, self.dequantize(a) + 1, [a]))(qx, y)[1],
            "out of jit": j.jit(lambda a: {"again": a})(qx)["again"].q,
            "inside": j.jit(self.through)(x),
            "grad": j.grad(self.through)(x),
            "grad of jit": j.grad(j.jit(self.through))(x),
            "jit of grad": j.jit(j.grad(self.through))(x),
            "jvp": j.jvp(self.through, (x,), (y,)),
            "jvp of jit": j.jvp(j.jit(self.through), (x,), (y,)),
            "grad by a value": by_quantized(qx, y),
            "jit of grad by a value": j.jit(by_quantized)(qx, y),
            "grad of jit by a value": j.grad(j.jit(self.of_quantized))(qx, y),
            "vjp to a value": j.vjp(self.quantize, x)[1](y),
            "vjp to a value through jit": j.vjp(j.jit(self.quantize), x)[1](y),
            "closed over": j.jit(lambda y: self.of_quantized(qx, y))(y),
            "grad of closed over": j.grad(lambda y: self.of_quantized(qx, y))(y),
            "scan": j.jit(looped)(x),
            "grad of scan": j.grad(looped)(x),
            "carried": carried(x),
            "jit of carried": jit(carried)(x),
        }


def test_values_are_those_of_jax(on_backend):
    theirs, ours = Program(jax).results(), Program(plugjax).results()
    for name, expected in theirs.items():
        for a, b in zip(jax.tree.leaves(ours[name]), jax.tree.leaves(expected), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, err_msg=name)


@pytest.fixture(params=[jax, plugjax], ids=["jax", "plugjax"])
def program(request):
    return Program(request.param)


def test_the_type_is_seen_while_tracing(program):
    seen = []

    @program.jax.jit
    def f(x):
        seen.append(program.jax.typeof(x))
        return x

    f(program.quantize(program.np.ones(3)))
    assert seen == [program.Type((3,))]
    eqns = program.jax.make_jaxpr(program.through)(program.np.ones(3)).eqns
    assert [e.primitive.name for e in eqns[:2]] == ["call_hi_primitive"] * 2
    assert eqns[0].outvars[0].aval == program.Type((3,))


def test_values_are_mapped_by_their_specs(program):
    q = np.array([[1, 2], [3, 4], [5, 6]], np.int8)
    x = program.Quantized(
        program.np.asarray(q), program.np.asarray(np.array([1.0, 2.0, 3.0], np.float32))
    )
    spec, vmap = program.Spec(0), program.jax.vmap
    expected = q * np.array([[1.0], [2.0], [3.0]])
    mapped = vmap(program.dequantize, in_axes=spec, axis_size=3)
    for run in (
        mapped,
        program.jax.jit(mapped),
        vmap(program.dequantize, in_axes=(spec,), axis_size=3),
    ):
        np.testing.assert_array_equal(run(x), expected)
    seen = []
    vmap(
        lambda v: (seen.append(program.jax.typeof(v)), program.np.float32(0))[1],
        in_axes=(spec,),
        axis_size=3,
    )(x)
    assert seen == [program.Type((2,))]


def test_operations_of_arrays_refuse_values():
    program = Program(plugjax)
    x = program.quantize(plugjax.numpy.ones(3))
    with pytest.raises(TypeError):
        plugjax.numpy.sin(x)
    with pytest.raises(TypeError):
        plugjax.jit(plugjax.numpy.sin)(x)


def test_jitted_functions_of_values_are_mapped():
    # JAX has no batches of a jitted function with operands of such types.
    program = Program(plugjax)
    q = np.array([[1, 2], [3, 4], [5, 6]], np.int8)
    x = program.Quantized(program.np.asarray(q), program.np.arange(1.0, 4.0))
    jit, spec = plugjax.jit, program.Spec(0)
    for function in (
        jit(program.dequantize),
        lambda v: program.dequantize(jit(lambda v: v)(v)),
        jit(lambda v: jit(program.dequantize)(v)),
        lambda v: jit(lambda v, x: program.dequantize(v) * x)(v, 1.0),
    ):
        found = plugjax.vmap(function, in_axes=spec, axis_size=3)(x)
        np.testing.assert_array_equal(found, q * np.array([[1.0], [2.0], [3.0]]))


def test_specs_of_the_wrong_kind_are_refused():
    program = Program(plugjax)
    x = program.quantize(plugjax.numpy.ones(3))
    mesh, whole = plugjax.make_mesh((1,), ("i",)), plugjax.P()

    class Whole(hijax.HiPspec):
        def to_lo(self):
            return (whole,)

    spec = Whole()
    with pytest.raises(TypeError, match=r"in_specs entry P\(\) for args\[0\]"):
        plugjax.shard_map(program.dequantize, mesh=mesh, in_specs=whole, out_specs=whole)(x)
    with pytest.raises(TypeError, match=r"which takes a PartitionSpec"):
        plugjax.shard_map(lambda x: x, mesh=mesh, in_specs=spec, out_specs=whole)(1.0)
    with pytest.raises(TypeError, match=r"out_specs entry .*which takes a HiPspec"):
        plugjax.shard_map(program.quantize, mesh=mesh, in_specs=whole, out_specs=whole)(1.0)
    with pytest.raises(NotImplementedError, match="must implement `shard`"):
        plugjax.shard_map(lambda x: x, mesh=mesh, in_specs=spec, out_specs=spec)(x)


class Length:
    """A value of a type of the program's that functions of arrays take for its number."""

    def __init__(self, metres):
        self.metres = metres

    @property
    def aval(self):
        return plugjax.typeof(self.metres)

    def __jax_array__(self):
        return self.metres


class LengthTy(hijax.HiType):
    def __hash__(self):
        return hash(LengthTy)

    def __eq__(self, other):
        return isinstance(other, LengthTy)


hijax.register_hitype(Length, lambda _: LengthTy())


TAKE_LENGTHS = {
    "operator": lambda jnp, x, v: x * v,
    "power": lambda jnp, x, v: x**v,
    "reflected": lambda jnp, x, v: jnp.add(v, 1),
    "matmul": lambda jnp, x, v: jnp.matmul(v, x.T),
    "reduction": lambda jnp, x, v: jnp.sum(v, axis=0),
    "one operand": lambda jnp, x, v: jnp.sin(v),
    "zeros": lambda jnp, x, v: jnp.zeros_like(v),
    "zeros of a dtype": lambda jnp, x, v: jnp.zeros_like(v, dtype="int32"),
    "array": lambda jnp, x, v: jnp.asarray(v),
    "array of several": lambda jnp, x, v: jnp.array([v, x]),
    "joined": lambda jnp, x, v: jnp.concatenate([v, x]),
    "squeezed": lambda jnp, x, v: jnp.squeeze(v),
    "dtype": lambda jnp, x, v: jnp.zeros((), jnp.result_type(v, "int8")),
}


@pytest.mark.parametrize("name", TAKE_LENGTHS)
def test_functions_of_arrays_take_the_content_of_a_value(name):
    x, function = np.arange(6.0, dtype=np.float32).reshape(2, 3), TAKE_LENGTHS[name]
    wanted = function(jax.numpy, jax.numpy.asarray(x), jax.numpy.asarray(x + 1))
    ours = plugjax.numpy.asarray(x)
    for jit in (lambda f: f, plugjax.jit):
        found = jit(lambda x: function(plugjax.numpy, x, Length(x + 1)))(ours)
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(found, wanted, rtol=1e-6)
