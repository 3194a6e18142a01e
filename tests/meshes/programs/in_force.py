"""Which mesh is in force: statements and blocks, meshes of other axes over the same devices, and types of a program's own."""

import dataclasses
import importlib
from typing import Any

import numpy as np

from tests.meshes.programs.table import drawn, program


def explicit(e, shape=(4, 2), names=("x", "y")):
    return e.jax.make_mesh(shape, names, axis_types=(e.AxisType.Explicit,) * len(shape))


@program
def mesh_set_by_a_statement(e):
    mesh = explicit(e)
    before = e.jax.sharding.get_mesh()
    e.jax.set_mesh(mesh)
    try:
        x = e.jax.device_put(drawn(), e.P("x", "y"))
        kept = e.jax.sharding.get_mesh() == mesh
        return x, e.jnp.sin(x), len(e.jnp.ones(3).sharding.device_set), kept
    finally:
        e.jax.set_mesh(before)


@program
def statement_within_a_block(e):
    mesh, other = explicit(e), explicit(e, (8,), ("a",))
    with e.jax.set_mesh(mesh):
        inside = e.jax.set_mesh(other)
        first = e.jax.device_put(drawn(), e.P("a"))
        inside.__exit__(None, None, None)
        return first, e.jax.device_put(drawn(), e.P("x"))


@program
def devices_under_other_axes(e):
    other = e.jax.sharding.AbstractMesh((8,), ("a",), (e.AxisType.Explicit,))

    def there(x):
        with e.jax.sharding.use_abstract_mesh(other):
            return e.jax.reshard(x, e.P("a", None)) * 2

    def there_and_back(x):
        return e.jax.reshard(there(x), e.P(None, "y")) + 1

    with e.jax.set_mesh(explicit(e)):
        x = e.jax.device_put(drawn(), e.P("x", "y"))
        found = e.jax.jit(there)(x)
        specs = [e.jax.typeof(found).sharding.spec == e.P("a", None)]
        derivative = e.jax.grad(lambda x: (there_and_back(x) ** 2).sum())
        return found, specs, e.jax.jit(there_and_back)(x), e.jax.jit(derivative)(x)


@program
def abstract_mesh_of_the_axes_in_force(e):
    mesh = e.jax.make_mesh((4, 2), ("x", "y"), axis_types=(e.AxisType.Auto,) * 2)
    with e.jax.set_mesh(mesh):
        rows = e.jax.NamedSharding(e.jax.sharding.get_abstract_mesh(), e.P("x"))
        constrain = e.jax.lax.with_sharding_constraint
        return (
            e.jax.jit(lambda: constrain(e.jnp.arange(8.0), rows))(),
            e.jax.jit(lambda x: constrain(x * 2, rows))(drawn()),
            e.jax.jit(e.jnp.cos, out_shardings=rows)(drawn()),
            constrain(e.jnp.arange(8.0), rows),
        )


def halves(e):
    """A type of values that are two arrays, whose cuts stand in it."""
    hijax = importlib.import_module(f"{e.jax.__name__}.experimental.hijax")

    @dataclasses.dataclass(frozen=True)
    class Halves:
        whole: Any
        rest: Any

    @dataclasses.dataclass(frozen=True)
    class HalvesTy(hijax.HiType):
        shape: tuple[int, ...]
        sharding: Any

        def lo_ty(self):
            return [
                hijax.ShapedArray(self.shape, np.dtype(kind), sharding=self.sharding)
                for kind in ("int32", "float32")
            ]

        def lower_val(self, x):
            return [x.whole, x.rest]

        def raise_val(self, whole, rest):
            return Halves(whole, rest)

        def to_tangent_aval(self):
            return hijax.ShapedArray(self.shape, np.dtype("float32"), sharding=self.sharding)

        def str_short(self, short_dtypes=False, mesh_axis_types=False):
            return f"halves{list(self.shape)}"

    hijax.register_hitype(Halves, lambda x: HalvesTy(x.whole.shape, e.jax.typeof(x.whole).sharding))

    class Split(hijax.VJPHiPrimitive):
        def __init__(self, x):
            self.in_avals, self.out_aval, self.params = (x,), HalvesTy(x.shape, x.sharding), {}
            super().__init__()

        def expand(self, x):
            whole = e.jnp.floor(x)
            return Halves(whole.astype("int32"), x - whole)

        def vjp_fwd(self, nzs_in, x):
            return self(x), None

        def vjp_bwd_retval(self, res, g):
            return (g,)

    class Join(hijax.VJPHiPrimitive):
        def __init__(self, x):
            out = hijax.ShapedArray(x.shape, np.dtype("float32"), sharding=x.sharding)
            self.in_avals, self.out_aval, self.params = (x,), out, {}
            super().__init__()

        def expand(self, x):
            return x.whole + x.rest

        def vjp_fwd(self, nzs_in, x):
            return self(x), None

        def vjp_bwd_retval(self, res, g):
            return (g,)

    typeof = e.jax.typeof
    return (lambda x: Split(typeof(x))(x)), (lambda x: Join(typeof(x))(x))


@program
def values_of_own_types_are_cut(e):
    split, join = halves(e)
    with e.jax.set_mesh(explicit(e)):
        x = e.jax.device_put(drawn() / 4, e.P("x", "y"))
        made = e.jax.jit(split)(x)
        derivative = e.jax.grad(lambda x: (join(split(x)) ** 2).sum())
        return (
            made.whole,
            made.rest,
            join(made),
            e.jax.jit(join)(made),
            e.jax.jit(lambda h: join(h) + 1)(split(x)),
            derivative(x),
            e.jax.jit(derivative)(x),
        )
