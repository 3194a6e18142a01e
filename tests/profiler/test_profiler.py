"""Traces of what a program does, in files that TensorBoard and Perfetto open."""

import gzip
import json
import socket
import subprocess
import sys

import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp
from plugjax import profiler
from plugjax.extend.core import config


def events_of(folder, name="*.trace.json.gz"):
    (file,) = folder.glob(f"plugins/profile/*/{name}")
    with gzip.open(file, "rt") as stream:
        return json.load(stream)["traceEvents"]


def named(events, kind):
    return [e for e in events if e.get("cat") == kind]


def test_a_trace_has_each_kind_of_event(on_backend, tmp_path):
    def doubled(x):
        return jnp.sin(x) * 2

    f, x = plugjax.jit(doubled), jnp.arange(3.0)
    expected = f(x)
    with profiler.trace(tmp_path, create_perfetto_trace=True):
        with profiler.TraceAnnotation("load", file=3):
            x = x + 0
        for i in range(2):
            with profiler.StepTraceAnnotation("train", step_num=i):
                found = f(x)
        profiler.annotate_function(lambda: None, name="empty")()
    np.testing.assert_array_equal(found, expected)
    events = events_of(tmp_path)
    assert [e["name"] for e in named(events, "tracing")] == ["trace doubled"]
    (compiled,) = [e for e in named(events, "compiling") if e["name"] == "compile doubled"]
    assert compiled["args"]["device"].startswith(on_backend)
    runs = [e for e in named(events, "execution") if e["name"] == "doubled"]
    assert len(runs) == 2
    assert {e["args"]["backend"] for e in runs} == {on_backend}
    assert any(e["name"] == "add" for e in named(events, "execution"))
    own = named(events, "annotation")
    assert [e["name"] for e in own] == ["load", "train", "train", "empty"]
    assert [e["args"].get("step_num") for e in own] == [None, 0, 1, None]
    # A run lies within its step.
    for run, step in zip(runs, own[1:3], strict=True):
        assert step["ts"] <= run["ts"]
        assert run["ts"] + run["dur"] <= step["ts"] + step["dur"]
    for event in events:
        assert event["ph"] in "XMi"
        assert event["ph"] != "X" or event["dur"] >= 0
    assert events_of(tmp_path, "perfetto_trace.json.gz") == events


def test_lowering_is_a_part_of_compiling(on_backend, tmp_path):
    if on_backend == "numpy":
        pytest.skip("programs for NumPy are written in Python, which is their compilation")
    f = plugjax.jit(jnp.sin)
    with profiler.trace(tmp_path):
        plugjax.monitoring.clear_event_listeners()
    with profiler.trace(tmp_path / "again"):
        f(1.0)
    events = events_of(tmp_path / "again")
    (lowering,) = [e for e in named(events, "lowering") if e["name"] == "lower sin"]
    (compiling,) = [e for e in named(events, "compiling") if e["name"] == "compile sin"]
    assert lowering["args"] == {"function": "sin", "backend": on_backend}
    assert compiling["ts"] <= lowering["ts"]
    assert lowering["ts"] + lowering["dur"] <= compiling["ts"] + compiling["dur"]


def test_transfers_are_in_a_trace(tmp_path):
    x = np.ones((2, 3), np.float32)
    with profiler.trace(tmp_path):
        y = plugjax.device_put(x, "numpy")
        plugjax.jit(lambda y: y + 1)(x)
        plugjax.device_put(y, plugjax.devices("xla")[0])
    (put, operand, moved) = named(events_of(tmp_path), "transfer")
    assert put["name"] == operand["name"] == "host-to-device"
    assert (put["args"]["explicit"], operand["args"]["explicit"]) == (True, False)
    assert put["args"]["bytes"] == operand["args"]["bytes"] == 24
    assert moved["name"] == "device-to-device"
    assert moved["args"] == {
        "explicit": True, "aval": "float32[2,3]", "bytes": 24, "device": str(plugjax.devices("xla")[0])
    }  # fmt: skip


def test_events_of_xla_are_there(tmp_path):
    f = plugjax.jit(lambda x: x @ x, device="xla")
    x = plugjax.device_put(jnp.ones((32, 32)), "xla")
    f(x)
    with profiler.trace(tmp_path):
        f(x).block_until_ready()
    assert list(tmp_path.glob("plugins/profile/*/*.xplane.pb"))
    names = {e.get("name", "") for e in events_of(tmp_path)}
    assert any("dot" in name or "Execute" in name for name in names - {"dot_general"})


def test_nothing_is_recorded_without_a_trace(tmp_path):
    f = plugjax.jit(lambda x: x + 1)
    f(1)
    with profiler.trace(tmp_path):
        pass
    assert config.read("profiling") is False
    assert named(events_of(tmp_path), "execution") == []
    seen = []
    g = plugjax.jit(lambda x: (seen.append(1), x)[1])
    g(1)
    with profiler.trace(tmp_path / "again"):
        g(1)
    g(1)
    # Made ready for the trace once more, and found again after it.
    assert len(seen) == 2


def test_one_trace_at_a_time(tmp_path):
    with profiler.trace(tmp_path), pytest.raises(RuntimeError, match="Only one profile may be run"):
        profiler.start_trace(tmp_path)
    with pytest.raises(RuntimeError, match="No profile started"):
        profiler.stop_trace()


def test_programs_without_jaxlib_are_traced(tmp_path):
    script = (
        "import sys, plugjax\n"
        f"with plugjax.profiler.trace({str(tmp_path)!r}):\n"
        "    plugjax.jit(lambda x: x * 2)(3)\n"
        "print('jaxlib' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script.replace("import sys, plugjax\n", "import sys, os\nos.environ['PLUGJAX_BACKEND'] = 'numpy'\nimport plugjax\n")],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.strip() == "False"
    assert len(named(events_of(tmp_path), "execution")) == 1


def test_memory(tmp_path):
    x = jnp.ones((7, 11))
    file = tmp_path / "memory.prof"
    profiler.save_device_memory_profile(file, x.device.backend.name)
    text = gzip.decompress(file.read_bytes())
    assert b"float32[7,11]" in text
    assert b"allocations" in text
    assert str(x.device).encode() in text


def test_xla_reads_what_it_wrote(tmp_path):
    def doubled(x):
        return jnp.sin(x) * 2

    f = plugjax.jit(doubled, device="xla")
    with profiler.trace(tmp_path):
        f(jnp.ones(3)).block_until_ready()
    (file,) = tmp_path.rglob("*.xplane.pb")
    data = profiler.ProfileData.from_file(str(file))
    planes = list(data.planes)
    assert all(isinstance(plane, profiler.ProfilePlane) for plane in planes)
    events = [event for plane in planes for line in plane.lines for event in line.events]
    assert all(isinstance(event, profiler.ProfileEvent) for event in events)
    assert all(event.end_ns >= event.start_ns for event in events)
    again = profiler.ProfileData.from_serialized_xspace(file.read_bytes())
    assert [plane.name for plane in again.planes] == [plane.name for plane in planes]


def test_a_server_takes_requests_from_other_processes():
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    profiler.start_server(port)
    try:
        with pytest.raises(ValueError, match="Only one profiler server"):
            profiler.start_server(port)
        with socket.create_connection(("localhost", port), timeout=10):
            pass
    finally:
        profiler.stop_server()
    with pytest.raises(ValueError, match="No active profiler server"):
        profiler.stop_server()


def test_profiles_without_xla(monkeypatch):
    monkeypatch.setattr("plugjax.extend.extensions._found", lambda *_: None)
    with pytest.raises(RuntimeError, match="no plugin in force brings XLA"):
        profiler.start_server(1)
    with pytest.raises(RuntimeError, match="no plugin in force brings XLA"):
        _ = profiler.ProfileData
