"""Arrays over a mesh: how they are made, read and described."""

import importlib

import numpy as np
from jaxlib.xla_client import HloSharding

from tests.meshes.programs.table import drawn, program


@program
def put_and_read(e):
    x = e.jax.device_put(drawn(), e.named("x", "y"))
    return x, x.addressable_shards[3].data, x.addressable_data(5)


@program
def shards_know_where_they_are(e):
    x = e.jax.device_put(drawn(), e.named("y"))
    return [
        (
            np.array(s.replica_id),
            *(np.array([i.start or 0, -1 if i.stop is None else i.stop]) for i in s.index),
        )
        for s in x.addressable_shards
    ]


@program
def descriptions_of_shardings(e):
    s = e.named(None, ("x", "y"))
    same = e.named("x").is_equivalent_to(e.named("x", None), 2)
    other = e.named("x").is_equivalent_to(e.named("y"), 1)
    indices = list(s.devices_indices_map((2, 16)).values())
    return (
        np.array(s.shard_shape((2, 16))), np.array([same, other, s.is_fully_replicated, s.is_fully_addressable]),
        np.array([i[1].start for i in indices]), np.array([s.num_devices, len(s.device_set)]),
    )  # fmt: skip


@program
def trees_and_prefixes(e):
    tree = {"a": drawn(), "b": (drawn((8,)), drawn((2, 8)))}
    placed = e.jax.device_put(tree, {"a": e.named("x"), "b": (e.named("x"), e.named(None, "y"))})
    return placed, e.jax.device_put(tree["b"], e.named())


@program
def moving_between_shardings(e):
    x = e.jax.device_put(drawn(), e.named("x"))
    y = e.jax.device_put(x, e.named(None, "x"))
    return x, y, e.jax.device_put(y, e.named())


@program
def arrays_from_callbacks(e):
    whole = drawn()
    x = e.jax.make_array_from_callback((8, 4), e.named("x", "y"), lambda index: whole[index])
    parts = [s.data for s in x.addressable_shards]
    return x, e.jax.make_array_from_single_device_arrays((8, 4), e.named("x", "y"), parts)


@program
def arrays_from_local_data(e):
    return e.jax.make_array_from_process_local_data(e.named("x"), drawn())


@program
def small_dtypes_and_scalars(e):
    put = lambda x, *spec: e.jax.device_put(x, e.named(*spec))
    return (
        put(np.array(3, "int8")), put(drawn((8,), "bool"), "x"), put(drawn((8, 2), "uint8"), "x"),
        put(drawn((8, 2), "complex64"), "x", "y"), put(e.jnp.arange(8, dtype="bfloat16"), "x"),
    )  # fmt: skip


@program
def keys_are_spread(e):
    keys = e.jax.random.split(e.jax.random.key(3), 8)
    spread = e.jax.device_put(keys, e.named("x"))
    return e.np(
        (e.jax.vmap(lambda k: e.jax.random.normal(k, (2,)))(spread), e.jax.random.key_data(spread))
    )


@program
def shardings_as_xla_describes_them(e):
    kind = importlib.import_module(f"{e.jax.__name__}.extend.sharding").GSPMDSharding
    devices, x, found = list(e.mesh.devices.flat), drawn((8, 8)), []
    for dims in ((4, 2), (8, 1), (2, 4)):
        spread = kind(devices, HloSharding.iota_tile(dims))
        assert spread == kind(devices, HloSharding.iota_tile(dims).to_proto())
        assert spread != kind.get_replicated(devices)
        assert (spread.num_devices, spread.is_fully_replicated) == (8, False)
        y = e.jax.device_put(x, spread)
        found += [e.np(y.addressable_shards[3].data), e.np(y.addressable_data(6)), e.np(y + 1)]
        found.append(e.np(e.jax.jit(e.jnp.sin, in_shardings=spread, out_shardings=spread)(x)))
    whole = kind.get_replicated(devices)
    assert whole.is_fully_replicated
    return [*found, e.np(e.jax.device_put(x, whole).addressable_shards[7].data)]


@program
def error_rank_of_a_sharding_as_xla_describes_it(e):
    kind = importlib.import_module(f"{e.jax.__name__}.extend.sharding").GSPMDSharding
    spread = kind(list(e.mesh.devices.flat), HloSharding.iota_tile((4, 2)))
    return e.jax.device_put(drawn((8,)), spread)
