"""``shard_map`` of values of a type of the program's own."""

import dataclasses
import importlib
import math
from typing import Any

from tests.meshes.programs.table import as_bytes, drawn, program


class Pairs:
    """A type of pairs of arrays, each cut in its own way, with operations on them."""

    def __init__(self, e):
        jax, jnp = e.jax, e.jnp
        hijax = importlib.import_module(f"{jax.__name__}.experimental.hijax")
        sharding = jax.sharding

        @dataclasses.dataclass
        class Pair:
            x: Any
            y: Any

        @dataclasses.dataclass(frozen=True)
        class PairSpec(hijax.HiPspec):
            x: Any
            y: Any

            def to_lo(self):
                return self.x, self.y

            def to_tangent_spec(self):
                return self

            def to_ct_spec(self):
                return self

        def whole(aval, mesh, spec):
            shape = [n * count(mesh, s) for n, s in zip(aval.shape, spec, strict=True)]
            nowhere = sharding.NamedSharding(mesh.abstract_mesh, e.P(*[None] * aval.ndim))
            return aval.update(
                shape=tuple(shape),
                sharding=nowhere,
                manual_axis_type=sharding.ManualAxisType(),
            )

        def part(aval, mesh, manual, check_vma, spec):
            shape = [n // count(mesh, s) for n, s in zip(aval.shape, spec, strict=True)]
            inner = mesh.abstract_mesh.update_axis_types(dict.fromkeys(manual, e.AxisType.Manual))
            names = [s for s in spec if s is not None] if check_vma else []
            return aval.update(
                shape=tuple(shape),
                sharding=aval.sharding.update(mesh=inner),
                manual_axis_type=sharding.ManualAxisType(varying=frozenset(names)),
            )

        @dataclasses.dataclass(frozen=True)
        class PairTy(hijax.HiType):
            x: Any
            y: Any

            def lo_ty(self):
                return [self.x, self.y]

            def lower_val(self, pair):
                return [pair.x, pair.y]

            def raise_val(self, x, y):
                return Pair(x, y)

            def to_tangent_aval(self):
                return self

            def vspace_zero(self):
                return Pair(jnp.zeros(self.x.shape), jnp.zeros(self.y.shape))

            def vspace_add(self, a, b):
                return make(first(a) + first(b), second(a) + second(b))

            def shard(self, mesh, manual_axes, check_vma, spec):
                given = mesh, manual_axes, check_vma
                return PairTy(part(self.x, *given, spec.x), part(self.y, *given, spec.y))

            def unshard(self, mesh, check_vma, spec):
                return PairTy(whole(self.x, mesh, spec.x), whole(self.y, mesh, spec.y))

            def nospec(self, mesh, check_vma, all_names):
                return PairSpec(e.P(all_names, None), e.P(all_names))

            def str_short(self, short_dtypes=False, mesh_axis_types=False):
                return f"pair[{self.x.str_short(True)}, {self.y.str_short(True)}]"

        hijax.register_hitype(Pair, lambda pair: PairTy(jax.typeof(pair.x), jax.typeof(pair.y)))

        class Make(hijax.VJPHiPrimitive):
            def __init__(self, x, y):
                self.in_avals, self.out_aval, self.params = (x, y), PairTy(x, y), {}
                super().__init__()

            def expand(self, x, y):
                return Pair(x, y)

            def vjp_fwd(self, nzs_in, x, y):
                return self(x, y), None

            def vjp_bwd_retval(self, res, g):
                return first(g), second(g)

        class Product(hijax.VJPHiPrimitive):
            """Of the arrays of a pair, summed along the other axes of the first; the pair is a residual."""

            def __init__(self, pair):
                self.in_avals, self.out_aval, self.params = (pair,), pair.y, {}
                super().__init__()

            def expand(self, pair):
                return pair.x.sum(1) * pair.y

            def vjp_fwd(self, nzs_in, pair):
                return self(pair), pair

            def vjp_bwd_retval(self, pair, g):
                x, y = first(pair), second(pair)
                return (make(jnp.broadcast_to((g * y)[:, None], x.shape), g * x.sum(1)),)

        class Take(hijax.VJPHiPrimitive):
            def __init__(self, pair, which):
                self.in_avals, self.out_aval = (pair,), (pair.x, pair.y)[which]
                self.params = {"which": which}
                super().__init__()

            def expand(self, pair):
                return (pair.x, pair.y)[self.which]

            def vjp_fwd(self, nzs_in, pair):
                return self(pair), None

            def vjp_bwd_retval(self, res, g):
                pair = self.in_avals[0]
                aval = (pair.y, pair.x)[self.which]
                other = jnp.zeros(aval.shape)
                if aval.mat.varying:
                    other = jax.lax.pcast(other, tuple(aval.mat.varying), to="varying")
                return (make(g, other) if self.which == 0 else make(other, g),)

        def make(x, y):
            return Make(jax.typeof(x), jax.typeof(y))(x, y)

        def first(pair):
            return Take(jax.typeof(pair), 0)(pair)

        def second(pair):
            return Take(jax.typeof(pair), 1)(pair)

        def product(pair):
            return Product(jax.typeof(pair))(pair)

        self.make, self.first, self.second, self.product = make, first, second, product
        self.Pair, self.spec = Pair, PairSpec(e.P("x", None), e.P("x"))


def count(mesh, names):
    return math.prod(mesh.shape[n] for n in ((names,) if isinstance(names, str) else names or ()))


def functions(e, check_vma):
    """From arrays to pairs, from pairs to pairs, from pairs to arrays, and within one function of arrays."""
    own = Pairs(e)
    mesh = e.jax.make_mesh((8,), ("x",), axis_types=(e.AxisType.Auto,))

    def mapped(f, in_specs, out_specs):
        settings = {"mesh": mesh, "check_vma": check_vma}
        return e.jax.shard_map(f, in_specs=in_specs, out_specs=out_specs, **settings)

    def middle(pair):
        total = e.lax.psum(own.first(pair).sum(), "x")
        return own.make(own.first(pair) * 2, e.jnp.sin(own.second(pair)) + total)

    arrays = e.P("x", None), e.P("x")
    to = mapped(own.make, arrays, own.spec)
    over = mapped(middle, own.spec, own.spec)
    back = mapped(lambda pair: own.first(pair).sum(1) * own.second(pair), (own.spec,), e.P("x"))

    def one(x, y):
        pair = middle(own.make(e.jnp.sin(x), y))
        return own.first(pair).sum(1) * own.second(pair)

    return own, to, over, back, mapped(one, arrays, e.P("x"))


def operands(e):
    return e.jnp.asarray(drawn()), e.jnp.asarray(drawn()[:, 0])


def over_devices(e, check_vma):
    own, to, over, back, one = functions(e, check_vma)
    x, y = operands(e)
    out = e.jax.jit(over)(own.Pair(x, y))
    call = e.jax.jit(lambda x, y: back(over(to(x, y))))
    return out.x, out.y, call(x, y), e.jax.jit(one)(x, y)


@program
def pairs_over_devices(e):
    return over_devices(e, True)


@program
def pairs_over_devices_unchecked(e):
    return over_devices(e, False)


@program
def pairs_in_a_jaxpr(e):
    own, _, over, *_ = functions(e, False)
    text = str(e.jax.make_jaxpr(lambda x, y: over(own.make(x, y)))(*operands(e)))
    return as_bytes(text)


@program
def pairs_are_differentiated(e):
    _, to, over, back, one = functions(e, True)

    def loss(x, y):
        return (back(over(to(x, y))) ** 2).sum()

    def loss_of_one(x, y):
        return (one(x, y) ** 2).sum()

    x, y = operands(e)
    return [e.jax.jit(e.jax.grad(f, (0, 1)))(x, y) for f in (loss, loss_of_one)]


@program
def pairs_without_jit(e):
    own, to, over, back, one = functions(e, True)
    x, y = operands(e)
    pair = over(own.Pair(x, y))
    derivative = e.jax.grad(lambda pair: back(over(pair)).sum())(own.Pair(x, y))
    same = e.jax.jit(e.jax.grad(lambda x, y: back(over(to(x, y))).sum(), (0, 1)))(x, y)
    for found, expected in zip((derivative.x, derivative.y), same, strict=True):
        assert e.jnp.allclose(found, expected, rtol=1e-5)
    return pair.x, pair.y, back(pair), one(x, y)


@program
def pairs_as_residuals(e):
    own, *_ = functions(e, True)
    x, y = operands(e)
    mesh = e.jax.make_mesh((8,), ("x",), axis_types=(e.AxisType.Auto,))

    def product(x, y):
        return own.product(own.make(e.jnp.sin(x), y))

    specs = e.P("x", None), e.P("x")
    mapped = e.jax.shard_map(product, mesh=mesh, in_specs=specs, out_specs=e.P("x"))
    found, expected = (
        e.jax.jit(e.jax.grad(lambda x, y, f=f: (f(x, y) ** 2).sum(), (0, 1)))(x, y)
        for f in (mapped, product)
    )
    for a, b in zip(found, expected, strict=True):
        assert e.jnp.allclose(a, b, rtol=1e-5)
    return found
