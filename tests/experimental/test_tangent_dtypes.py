"""Dtypes whose tangents have another dtype, against JAX: there is such a value within ``jit`` alone there."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import plugjax
import plugjax.experimental
import plugjax.numpy as pnp

X = np.array([0.1, 0.25, -0.3], np.float32)


class Quantized:
    """Functions of one library with small integers that have derivatives."""

    def __init__(self, j, np_):
        self.j, self.np, self.convert = j, np_, j.lax.convert_element_type
        dtype = self.dtype = j.experimental.primal_tangent_dtype("int8", "bfloat16")

        @j.custom_vjp
        def from_q(y):
            return self.convert(y, "int8").astype("bfloat16") * 0.5

        from_q.defvjp(lambda y: (from_q(y), None), lambda _, g: (g,))

        @j.custom_vjp
        def to_q(x):
            return self.convert(np_.round(x * 8).astype("int8"), dtype)

        to_q.defvjp(lambda x: (to_q(x), None), lambda _, g: (g.astype("float32"),))
        self.from_q, self.to_q = from_q, to_q

    def loss(self, x):
        return (self.from_q(self.to_q(x)).astype("float32") ** 2).sum()

    def there_and_back(self, x):
        dtype = self.j.experimental.primal_tangent_dtype("float32", "bfloat16")
        return self.convert(self.convert(x, dtype), "float32")


PROGRAMS = {
    "value": lambda q: q.loss,
    "gradient": lambda q: q.j.grad(q.loss),
    "gradient of jit": lambda q: q.j.grad(q.j.jit(q.loss)),
    "batches": lambda q: lambda x: q.j.vmap(q.j.grad(q.loss))(q.np.stack([x, 2 * x])),
    "checkpoint": lambda q: q.j.grad(q.j.checkpoint(q.loss)),
    "scan": lambda q: q.j.grad(lambda x: q.j.lax.scan(lambda c, a: (c + q.from_q(a).astype("float32"), None), 0.0, q.to_q(x))[0]),
    "loop": lambda q: lambda x: q.from_q(q.j.lax.fori_loop(0, 3, lambda i, c: c, q.to_q(x))),
    "branch": lambda q: lambda x: q.from_q(q.j.lax.cond(x[0] > 0, lambda y: y, lambda y: y, q.to_q(x))),
    "indexing": lambda q: lambda x: q.from_q(q.to_q(x)[1:]),
    "shapes": lambda q: lambda x: q.from_q(q.np.broadcast_to(q.to_q(x).reshape(3, 1), (3, 2))),
    "joining": lambda q: lambda x: q.from_q(q.np.concatenate([q.to_q(x), q.to_q(-x)])),
    "choice": lambda q: lambda x: q.from_q(q.np.where(x > 0, q.to_q(x), q.to_q(-x))),
    "tangents of a float": lambda q: lambda x: q.j.jvp(q.there_and_back, (x,), (x * 1.001,)),
    "cotangents of a float": lambda q: q.j.grad(lambda x: q.there_and_back(x).sum() * 1.001),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("device", ["numpy", "xla"])
def test_values_and_derivatives_are_those_of_jax(name, device):
    program = PROGRAMS[name]
    wanted = jax.tree.leaves(jax.jit(program(Quantized(jax, jnp)))(X))
    with plugjax.default_device(device):
        found = plugjax.tree.leaves(plugjax.jit(program(Quantized(plugjax, pnp)))(X))
    for a, b in zip(found, wanted, strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        np.testing.assert_array_equal(np.asarray(a), np.asarray(b))


def test_what_is_no_representation_is_refused():
    for q in (Quantized(plugjax, pnp), Quantized(jax, jnp)):
        with pytest.raises(ValueError, match="its representation dtype"):
            q.j.jit(lambda x, q=q: q.convert(x, q.dtype))(X)
        with pytest.raises(ValueError, match="its representation dtype"):
            q.j.jit(lambda x, q=q: q.convert(q.to_q(x), "int16"))(X)
        with pytest.raises(TypeError, match="add does not accept dtype"):
            q.j.jit(lambda x, q=q: q.to_q(x) + q.to_q(x))(X)


def test_names():
    for j in (plugjax, jax):
        make = j.experimental.primal_tangent_dtype
        assert str(make("int8", "bfloat16")) == "PrimalTangentDType{i8/bf16}"
        assert make("int8", "bfloat16") == make("int8", "bfloat16") != make("int8", "float32")
        assert make("int8", "float32", name="q8").name == "q8"


def test_gradients_by_such_a_value():
    q = Quantized(plugjax, pnp)
    found = plugjax.grad(lambda y: (q.from_q(y).astype("float32") ** 2).sum())(q.to_q(X))
    assert found.dtype == "bfloat16"
    assert found.tolist() == [1.0, 2.0, -2.0]
