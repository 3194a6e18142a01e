"""Kinds of memory, which on a processor are all the host's."""

import importlib

import numpy as np

from tests.meshes.programs.table import drawn, program

KINDS = ("device", "pinned_host", "unpinned_host")


def kinds(*arrays):
    return np.array([KINDS.index(a.sharding.memory_kind) for a in arrays])


@program
def arrays_in_kinds_of_memory(e):
    found = []
    for kind in KINDS:
        x = e.jax.device_put(drawn(), e.named("x").with_memory_kind(kind))
        y = e.jax.device_put(
            drawn(), e.jax.sharding.SingleDeviceSharding(e.devices[1], memory_kind=kind)
        )
        found += [
            x,
            y,
            kinds(x, y, x.addressable_shards[1].data),
            np.array([x.committed, y.committed]),
        ]
        back = e.jax.device_put(x, e.named("x"))
        found += [back, kinds(back)]
    return found  # fmt: skip


@program
def shardings_of_kinds_of_memory(e):
    s = e.named("x")
    host = s.with_memory_kind("pinned_host")
    single = e.jax.sharding.SingleDeviceSharding(e.devices[0])
    other = single.with_memory_kind("pinned_host")
    return np.array([
        s == s.with_memory_kind("device"), hash(s) == hash(s.with_memory_kind("device")), s == host, s.is_equivalent_to(host, 2),
        host == host.with_memory_kind("pinned_host"), single == other, single == other.with_memory_kind("device"),
        single.is_equivalent_to(other, 1), len({s, host, single, other}) == 4, host.num_devices == 8,
    ])  # fmt: skip


@program
def results_are_where_the_operands_are(e):
    found = []
    for kind in KINDS:
        x = e.jax.device_put(drawn(), e.named("x").with_memory_kind(kind))
        y = e.jax.device_put(
            drawn(), e.jax.sharding.SingleDeviceSharding(e.devices[0], memory_kind=kind)
        )
        double = e.jax.jit(lambda x: (x * 2, e.jnp.sin(x).sum()))
        found.append(kinds(*double(x), *double(y), x + x, y * 2))
    return found


@program
def results_are_where_the_shardings_say(e):
    s = e.named("x")
    x = e.jax.device_put(drawn(), s)
    found = []
    for kind in KINDS:
        y = e.jax.jit(lambda x: x * 2, out_shardings=s.with_memory_kind(kind))(x)
        one = e.jax.sharding.SingleDeviceSharding(e.devices[0], memory_kind=kind)
        z = e.jax.jit(lambda x: x * 2, out_shardings=one)(drawn())
        found += [y, z, kinds(y, z)]
    return found


@program
def spaces(e):
    space = e.jax.memory.Space
    x = e.jax.device_put(drawn(), e.named("x"))
    one = e.jnp.ones(3)
    host = e.jax.device_put((x, one, np.ones(2)), space.Host)
    back = e.jax.device_put(host, space.Device)
    inside = e.jax.jit(lambda x: (e.jax.device_put(x, space.Host), x + 1))
    return (
        kinds(*host, *back, *inside(x), *inside(one)),
        np.array([a.committed for a in (*host, *back)]), host[0], back[0],
    )  # fmt: skip


@program
def weights_come_from_the_host(e):
    space = e.jax.memory.Space
    w = e.jax.device_put(drawn((4, 4)), e.named("y").with_memory_kind("pinned_host"))
    x = e.jax.device_put(drawn(), e.named("x"))

    def loss(w, x):
        return ((x @ e.jax.device_put(w, space.Device)) ** 2).sum()

    def step(w, x):
        g = e.jax.grad(loss)(w, x)
        return e.jax.device_put(w, space.Device) - e.jax.device_put(g, space.Device)

    moved = e.jax.jit(step, out_shardings=e.named("y").with_memory_kind("pinned_host"))(w, x)
    return moved, kinds(moved)


@program
def residuals_on_the_host(e):
    policy = e.jax.checkpoint_policies.save_and_offload_only_these_names(
        names_which_can_be_saved=["a"],
        names_which_can_be_offloaded=["b"],
        offload_src="device",
        offload_dst="pinned_host",
    )
    named = importlib.import_module(f"{e.jax.__name__}.ad_checkpoint").checkpoint_name

    def f(x):
        a = named(e.jnp.sin(x), "a")
        return e.jnp.sum(e.jnp.tanh(named(e.jnp.cos(a), "b")) * a)

    g = e.jax.jit(e.jax.grad(e.jax.checkpoint(f, policy=policy)))
    x = e.jax.device_put(drawn(), e.named("x"))
    return e.np(g(x)), kinds(g(x))


@program
def error_memory_that_there_is_not(e):
    return e.named("x").with_memory_kind("gpu")


@program
def error_single_memory_that_there_is_not(e):
    return e.jax.sharding.SingleDeviceSharding(e.devices[0], memory_kind="disk")


@program
def error_operands_in_two_memories(e):
    x = e.jax.device_put(drawn(), e.named("x").with_memory_kind("pinned_host"))
    return e.jax.jit(lambda x, y: x + y)(x, e.jax.device_put(drawn(), e.named("x")))


@program
def error_eager_operands_in_two_memories(e):
    x = e.jax.device_put(np.ones(3, "f4"), e.jax.memory.Space.Host)
    return x + e.jnp.ones(3)


@program
def error_memory_of_in_shardings(e):
    f = e.jax.jit(lambda x: x * 2, in_shardings=e.named("x").with_memory_kind("pinned_host"))
    return f(e.jax.device_put(drawn(), e.named("x")))
