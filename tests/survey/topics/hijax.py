"""Operations and types of a program's own."""


def _square(jax):
    hijax = jax.experimental.hijax

    class Square(hijax.VJPHiPrimitive):
        def __init__(self, aval):
            self.in_avals = (aval,)
            self.out_aval = aval
            self.params = {}
            super().__init__()

        def expand(self, x):
            return x * x

        def vjp_fwd(self, nzs_in, x):
            return self(x), x

        def vjp_bwd_retval(self, res, g):
            return (3 * g * res,)

        def jvp(self, primals, tangents):
            (x,), (t,) = primals, tangents
            return self(x), t * 2 * x

        def batch_dim_rule(self, axis_data, in_dims):
            return in_dims[0]

    return lambda x: Square(jax.typeof(x))(x)


def square_runs(jax):
    return _square(jax)(jax.numpy.arange(3.0)), jax.jit(_square(jax))(2.0)


def square_has_its_own_gradient(jax):
    return jax.grad(_square(jax))(2.0)


def square_under_jvp(jax):
    return jax.jvp(_square(jax), (2.0,), (1.0,))


def square_under_vmap(jax):
    return jax.vmap(_square(jax))(jax.numpy.arange(3.0))


def _quantized(jax):
    hijax = jax.experimental.hijax
    jnp = jax.numpy
    from dataclasses import dataclass

    @dataclass(frozen=True)
    class QArray:
        values: object
        scale: object

    @dataclass(frozen=True)
    class QType(hijax.HiType):
        shape: tuple

        def lo_ty(self):
            aval = hijax.ShapedArray if hasattr(hijax, "ShapedArray") else jax.core.ShapedArray
            return [
                aval(self.shape, jnp.dtype("int8")),
                aval(self.shape[:1], jnp.dtype("float32")),
            ]

        def lower_val(self, q):
            return [q.values, q.scale]

        def raise_val(self, values, scale):
            return QArray(values, scale)

        def to_tangent_aval(self):
            return jax.core.ShapedArray(self.shape, jnp.dtype("float32"))

    hijax.register_hitype(QArray, lambda q: QType(q.values.shape))

    class ToQ(hijax.VJPHiPrimitive):
        def __init__(self, aval):
            self.in_avals = (aval,)
            self.out_aval = QType(aval.shape)
            self.params = {}
            super().__init__()

        def expand(self, x):
            scale = jnp.max(jnp.abs(x), axis=1) / 127
            return QArray(jnp.round(x / scale[:, None]).astype(jnp.int8), scale)

        def vjp_fwd(self, nzs_in, x):
            return self(x), None

        def vjp_bwd_retval(self, _, g):
            return (g,)

    class FromQ(hijax.VJPHiPrimitive):
        def __init__(self, aval):
            self.in_avals = (aval,)
            self.out_aval = jax.core.ShapedArray(aval.shape, jnp.dtype("float32"))
            self.params = {}
            super().__init__()

        def expand(self, q):
            return q.values.astype(jnp.float32) * q.scale[:, None]

        def vjp_fwd(self, nzs_in, x):
            return self(x), None

        def vjp_bwd_retval(self, _, g):
            return (g,)

    return lambda x: ToQ(jax.typeof(x))(x), lambda q: FromQ(jax.typeof(q))(q)


def quantize_and_back(jax):
    to_q, from_q = _quantized(jax)
    x = jax.numpy.array([[1.0, -2.0], [0.3, 0.7]])
    return from_q(to_q(x)), jax.jit(lambda x: from_q(to_q(x)))(x)


def quantized_argument_of_jit(jax):
    to_q, from_q = _quantized(jax)
    x = jax.numpy.array([[1.0, -2.0], [0.3, 0.7]])
    return jax.jit(from_q)(to_q(x))


def straight_through_gradient(jax):
    to_q, from_q = _quantized(jax)
    x = jax.numpy.array([[1.0, -2.0], [0.3, 0.7]])
    return jax.grad(lambda x: (from_q(to_q(x)) ** 2).sum())(x)


def run_state(jax):
    jnp = jax.numpy

    def body(ref):
        ref[...] = ref[...] + 1.0

    ref = jax.new_ref(jnp.zeros(2))
    jax.jit(body)(ref)
    return ref[...]
