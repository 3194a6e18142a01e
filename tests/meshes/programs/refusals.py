"""What is refused, with which type of error."""

import numpy as np

from tests.meshes.programs.table import PROGRAMS, drawn, mapped


def _fails(name, function):
    PROGRAMS[f"error_{name}"] = function


_fails("unknown axis", lambda e: e.named("z"))
_fails("axis twice", lambda e: e.named("x", "x"))
_fails("spec longer than the rank", lambda e: e.jax.device_put(np.ones(8), e.named("x", "y")))
_fails("uneven", lambda e: e.jax.device_put(np.ones(6), e.named("x")))
_fails("uneven in jit", lambda e: e.jax.jit(lambda x: x, in_shardings=e.named("x"))(np.ones(6)))
_fails("uneven result", lambda e: e.jax.jit(lambda x: x, out_shardings=e.named("x"))(np.ones(6)))
_fails("too many devices", lambda e: e.jax.make_mesh((3, 3), ("a", "b")))
_fails("shape of the mesh", lambda e: e.jax.sharding.Mesh(e.devices, ("a", "b")))
_fails(
    "types of axes", lambda e: e.jax.make_mesh((4, 2), ("a", "b"), axis_types=(e.AxisType.Auto,))
)
_fails("spec without a mesh", lambda e: e.jax.device_put(np.ones(8), e.P("x")))
_fails(
    "spec without a mesh in jit",
    lambda e: e.jax.jit(lambda x: x, out_shardings=e.P("x"))(np.ones(8)),
)
_fails(
    "constraint without a mesh", lambda e: e.lax.with_sharding_constraint(e.jnp.ones(8), e.P("x"))
)
_fails("other devices", lambda e: e.jax.device_put(np.ones(8), e.named("x")) + e.jax.device_put(np.ones(8), e.jax.NamedSharding(e.jax.sharding.Mesh(e.devices[:4], ("i",)), e.P("i"))))  # fmt: skip
_fails("one device beside a mesh", lambda e: e.jax.device_put(np.ones(8), e.named("x")) + e.jax.device_put(np.ones(8), e.devices[1]))  # fmt: skip
_fails("another sharding than jit wants", lambda e: e.jax.jit(lambda x: x, in_shardings=e.named("y"))(e.jax.device_put(np.ones(8), e.named("x"))))  # fmt: skip
_fails("in_shardings of another tree", lambda e: e.jax.jit(lambda x, y: x, in_shardings=(e.named("x"),))(np.ones(8), np.ones(8)))  # fmt: skip
_fails(
    "out_shardings of another tree",
    lambda e: e.jax.jit(lambda x: (x, x), out_shardings=(e.named("x"),))(np.ones(8)),
)
_fails(
    "keywords with in_shardings",
    lambda e: e.jax.jit(lambda x: x, in_shardings=e.named("x"))(x=np.ones(8)),
)
_fails("no sharding in jit", lambda e: e.jax.jit(lambda x: x, in_shardings=3)(np.ones(8)))
_fails(
    "map without a mesh",
    lambda e: e.jax.shard_map(lambda x: x, in_specs=e.P("x"), out_specs=e.P("x"))(drawn()),
)
_fails("map unknown axis", lambda e: mapped(e, lambda x: x, drawn(), i=e.P("z"), o=e.P()))
_fails(
    "map unknown axis of result", lambda e: mapped(e, lambda x: x, drawn(), i=e.P("x"), o=e.P("z"))
)
_fails("map varying result", lambda e: mapped(e, lambda x: x, drawn(), i=e.P("x"), o=e.P()))
_fails(
    "map tree of arguments",
    lambda e: mapped(e, lambda x: x, drawn(), i=(e.P("x"), e.P()), o=e.P("x")),
)
_fails(
    "map tree of results",
    lambda e: mapped(e, lambda x: x, drawn(), i=e.P("x"), o=(e.P("x"), e.P())),
)
_fails("map uneven", lambda e: mapped(e, lambda x: x, drawn((6,)), i=e.P("x"), o=e.P("x")))
_fails(
    "map rank of argument", lambda e: mapped(e, lambda x: x, np.float32(1), i=e.P("x"), o=e.P("x"))
)
_fails(
    "map rank of result", lambda e: mapped(e, lambda x: x.sum(), drawn(), i=e.P("x"), o=e.P("x"))
)
_fails(
    "map psum over an unknown axis",
    lambda e: mapped(e, lambda x: e.lax.psum(x, "z"), drawn(), i=e.P("x"), o=e.P("x")),
)
_fails(
    "map psum over axes in two states",
    lambda e: mapped(e, lambda x: e.lax.psum(x, ("x", "y")), drawn(), i=e.P("x"), o=e.P()),
)
_fails("map specs that are none", lambda e: mapped(e, lambda x: x, drawn(), i="x", o=e.P("x")))
_fails(
    "map no specs", lambda e: e.jax.shard_map(lambda x: x, mesh=e.mesh, out_specs=e.P("x"))(drawn())
)
_fails(
    "map names beside the mesh",
    lambda e: mapped(e, lambda x: x, drawn(), i=e.P("x"), o=e.P("x"), axis_names={"q"}),
)
_fails("map carry that varies", lambda e: mapped(e, lambda x: e.lax.scan(lambda c, r: (c + r.sum(), r), 0.0, x)[1], drawn(), i=e.P("x"), o=e.P("x")))  # fmt: skip
_fails("psum outside", lambda e: e.lax.psum(e.jnp.ones(3), "x"))
_fails("pmap sizes", lambda e: e.jax.pmap(lambda x, y: x)(np.ones((8, 2)), np.ones((4, 2))))
_fails("pmap too many", lambda e: e.jax.pmap(lambda x: x)(np.ones((9, 2))))
_fails(
    "callback of another shape",
    lambda e: e.jax.make_array_from_callback((8,), e.named("x"), lambda i: np.ones(3)),
)
_fails(
    "too few arrays",
    lambda e: e.jax.make_array_from_single_device_arrays((8,), e.named("x"), [e.jnp.ones(2)]),
)
_fails("mesh in a trace", lambda e: e.jax.jit(lambda x: (e.jax.set_mesh(e.mesh), x)[1])(1.0))
_fails("two meshes", lambda e: e.jax.jit(lambda x: e.lax.with_sharding_constraint(x, e.jax.NamedSharding(e.jax.sharding.Mesh(e.devices[:4], ("i",)), e.P("i"))))(e.jax.device_put(np.ones(8), e.named("x"))))  # fmt: skip
