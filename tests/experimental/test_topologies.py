"""Programs compiled for devices that are not there: single ones, and meshes over a topology."""

import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp
from plugjax.experimental import topologies
from plugjax.experimental.serialize_executable import deserialize_and_load, serialize
from plugjax.sharding import NamedSharding, PartitionSpec as P
from plugjax_xla.cuda_plugin import find_cuda_plugin
from plugjax_xla.gpu_targets import target_config
from plugjax_xla.tpu_plugin import tpu_library

X = plugjax.ShapeDtypeStruct((8, 16), jnp.float32)
TABLE = np.arange(16, dtype=np.float32)
LARGE = np.ones((16, 16), np.float32)

XLA = [
    pytest.param(
        "tpu", "v5e:2x2",
        marks=pytest.mark.skipif(tpu_library() is None, reason="libtpu is not installed"),
    ),
    pytest.param(
        "cuda", "a100:1x1x4",
        marks=pytest.mark.skipif(find_cuda_plugin() is None, reason="XLA's plugin for CUDA is not installed"),
    ),
]  # fmt: skip
ALL = [("iree:cuda", "sm_80"), ("vulkan", ""), ("rocm", "gfx942"), *XLA]


def program(x):
    return jnp.sum(jnp.sin(x @ LARGE) + TABLE, axis=0)


def compiled_on(device):
    return plugjax.jit(program, device=device).lower(X).compile()


@pytest.mark.parametrize(("platform", "name"), ALL)
def test_a_program_of_one_device(platform, name):
    device, *_ = topologies.get_topology_desc(name, platform).devices
    assert device.hardware == platform.removeprefix("iree:")
    compiled = compiled_on(device)
    costs, sizes = compiled.cost_analysis(), compiled.memory_analysis()
    assert costs["flops"] >= 2 * 8 * 16 * 16
    # The constants are in the executable, and no arguments of it.
    assert sizes.argument_size_in_bytes >= 8 * 16 * 4
    assert sizes.output_size_in_bytes >= 16 * 4
    assert len(compiled.runtime_executable().code) > 1000
    assert compiled.runtime_executable().serialize().endswith(compiled.runtime_executable().code)
    assert compiled.out_info.sharding.device == device
    text = plugjax.jit(program, device=device).lower(X).as_text()
    assert "stablehlo.dot_general" in text


@pytest.mark.parametrize(("platform", "name"), XLA)
def test_large_constants_are_no_arguments(platform, name):
    device, *_ = topologies.get_topology_desc(name, platform).devices
    parameters = compiled_on(device).as_text().partition("ENTRY")[2].count(" parameter(")
    assert parameters == 1


@pytest.mark.parametrize(("platform", "name"), ALL)
def test_nothing_runs_there(platform, name):
    device, *_ = topologies.get_topology_desc(name, platform).devices
    with pytest.raises(RuntimeError, match="not on this machine"):
        compiled_on(device)(np.ones((8, 16), np.float32))
    with pytest.raises(RuntimeError, match="not on this machine"):
        plugjax.device_put(TABLE, device) + 1
    with plugjax.config.override("tiered", "on"), pytest.raises(RuntimeError, match="not on this"):
        plugjax.jit(program, device=device)(np.ones((8, 16), np.float32))


@pytest.mark.parametrize(("platform", "name"), ALL)
def test_what_calls_python_is_refused_by_name(platform, name):
    device, *_ = topologies.get_topology_desc(name, platform).devices
    lowered = plugjax.jit(
        lambda x: plugjax.pure_callback(np.sin, plugjax.ShapeDtypeStruct(x.shape, x.dtype), x),
        device=device,
    ).lower(X)
    with pytest.raises(plugjax.extend.errors.LoweringError, match="'pure_callback' calls"):
        lowered.compile()


def test_a_program_that_is_refused_does_not_run_on_the_host():
    (device,) = topologies.get_topology_desc("sm_1", "iree:cuda").devices
    with pytest.raises(plugjax.errors.JaxRuntimeError, match="could not compile"):
        compiled_on(device)


@pytest.mark.parametrize(("platform", "name"), XLA)
def test_a_program_over_a_mesh_has_collectives(platform, name):
    topology = topologies.get_topology_desc(name, platform)
    mesh = topologies.make_mesh(topology, (2, 2), ("x", "y"))
    spread, whole = NamedSharding(mesh, P("x", "y")), NamedSharding(mesh, P())
    compiled = plugjax.jit(program, in_shardings=spread, out_shardings=whole).lower(X).compile()
    assert "all-reduce" in compiled.as_text()
    assert compiled.input_shardings == ((spread,), {})
    assert compiled.output_shardings == whole
    alone = compiled_on(topology.devices[0])
    assert compiled.cost_analysis()["bytes accessed"] > 0
    assert (
        compiled.memory_analysis().argument_size_in_bytes
        < alone.memory_analysis().argument_size_in_bytes
    )


@pytest.mark.parametrize(("platform", "name"), XLA)
def test_the_compiler_chooses_a_spread(platform, name):
    topology = topologies.get_topology_desc(name, platform)
    mesh = topologies.make_mesh(topology, (4,), ("x",))
    spread = NamedSharding(mesh, P("x"))
    compiled = plugjax.jit(jnp.sin, in_shardings=spread).lower(X).compile()
    assert compiled.output_shardings.is_equivalent_to(spread, 2)


@pytest.mark.parametrize(("platform", "name"), XLA)
def test_bytes_are_for_where_the_devices_are(platform, name):
    device, *_ = topologies.get_topology_desc(name, platform).devices
    written = serialize(compiled_on(device))
    if not any(d.hardware == platform for d in plugjax.devices("xla")):
        with pytest.raises(ValueError, match=f"device 'xla:{platform}:0' does not exist"):
            deserialize_and_load(*written)


@pytest.mark.skipif(find_cuda_plugin() is None, reason="XLA's plugin for CUDA is not installed")
def test_a_gpu_by_its_description():
    named = {"target_config": target_config("h100"), "topology": "1x1x2"}
    found = topologies.get_topology_desc("", "cuda", **named).devices
    assert [d.device_kind for d in found] == ["NVIDIA H100 80GB HBM3"] * 2
    with pytest.raises(RuntimeError, match="cuda: no topology"):
        topologies.get_topology_desc("", "cuda", target_config="no such field: 1")


@pytest.mark.skipif(tpu_library() is None, reason="libtpu is not installed")
@pytest.mark.parametrize("name", ["nonsense", "v9:2x2", "v5e:3x7"])
def test_topologies_that_there_are_not(name):
    with pytest.raises(RuntimeError, match=f"tpu: no topology '{name}'"):
        topologies.get_topology_desc(name)


def test_without_libtpu_the_error_says_what_to_install(monkeypatch):
    from plugjax_xla import tpu_plugin
    from plugjax_xla.jaxlib_shim import jaxlib

    monkeypatch.setattr(tpu_plugin, "tpu_library", lambda: None)
    monkeypatch.setattr(jaxlib().xla_client, "pjrt_plugin_loaded", lambda name: False)
    with pytest.raises(RuntimeError, match="pip install libtpu"):
        topologies.get_topology_desc("v5e:2x2")


def test_settings_that_iree_has_not():
    with pytest.raises(TypeError, match=r"no settings, got \['cores'\]"):
        topologies.get_topology_desc("sm_80", "iree:cuda", cores=3)
