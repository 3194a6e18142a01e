"""``monitoring`` as in JAX, the events of compilations, and ``log_compiles``."""

import logging

import jax
import jax.monitoring
import numpy as np
import pytest

import plugjax
import plugjax.monitoring
import plugjax.numpy as jnp

COMPILED = "/jax/core/compile/backend_compile_duration"


def public(module):
    return {
        name for name in dir(module) if not name.startswith("_") and callable(getattr(module, name))
    }


def test_names():
    assert public(jax.monitoring) <= public(plugjax.monitoring)


@pytest.fixture(params=[jax.monitoring, plugjax.monitoring], ids=["jax", "plugjax"])
def monitoring(request):
    """A module with listeners of its own: those that were there before come back."""
    yield request.param
    request.param.clear_event_listeners()


KINDS = [
    ("record_event", "event", "event", ()),
    ("record_event_duration_secs", "event_duration_secs", "event_duration", (0.5,)),
    ("record_event_time_span", "event_time_span", "event_time_span", (1.0, 2.5)),
    ("record_scalar", "scalar", "scalar", (7,)),
]


@pytest.mark.parametrize(("record", "register", "unregister", "values"), KINDS)
def test_listeners(monitoring, record, register, unregister, values):
    seen = []

    def first(*args, **kwargs):
        seen.append(("first", args, kwargs))

    def second(*args, **kwargs):
        seen.append(("second", args, kwargs))

    add = getattr(monitoring, f"register_{register}_listener")
    remove = getattr(monitoring, f"unregister_{unregister}_listener")
    add(first)
    add(second)
    getattr(monitoring, record)("/app/thing", *values, step=3, what="x")
    told = ("/app/thing", *values)
    assert seen == [(name, told, {"step": 3, "what": "x"}) for name in ("first", "second")]
    remove(first)
    with pytest.raises(AssertionError):
        remove(first)
    getattr(monitoring, record)("/app/thing", *values)
    assert seen[2:] == [("second", told, {})]
    if record == "record_scalar" and monitoring is jax.monitoring:
        remove(second)  # JAX's clear_event_listeners keeps listeners of scalars
    monitoring.clear_event_listeners()
    getattr(monitoring, record)("/app/thing", *values)
    assert len(seen) == 3


def test_listener_that_leaves_while_it_is_told(monitoring):
    seen = []

    def once(event, **kwargs):
        seen.append(event)
        monitoring.unregister_event_listener(once)

    monitoring.register_event_listener(once)
    monitoring.register_event_listener(lambda event, **kwargs: seen.append(event))
    monitoring.record_event("/app/thing")
    assert "/app/thing" in seen
    monitoring.record_event("/app/other")
    assert seen.count("/app/other") == 1


def test_listener_that_raises(monitoring):
    def broken(event, **kwargs):
        raise KeyError(event)

    monitoring.register_event_listener(broken)
    with pytest.raises(KeyError, match="thing"):
        monitoring.record_event("/app/thing")


def test_compilations_are_recorded(backend):
    seen = []
    plugjax.monitoring.register_event_duration_secs_listener(
        lambda event, seconds, **kwargs: seen.append((event, seconds, kwargs))
    )
    try:

        @plugjax.jit
        def weigh(x):
            return (x * 2).sum()

        assert weigh(jnp.ones(3)) == 6
        weigh(jnp.ones(3))
        weigh(jnp.ones(4))
    finally:
        plugjax.monitoring.clear_event_listeners()
    mine = [row for row in seen if row[2]["fun_name"] == "weigh"]
    assert [row[0] for row in mine] == [COMPILED] * 2
    assert all(row[1] > 0 for row in mine)
    assert {row[2]["platform"] for row in mine} == {jnp.ones(1).device.backend.name}


def test_log_compiles(backend, caplog):
    @plugjax.jit
    def weigh(x, y):
        return (x * 2).sum() + y

    x = jnp.ones((3, 2))
    with caplog.at_level(logging.WARNING, "plugjax.debug.compilations"):
        weigh(x, np.int32(1))
        assert caplog.messages == []
        plugjax.clear_caches()
        with plugjax.log_compiles():
            weigh(x, np.int32(1))
            weigh(x, np.int32(2))
    began, ended = caplog.messages
    assert (
        began
        == f"Compiling weigh with global shapes and types [float32[3,2], int32[]] for {x.device}."
    )
    assert ended.startswith(f"Finished compilation of weigh for {x.device} in ")
